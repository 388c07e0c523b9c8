"""The paper's tables: end-task performance, and hyper-parameters, ours beside the paper's."""

from typing import Any

import numpy as np
import pandas as pd

from ffml.recipe.config import configure_run
from ffml.research.reproduce._made import Made
from ffml.research.reproduce._paper import (
    DATA,
    LABELS,
    PUBLISHED_VALUES,
    SYMBOLS,
    TABLE_2,
    TABLE_3,
)
from ffml.research.reproduce._setting import Setting
from ffml.studies.compare import summarise_results
from ffml.studies.text_tables import Best, TextTable

# Metric -> its name, and whether more is better.
METRICS = {
    "dp": ("DP ↑", True),
    "eo": ("EO ↑", True),
    "disc": ("Disc ↓", False),
    "disc_rescaled": ("Disc ↓, rescaled", False),
    "accuracy": ("accuracy, % ↑", True),
}
UNDEFINED = "–"
# Beyond the paper's columns: what it says in its text, and what it leaves open.
_MORE = {
    "dual_lr": "step of λ",
    "optimizer": "optimizer",
    "outer": "outer level",
    "wrappers": "wrappers",
    "model": "model",
    "notions": "notion",
}


def end_task(frame: pd.DataFrame) -> pd.DataFrame:
    """Sum up the last round.

    Returns:
        One row per data set, metric and method: ``mean`` and ``std`` over the ``repeats`` in which
        it is defined, what the ``paper`` prints, how many standard deviations ours is ``above`` it,
        and whether it is the ``best`` of its line.
    """
    summary = summarise_results(frame, min_validation=0, part="last")
    summary = summary[summary["metric"].isin(METRICS)].rename(columns={"seeds": "repeats"})
    percent = summary["metric"] == "accuracy"
    summary.loc[percent, ["mean", "std"]] *= 100
    disc = summary[summary["metric"] == "disc"]
    scaled = [rescaled(lines) for _, lines in disc.groupby("data", sort=False)]
    table = pd.concat([summary, *scaled], ignore_index=True)
    places = table[["data", "metric", "label"]].itertuples(index=False)
    table["paper"] = [_printed(*place) for place in places]
    table["above"] = (table["mean"] - table["paper"]) / table["std"].where(table["std"] > 0)
    table["best"] = False
    for (_, metric), lines in table.groupby(["data", "metric"], sort=False):
        ranked = lines["mean"] if METRICS[str(metric)][1] else -lines["mean"]
        table.loc[lines.index, "best"] = ranked == ranked.max()
    columns = ["data", "metric", "label", "mean", "std", "repeats", "paper", "above"]
    return table[[*columns, "best"]]


def rescaled(lines: pd.DataFrame) -> pd.DataFrame:
    """Divide the discrimination of all methods by the largest, so that it is in [0, 1].

    The paper does not print its formula; this one leaves 0 what it is, no discrimination.
    """
    largest = lines["mean"].max()
    scale = largest if largest > 0 else 1.0
    shares = {name: lines[name] / scale for name in ("mean", "std")}
    return lines.assign(metric="disc_rescaled", **shares)


def end_task_table(setting: Setting, frame: pd.DataFrame) -> Made:
    """Write one table a data set; the best of every line is marked."""
    numbers = end_task(frame)
    tables = [
        TextTable(
            str(data).capitalize(),
            ["metric", "", *LABELS.values()],
            _lines(str(data), rows),
            names=2,
        )
        for data, rows in numbers.groupby("data", sort=False)
    ]
    caption = (
        "Decisions of the last round on the validation rows of the last task "
        f"({setting.shares[0]:.0%} of its rows): mean ± standard deviation over "
        f"{len(setting.all_seeds)} repeats. A number in brackets says in how many repeats a ratio "
        "is defined, where not in all: it is not where everyone got the same decision, or where a "
        "group (for EO, a group with one of the labels) has no rows. Disc is the gap in the rates "
        "of positive decisions; rescaled, it is divided by the largest of the methods (the paper "
        "rescales to [0, 1] without printing how). The best of every line is bold. Beside the "
        "paper's values stands by how many standard deviations over repeats ours are higher or "
        "lower; within one of them a value is reproduced. "
        f"{PUBLISHED_VALUES}"
    )
    return Made(caption, numbers, tables=tables)


