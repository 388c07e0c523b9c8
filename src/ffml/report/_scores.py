"""What was said about people, by group: calibration, and who was decided about against the odds."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ffml.base import SensitiveColumn
from ffml.metrics.reliability import NUM_BINS, reliability
from ffml.report._view import Score

JOINT = " × "  # between the columns of an intersection


class Extremes(NamedTuple):
    """The lowest probability that was decided favourably, and the highest that was not."""

    group: str
    lowest: float
    highest: float


def counts_of(
    scores: Sequence[Score], columns: Sequence[str]
) -> tuple[SensitiveColumn, np.ndarray]:
    """Count people by the groups of one column, or of several: ``(1, k, 3, 2)``.

    Whoever's group is not known in one of them is left out.
    """
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
    found = {}
    for name, counts in tenths.items():
        people, came, said = counts.sum(0)
        found[name] = reliability(counts) | {"said": said / people, "came": came / people}
    return found


def extremes(scores: Sequence[Score], column: SensitiveColumn) -> list[Extremes]:
    """Return for each group who was decided about most against the odds."""
    found = []
    for group in column.groups:
        here = [s for s in scores if s.groups.get(column.name) == group and s.tenth >= 0]
        lowest = min((one.lowest for one in here if one.decision == 1), default=np.nan)
        highest = max((one.highest for one in here if one.decision == 0), default=np.nan)
        found.append(Extremes(group, lowest, highest))
    return found
