"""Figures 2, 3, 5, 6 and 7: a metric by round, mean over repeats with standard errors."""

from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd

from ffml.research.reproduce._charts import Panel, draw_panels
from ffml.research.reproduce._made import Made
from ffml.research.reproduce._setting import Setting

NAMES = {"dp": "DP", "eo": "EO"}
_MEASURED = (
    "Lines are means over the repeats in which the ratio is defined, bands one standard error. It "
    "is undefined where everyone got the same decision, or where a group (for EO, a group with "
    "one of the labels) has no rows; a gap is a round in which that is so in all repeats. 1 is "
    "parity."
)


def by_round(frame: pd.DataFrame, metrics: Sequence[str]) -> pd.DataFrame:
    """Average over repeats.

    Returns:
        One row per metric, label, data set, share of validation rows and round: ``mean``,
        ``standard_error`` (NaN for one repeat) and the number of ``repeats`` with a defined value.
    """
    place = ["data", "validation", "label", "round"]
    parts = []
    for metric in metrics:
        grouped = frame.groupby(place, sort=False)[metric]
        table = grouped.agg(mean="mean", std="std", repeats="count").reset_index()
        table["standard_error"] = table.pop("std") / np.sqrt(table["repeats"])
        parts.append(table.assign(metric=metric))
    columns = ["metric", *place, "mean", "standard_error", "repeats"]
    return pd.concat(parts, ignore_index=True)[columns]


def metric_by_round(metric: str, number: int) -> Callable[[Setting, pd.DataFrame], Made]:
    """Figures 2 and 3: one row of panels a data set, one column a share of validation rows."""
    name = NAMES[metric]

    def make(setting: Setting, frame: pd.DataFrame) -> Made:
        table = by_round(frame, [metric])
        panels = [
            Panel(f"{str(data).capitalize()}, {share:.0%} of a task's rows judge", name, lines)
            for (data, share), lines in table.groupby(["data", "validation"], sort=False)
        ]
        title = f"Figure {number}. {name} by round"
        caption = (
            f"{name} of every round's decision on the validation rows of the new task, before the "
            f"task is learned. {_MEASURED}"
        )
        figure = draw_panels(panels, len(setting.shares), title, setting.note)
        return Made(caption, table, figure)

    return make


def variants_by_round(number: int, what: str) -> Callable[[Setting, pd.DataFrame], Made]:
    """Figures 5, 6 and 7: variants of FFML, one row of panels a data set, DP and EO beside it."""

    def make(setting: Setting, frame: pd.DataFrame) -> Made:
        table = by_round(frame, list(NAMES))
        panels = [
            Panel(str(data).capitalize(), name, lines[lines["metric"] == metric])
            for data, lines in table.groupby("data", sort=False)
            for metric, name in NAMES.items()
        ]
        title = f"Figure {number}. {what[0].upper()}{what[1:]}"
        share = f"{setting.shares[0]:.0%} of a task's rows judge."
        caption = f"DP and EO by round: {what}; {share} {_MEASURED}"
        return Made(caption, table, draw_panels(panels, 2, title, setting.note))

    return make
