"""A summary as people read it: one line a method, mean ± half of the interval's width."""

import math
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from ffml.studies.compare._tradeoff import FAIRER, LESS_FAIR
from ffml.studies.text_tables import TextTable, as_markdown

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


def data_tables(
    summary: pd.DataFrame, columns: Mapping[str, str] = COLUMNS, signed: bool = False
) -> Iterator[TextTable]:
    """Write the results of each data set.

    Args:
        summary: of `summarise_results`, or of `paired_differences`.
        columns: heading -> metric.
        signed: whether numbers have a sign, as differences do.
    """
    for title, rows in _by_data(summary):
        group_of = dict(zip(rows["label"], rows.get("comparison", ()), strict=False))
        of_all = group_of.popitem()[1] if len(set(group_of.values())) == 1 else ""
        lines = [
            [_with_group(str(label), "" if of_all else group_of.get(str(label), ""))]
            + [_cell(numbers.set_index("metric"), metric, signed) for metric in columns.values()]
            for label, numbers in rows.groupby("label", sort=False)
        ]
        yield TextTable(_with_group(title, of_all), ["method", *columns], lines)


def markdown_tables(
    summary: pd.DataFrame, columns: Mapping[str, str] = COLUMNS, signed: bool = False
) -> str:
    """Return the same tables as Markdown."""
    return as_markdown(data_tables(summary, columns, signed)) + "\n"


def equal_fairness_tables(equal: pd.DataFrame) -> str:
    """Return what `at_equal_fairness` computed as Markdown.

    ``<`` marks a curve that is less fair than the variant everywhere, ``>`` one that is fairer.
    """
    return as_markdown(
        TextTable(
            title,
            ["variant", "typical gap", "balanced accuracy", str(other), "difference"],
            [_equal_line(row) for row in lines.itertuples()],
        )
        for title, rows in _by_data(equal)
        for other, lines in rows.groupby("other", sort=False)
    )


def task_tables(tasks: pd.DataFrame) -> str:
    """Return what `summarise_tasks` computed as Markdown."""
    columns: dict[str, Callable[[Any], str]] = {
        "method": lambda row: row.label,
        "tasks": lambda row: str(row.tasks),
        "typical gap": lambda row: _gap(row.typical_gap, row.low, row.high),
        "least even task": lambda row: str(row.least_even),
        "its typical gap": lambda row: f"{100 * row.largest:.1f}",
        "its long-run gap": lambda row: f"{100 * row.long_run_gap:+.1f}",
        "rounds": lambda row: str(row.rounds),
    }
    return as_markdown(
        TextTable(
            title, list(columns), [[c(row) for c in columns.values()] for row in rows.itertuples()]
        )
        for title, rows in _by_data(tasks)
    )


def _by_data(frame: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """Take a table apart; the share that judges is in the title where there are several."""
    several = frame["validation"].nunique() > 1
    groups: Any = frame.groupby(["data", "validation"], sort=False)
    for (data, share), rows in groups:
        judged = f", {100 * share:g} % of a task's rows judge" if several else ""
        yield f"{Path(str(data)).stem}{judged}", rows


def _equal_line(row: Any) -> list[str]:
    numbers = [row.fairness, row.accuracy, row.other_accuracy, row.difference]
    if not all(map(math.isfinite, numbers)):
        return [row.label, *[UNDEFINED] * len(numbers)]
    interval = "" if math.isnan(row.low) else f" ({row.low:+.3f} to {row.high:+.3f})"
    return [
        row.label,
        f"{100 * row.fairness:.1f}",
        f"{row.accuracy:.3f}",
        f"{row.other_accuracy:.3f}{_MARKS.get(row.curve, '')}",
        f"{row.difference:+.3f}{interval}",
    ]


def _with_group(text: str, group: str) -> str:
    return f"{text} (gaps: {group})" if group else text


def _cell(numbers: pd.DataFrame, metric: str, signed: bool) -> str:
    if metric == "defined":
        dp, eo = numbers.loc[["dp_of_ceiling", "eo_of_ceiling"], "rounds"]
        return f"{dp}, {eo} of {numbers['judged'].iloc[0]}"
    mean, low, high = (float(numbers[end][metric]) for end in ("mean", "low", "high"))
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