def _lines(data: str, rows: pd.DataFrame) -> list[list[str]]:
    lines = []
    for metric, (name, more) in METRICS.items():
        by_label = rows[rows["metric"] == metric].set_index("label").reindex(list(LABELS.values()))
        lines.append([name, "here", *_ours(by_label, int(rows["repeats"].max()))])
        printed = [_printed(data, metric, label) for label in LABELS.values()]
        if np.isfinite(printed).all():
            best = max(printed) if more else min(printed)
            cells = [(Best if value == best else str)(f"{value:.2f}") for value in printed]
            lines.append([name, "paper", *cells])
            lines.append([name, "is", *map(_verdict, by_label["above"])])
    return lines


def _verdict(above: float) -> str:
    """Say whether a printed value is reproduced.

    >>> [_verdict(above) for above in (0.44, -3.21, float("nan"))]
    ['reproduced (+0.4 sd)', 'lower (-3.2 sd)', '–']
    """
    if not np.isfinite(above):
        return UNDEFINED
    word = "reproduced" if abs(above) <= 1 else "higher" if above > 0 else "lower"
    return f"{word} ({above:+.1f} sd)"


def _ours(by_label: pd.DataFrame, repeats: int) -> list[str]:
    digits = 1 if "accuracy" in set(by_label["metric"]) else 2
    cells: list[str] = []
    for row in by_label.to_dict("records"):
        if not np.isfinite(row["mean"]):
            cells.append(UNDEFINED)
            continue
        spread = f" ± {row['std']:.{digits}f}" if np.isfinite(row["std"]) else ""
        fewer = f" ({row['repeats']:.0f})" if row["repeats"] < repeats else ""
        text = f"{row['mean']:.{digits}f}{spread}{fewer}"
        cells.append(Best(text) if row["best"] else text)
    return cells


def _printed(data: str, metric: str, label: str) -> float:
    """Return the paper's value; its Disc is rescaled, so it stands beside ours that is."""
    name = {"disc_rescaled": "disc", "disc": ""}.get(metric, metric)
    values = TABLE_2.get(data, {}).get(name)
    return values[list(LABELS.values()).index(label)] if values else np.nan


def hyper_parameters(setting: Setting, frame: pd.DataFrame | None = None) -> Made:
    """Put the paper's settings, the package's own and those of this page beside each other."""
    del frame  # nothing was run for it
    rows = []
    for data in DATA:
        rows.append(_row(data, "paper, as printed", dict(zip(SYMBOLS, TABLE_3[data], strict=True))))
        rows.append(_row(data, "preset paper", configure_run(data, {}, "paper").settings))
        rows.append(_row(data, "preset default", configure_run(data, {}).settings))
        if setting.note:
            [used] = setting.cells([data], ["ffml"])[:1]
            rows.append(_row(data, "the runs of this setting", used.config.settings))
    numbers = pd.DataFrame(rows)
    header = ["data", "settings", *SYMBOLS.values(), *_MORE.values()]
    lines = [[*row.values()] for row in rows]
    caption = (
        "What the paper prints, the preset that follows it (ffml run --preset paper), the "
        "package's own default, and what the runs of the other items here used if that is none of "
        "them. An empty cell is what the table of the paper does not say. Without a step of λ of "
        "its own, λ takes steps of η₂."
    )
    return Made(caption, numbers, tables=[TextTable("FFML", header, lines, names=2)])


def _row(data: str, source: str, settings: dict[str, Any]) -> dict[str, str]:
    names = {"data": data, "settings": source}
    return names | {name: _text(settings, name) for name in (*SYMBOLS, *_MORE)}


def _text(settings: dict[str, Any], name: str) -> str:
    if name not in settings:
        return ""
    value = settings[name]
    if value is None:
        return "η₂"
    if isinstance(value, (tuple, list)):
        return ", ".join(map(str, value))
    return f"{value:g}" if isinstance(value, float) else str(value)
