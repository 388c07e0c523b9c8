"""The tables by group and by intersection, and what was said about people by group."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ffml.base import SensitiveColumn
from ffml.metrics.by_group import by_group
from ffml.metrics.facts import MIN_PEOPLE
from ffml.metrics.labels import why_unmeasured
from ffml.metrics.phrases import UNDEFINED, rate
from ffml.metrics.reliability import NUM_BINS, reliability
from ffml.report._view import RunView, Score
from ffml.report.numbers import interval

HEAD = ["People", "Selected", "Rate", "Impact ratio", "True positive rate", "False positive rate"]
HEAD += ["False negative rate", "Precision", "Accuracy", "Label came", "Probability said"]
COUNTS = 4  # heads of what needs no label
ERRORS = ("true_positive_rate", "false_positive_rate", "false_negative_rate", "precision")
SMALL = f"fewer than {MIN_PEOPLE} people: not compared"
JOINT = " × "  # between the columns of an intersection


def group_tables(run: RunView) -> list[dict[str, Any]]:
    """Write a table for each protected column, and one for their intersection."""
    parts = [(column, run.counts[column.name], [column.name]) for column in run.columns]
    names = [column.name for column in run.columns]
    if len(names) > 1 and run.scores:
        parts.append((*_intersection(run.scores, names), names))
    return [
        group_table(column, counts, {} if why_unmeasured(counts) else calibration(run.scores, own))
        for column, counts, own in parts
    ]


def group_table(
    column: SensitiveColumn, counts: np.ndarray, said: Mapping[str, Mapping[str, Any]]
) -> dict[str, Any]:
    """Write the groups of a column, the lowest impact ratio first.

    What nobody could measure has no cells.

    Args:
        column: the groups.
        counts: ``(T, k, 3, 2)``.
        said: what was said and what came by group, see `calibration`.
    """
    rows = by_group(counts, column) if counts.any() else []
    width = len(HEAD) - (0 if said else 2)
    if not any(math.isfinite(row["accuracy"]) for row in rows):
        width = COUNTS
    return {
        "column": column.name,
        "head": HEAD[:width],
        "rows": [_cells(row, said.get(row["group"], {}))[:width] for row in rows],
        "names": [
            {
                "group": row["group"],
                "note": SMALL if row["small"] else "highest rate" if row["reference"] else "",
            }
            for row in rows
        ],
    }


def _cells(row: Mapping[str, Any], said: Mapping[str, Any]) -> list[dict[str, str]]:
    """Write one group: each cell a value, and an interval where there is one."""
    values = [f"{row['people']:,}", f"{row['selected']:,}", rate(row["rate"])]
    values += [rate(row[name]) for name in ("impact_ratio", *ERRORS, "accuracy")]
    values += [rate(said[key]) if said else UNDEFINED for key in ("came", "said")]
    ends = interval(row["impact_low"], row["impact_high"])
    return [{"value": v, "range": ends if i == COUNTS - 1 else ""} for i, v in enumerate(values)]


def _intersection(
    scores: Sequence[Score], columns: Sequence[str]
) -> tuple[SensitiveColumn, np.ndarray]:
    """Count people by the groups of all columns: ``(1, k, 3, 2)``; unknown groups are left out."""
    rows = [(tuple(one.groups.get(c) for c in columns), one) for one in scores]
    known = [(tuple(map(str, groups)), one) for groups, one in rows if None not in groups]
    names = sorted({groups for groups, _ in known})
    counts = np.zeros((1, len(names), 3, 2), int)
    for groups, one in known:
        counts[0, names.index(groups), one.label, one.decision] += one.people  # -1 is the last
    return SensitiveColumn(JOINT.join(columns), tuple(map(JOINT.join, names))), counts


def calibration(scores: Sequence[Score], columns: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Compare what was said with what came, by group, among those with a label.

    Returns:
        By group what `ffml.metrics.reliability` returns, and ``said`` and ``came``: the mean
        probability and the share of label 1.
    """
    tenths: dict[str, np.ndarray] = {}
    for one in scores:
        groups = [one.groups.get(column) for column in columns]
        if one.label >= 0 and one.tenth >= 0 and None not in groups:
            counts = tenths.setdefault(JOINT.join(map(str, groups)), np.zeros((NUM_BINS, 3)))
            counts[one.tenth] += [one.people, one.people * one.label, one.total]
    by_group = {}
    for name, counts in tenths.items():
        people, came, said = counts.sum(0)
        by_group[name] = reliability(counts) | {"said": said / people, "came": came / people}
    return by_group


class Extremes(NamedTuple):
    """The lowest probability that was decided favourably, and the highest that was not."""

    group: str
    lowest: float
    highest: float


def extremes(scores: Sequence[Score], column: SensitiveColumn) -> list[Extremes]:
    """Return for each group who was decided about most against the odds."""
    ends = []
    for group in column.groups:
        here = [s for s in scores if s.groups.get(column.name) == group and s.tenth >= 0]
        lowest = min((one.lowest for one in here if one.decision == 1), default=np.nan)
        highest = max((one.highest for one in here if one.decision == 0), default=np.nan)
        ends.append(Extremes(group, lowest, highest))
    return ends
