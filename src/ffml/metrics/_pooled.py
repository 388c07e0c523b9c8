"""Two groups, all people pooled: the difference of their rates, and the ratio.

Their intervals are normal, or follow from that of each rate (Newcombe 1998; Zou and Donner 2008
for ratios), whichever is wider: a normal one is too narrow where few of a small group are selected,
the other where few of a small group are expected to be.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ffml.metrics._intervals import NOTHING, Estimate, estimate
from ffml.metrics.rates import difference_ends, wilson

Ends = tuple[float, float]
UNKNOWN: Ends = (np.nan, np.nan)


class PooledGap(NamedTuple):
    """The difference of the rates of all people."""

    value: float
    by_task: Estimate  # the same as a mean over tasks
    selected: np.ndarray  # people of both groups
    people: np.ndarray

    def ends(self, tail: float, to_come: bool = True) -> Ends:
        """Return an interval; see `Estimate.ends`."""
        if not np.isfinite(self.value):
            return UNKNOWN
        low, high = rate_ends(self.selected, self.people, tail)
        exact = difference_ends(self.selected / self.people, low, high)
        return wider(exact, self.by_task.ends(tail, to_come))


class PooledRatio(NamedTuple):
    """The lower rate over the higher, of all people."""

    value: float
    log: Estimate  # of one rate over the other, as a mean over tasks
    selected: np.ndarray
    people: np.ndarray

    def ends(self, tail: float, to_come: bool = True) -> Ends:
        """Return an interval that holds the value; see `Estimate.ends`."""
        if not np.isfinite(self.value):
            return UNKNOWN
        rates = (self.selected + 0.5) / (self.people + 1)
        least, most = rate_ends(self.selected, self.people, tail)
        with np.errstate(divide="ignore"):  # where nobody is selected, the rate may be 0
            logs = np.log([rates, np.minimum(least, rates), np.maximum(most, rates)])
        low, high = wider(difference_ends(*logs), self.log.ends(tail, to_come))
        ends = np.exp([min(low, -high), min(high, -low, 0.0)]).tolist()
        return min(ends[0], self.value), max(ends[1], self.value)


def rate_ends(
    selected: np.ndarray, people: np.ndarray, tail: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return the ends of each group's rate."""
    from scipy import special  # here, so that listings start soon

    low, high = wilson(selected, people, -float(special.ndtri(tail)))
    return np.maximum(low, 0.0), np.minimum(high, 1.0)


def wider(one: Sequence[Any], other: Ends) -> Ends:
    """Return the ends that are further out; NaN where one of them is."""
    return float(np.minimum(one[0], other[0])), float(np.maximum(one[1], other[1]))


def pooled_gap(selected: np.ndarray, sizes: np.ndarray) -> PooledGap:
    """Return the difference of the rates of all people.

    Args:
        selected: ``(2, T)`` positive decisions of both groups.
        sizes: ``(2, T)`` their people.
    """
    chosen, people = selected.sum(1), sizes.sum(1)
    if not people.all():
        return PooledGap(np.nan, NOTHING, chosen, people)
    rates = chosen / people
    moves = (selected - rates[:, None] * sizes) / people[:, None]
    near = (chosen + 1) / (people + 2)  # nobody selected among few rows is still chance
    variance = float((near * (1 - near) / (people + 2)).sum())
    share, apart = (sizes / people[:, None]).mean(0), float(rates[0] - rates[1])
    by_task = estimate(apart, moves[0] - moves[1], share, variance)
    return PooledGap(apart, by_task, chosen, people)


def pooled_ratio(selected: np.ndarray, sizes: np.ndarray) -> PooledRatio:
    """Return the ratio of both rates.

    Half a person more is counted as selected, and half as not, so that its logarithm is finite.
    """
    counts = selected.sum(1), sizes.sum(1)
    if not (counts[0].any() and counts[1].all()):
        return PooledRatio(np.nan, NOTHING, *counts)
    chosen, people = counts[0] + 0.5, counts[1] + 1
    rates = chosen / people
    moves = (selected - rates[:, None] * sizes) / chosen[:, None]
    share, moves = (sizes / counts[1][:, None]).mean(0), moves[0] - moves[1]
    variance = float((1 / chosen - 1 / people).sum())
    log = estimate(float(np.log(rates[0] / rates[1])), moves - share * moves.sum(), share, variance)
    exact = counts[0] / counts[1]
    return PooledRatio(float(exact.min() / exact.max()), log, *counts)
