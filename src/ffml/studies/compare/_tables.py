"""A summary as people read it: one line a method, mean ± half of the interval's width."""

import math
from collections.abc import Hashable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from ffml.report import markdown
from ffml.report.markdown import escape
from ffml.studies.compare._summary import GROUP
from ffml.studies.compare._tradeoff import FAIRER, LESS_FAIR

COLUMNS = {
    "typical gap": "typical_gap",
    "long-run gap": "long_run_gap",
    "DP / ceiling": "dp_of_ceiling",
    "EO / ceiling": "eo_of_ceiling",
    "DP, EO defined": "defined",
    "balanced accuracy": "balanced_accuracy",
    "accuracy": "accuracy",
    "collapsed rounds": "collapsed",
    "seconds": "seconds",
}
# Signed gaps are left out: the difference of two says little.
DIFFERENCES = {
    name: COLUMNS[name]
    for name in ("typical gap", "DP / ceiling", "EO / ceiling", "balanced accuracy", "accuracy")
}
UNDEFINED = "–"
_MARKS = {LESS_FAIR: " <", FAIRER: " >"}


class DataTable(NamedTuple):
    """The lines of one data set and one share of validation rows."""

    title: str
    header: list[str]
    lines: list[list[str]]


def data_tables(
    summary: pd.DataFrame, columns: Mapping[str, str] = COLUMNS, signed: bool = False
) -> Iterator[DataTable]:
    """Write the results of each data set.

    Args:
        summary: of `summarise_results`, or of `paired_differences`.
        columns: heading -> metric.
        signed: whether numbers have a sign, as differences do.
    """
    several = summary["validation"].nunique() > 1
    groups: Any = summary.groupby(GROUP[1:], sort=False)
    for (data, validation), rows in groups:
        group_of = _compared(rows)
        of_all = group_of.popitem()[1] if len(set(group_of.values())) == 1 else ""
        lines = [
            [_with_group(str(label), "" if of_all else group_of.get(str(label), ""))]
            + [_cell(found, metric, signed) for metric in columns.values()]
            for label, found in rows.groupby("label", sort=False)
        ]
        title = _with_group(_title(data, validation, several), of_all)
        yield DataTable(title, ["method", *columns], lines)


def markdown_tables(
    summary: pd.DataFrame, columns: Mapping[str, str] = COLUMNS, signed: bool = False
) -> str:
    """Return the same tables as Markdown."""
    return _markdown(data_tables(summary, columns, signed))


def equal_fairness_tables(equal: pd.DataFrame) -> str:
    """Return what `at_equal_fairness` found as Markdown.

    ``<`` marks a curve that is less fair than the variant everywhere, ``>`` one that is fairer.
    """
    several = equal["validation"].nunique() > 1
    groups: Any = equal.groupby(["data", "validation", "other"], sort=False)
    tables = []
    for (data, validation, other), rows in groups:
        header = ["variant", "typical gap", "balanced accuracy", other, "difference"]
        lines = [_equal_line(row) for row in rows.to_dict("records")]
        tables.append(DataTable(_title(data, validation, several), header, lines))
    return _markdown(tables)


def task_tables(tasks: pd.DataFrame) -> str:
    """Return what `summarise_tasks` found as Markdown."""
    several = tasks["validation"].nunique() > 1
    groups: Any = tasks.groupby(GROUP[1:], sort=False)
    header = ["method", "tasks", "typical gap", "least even task", "its typical gap"]
    header += ["its long-run gap", "rounds"]
    tables = [
        DataTable(_title(data, share, several), header, [_task_line(r) for r in rows.itertuples()])
        for (data, share), rows in groups
    ]
    return _markdown(tables)


def _task_line(row: Any) -> list[str]:
    return [
        row.label,
        str(row.tasks),
        _gap(row.typical_gap, row.low, row.high),
        str(row.least_even),
        f"{100 * row.largest:.1f}",
        f"{100 * row.long_run_gap:+.1f}",
        str(row.rounds),
    ]


def _equal_line(row: Mapping[Hashable, Any]) -> list[str]:
    numbers = [row["fairness"], row["accuracy"], row["other_accuracy"], row["difference"]]
    if not all(map(math.isfinite, numbers)):
        return [row["label"], *[UNDEFINED] * len(numbers)]
    fairness, accuracy, theirs, difference = numbers
    interval = "" if math.isnan(row["low"]) else f" ({row['low']:+.3f} to {row['high']:+.3f})"
    return [
        row["label"],
        f"{100 * fairness:.1f}",
        f"{accuracy:.3f}",
        f"{theirs:.3f}{_MARKS.get(row['curve'], '')}",
        f"{difference:+.3f}{interval}",
    ]


def _markdown(tables: Iterable[DataTable]) -> str:
    parts = []
    for table in tables:
        header, *lines = ([*map(escape, row)] for row in (table.header, *table.lines))
        parts.append(f"**{escape(table.title)}**\n\n{markdown.table(header, lines)}")
    return "\n\n".join(parts) + "\n"


def _title(data: str, validation: float, several: bool) -> str:
    """Name a table; the share that judges is named where there are several."""
    judged = f", {100 * validation:g} % of a task's rows judge" if several else ""
    return f"{Path(str(data)).stem}{judged}"


def _compared(rows: pd.DataFrame) -> dict[str, str]:
    """Return by label which group its gaps are of; differences have none."""
    if "comparison" not in rows:
        return {}
    return dict(zip(rows["label"], rows["comparison"], strict=True))


def _with_group(text: str, group: str) -> str:
    return f"{text} (gaps: {group})" if group else text


def _cell(rows: pd.DataFrame, metric: str, signed: bool) -> str:
    found = rows.set_index("metric")
    if metric == "defined":
        dp, eo = found.loc[["dp_of_ceiling", "eo_of_ceiling"], "rounds"]
        return f"{dp}, {eo} of {found['judged'].iloc[0]}"
    mean, low, high = (float(found[end][metric]) for end in ("mean", "low", "high"))
    if not math.isfinite(mean):
        return UNDEFINED
    if metric == "collapsed":
        return f"{100 * mean:.1f} %"
    if metric == "seconds":
        return f"{mean:.1f}"
    if metric == "typical_gap":
        return _gap(mean, low, high, signed)
    scale, digits = (100, 1) if metric == "long_run_gap" else (1, 3)
    sign = "+" if signed or metric == "long_run_gap" else ""
    half = "" if math.isnan(high) else f" ± {scale * (high - mean):.{digits}f}"
    return f"{scale * mean:{sign}.{digits}f}{half}"


def _gap(mean: float, low: float, high: float, signed: bool = False) -> str:
    """Write a typical gap in points with its interval, which is not symmetric."""
    sign = "+" if signed else ""
    ends = "" if math.isnan(high) else f" ({100 * low:{sign}.1f} to {100 * high:{sign}.1f})"
    return f"{100 * mean:{sign}.1f}{ends}"
