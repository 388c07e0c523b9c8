"""Two groups over many rounds: all people pooled, within tasks with chance taken out, and ratios.

The four-fifths rule speaks of a ratio. It is taken of pooled counts: ratios of single rounds are
low by chance on few rows, and their mean stays so however many rounds there are.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from ffml.metrics._gaps import (
    RoundGaps,
    comparisons,
    long_run_weights,
    round_gaps,
    side_counts,
    typical_weights,
)
from ffml.metrics._intervals import (
    NOTHING,
    TAIL,
    Estimate,
    Spread,
    estimate,
    spread,
    square_bounds,
)


class Typical(NamedTuple):
    """The root of the mean squared gap, chance taken out."""

    square: float
    chance: float  # what chance adds to the square
    spread: Spread

    @property
    def value(self) -> float:
        """The gap; 0 where squares show less than chance."""
        return float(np.sqrt(np.maximum(self.square, 0)))

    def ends(self, tail: float, to_come: bool = True) -> tuple[float, float]:
        """Return an interval, NaN where too few tasks can tell; always of tasks to come."""
        ends = square_bounds(self.square, self.chance, self.spread, tail)
        low, high = np.sqrt(np.maximum(ends, 0)).tolist()
        return low, high


class PooledRatio(NamedTuple):
    """The lower rate over the higher, of all people."""

    value: float
    log: Estimate  # of one rate over the other

    def ends(self, tail: float, to_come: bool = True) -> tuple[float, float]:
        """Return an interval that holds the value; see `Estimate.ends`."""
        low, high = np.exp(self.log.ends(tail, to_come)).tolist()
        low, high = min(low, 1 / high), min(high, 1 / low, 1.0)
        return (min(low, self.value), max(high, self.value)) if low == low else (low, high)


class Compared(NamedTuple):
    """What is known of two groups over many rounds."""

    name: str  # "M against F", and the label where rows of one label are compared
    pooled: Estimate  # difference of the rates of all people: a fact; its interval is not
    typical: Typical  # the size within a round
    long_run: Estimate  # mean of the signed gaps within rounds: opposite ones cancel
    by_people: Estimate  # the same, each round weighed by its people
    ratio: PooledRatio
    rounds: int  # in how many rounds both have two people or more


class GapStatistics(NamedTuple):
    """How far apart two groups were over many rounds, as shares (0.05: 5 points).

    Ends of an interval are NaN where fewer than `MIN_TASKS` tasks could tell.
    """

    comparison: str
    pooled: float
    pooled_low: float
    pooled_high: float
    typical: float
    typical_low: float
    typical_high: float
    long_run: float
    long_run_low: float
    long_run_high: float
    rounds: int


class RatioStatistics(NamedTuple):
    """The lower rate over the higher, of two groups; 1: both are the same."""

    comparison: str
    ratio: float  # NaN where a group has no rows, or nobody is decided positively
    low: float
    high: float
    rounds: int


def gap_statistics(
    tables: np.ndarray,
    group_names: Sequence[str] | None = None,
    notion: str = "demographic-parity",
    by_task: bool = True,
) -> list[GapStatistics]:
    """Return the pooled, the typical and the long-run gap of any two groups, with 95 % intervals.

    Args:
        tables: ``(T, k, labels, 2)`` counts of T rounds.
        group_names: of the k groups.
        notion: one of `NOTIONS`.
        by_task: intervals are about tasks to come. False: about more people of those that were.

    >>> round_ = np.array([[[3000, 1000], [1000, 1000]], [[2000, 1000], [500, 1500]]])
    >>> (found,) = gap_statistics(np.stack([round_, round_[::-1]]), ["F", "M"])
    >>> found.comparison, round(found.typical, 2), round(abs(found.long_run), 2), found.rounds
    ('M against F', 0.17, 0.0, 2)
    """
    found = []
    for one in compared(tables, group_names, notion):
        numbers: list[float] = []
        for part in (one.pooled, one.typical, one.long_run):
            numbers += [part.value, *np.clip(part.ends(TAIL, by_task), -1, 1).tolist()]
        found.append(GapStatistics._make([one.name, *numbers, one.rounds]))
    return found


def ratio_statistics(
    tables: np.ndarray,
    group_names: Sequence[str] | None = None,
    notion: str = "demographic-parity",
    by_task: bool = True,
) -> list[RatioStatistics]:
    """Return the ratio of pooled rates of any two groups, as `gap_statistics` does gaps.

    >>> round_ = np.array([[[4000, 1000], [3000, 2000]], [[3500, 1500], [3000, 2000]]])
    >>> (found,) = ratio_statistics(np.stack([round_] * 12), ["F", "M"])
    >>> found.comparison, round(found.ratio, 3), round(found.low, 2), round(found.high, 2)
    ('M against F', 0.857, 0.85, 0.87)
    """
    return [
        RatioStatistics(one.name, one.ratio.value, *one.ratio.ends(TAIL, by_task), one.rounds)
        for one in compared(tables, group_names, notion)
    ]


def compared(tables: np.ndarray, group_names: Sequence[str] | None, notion: str) -> list[Compared]:
    """Compare any two groups over all rounds; each may be given intervals at any level."""
    found = []
    for name, label, place in comparisons(tables.shape[1], group_names, notion):
        selected, sizes = (part[..., place] for part in side_counts(tables, label))  # (2, T)
        gaps = RoundGaps(*(part[:, place] for part in round_gaps(tables, label)))
        rate = (selected.sum() + 1) / (sizes.sum() + 2)
        both = (sizes.sum(1) > 0).all()
        found.append(
            Compared(
                name,
                pooled=_pooled(selected, sizes) if both else NOTHING,
                typical=_typical(gaps),
                long_run=_mean(gaps, long_run_weights, rate),
                by_people=_mean(gaps, lambda rows: rows, rate),
                ratio=_ratio(selected, sizes) if both else PooledRatio(np.nan, NOTHING),
                rounds=int(np.isfinite(gaps.square).sum()),
            )
        )
    return found


def _pooled(selected: np.ndarray, sizes: np.ndarray) -> Estimate:
    """Return the difference of the rates of all people."""
    chosen, people = selected.sum(1), sizes.sum(1)
    rates = chosen / people
    moves = (selected - rates[:, None] * sizes) / people[:, None]
    near = (chosen + 1) / (people + 2)  # nobody selected among few rows is still chance
    variance = float((near * (1 - near) / (people + 2)).sum())
    share = (sizes / people[:, None]).mean(0)
    return estimate(float(rates[0] - rates[1]), moves[0] - moves[1], share, variance)


def _ratio(selected: np.ndarray, sizes: np.ndarray) -> PooledRatio:
    """Return the ratio of both rates.

    Half a person more is counted as selected, and half as not, so that its logarithm is finite.
    """
    if not selected.any():
        return PooledRatio(np.nan, NOTHING)
    chosen, people = selected.sum(1) + 0.5, sizes.sum(1) + 1
    rates = chosen / people
    moves = (selected - rates[:, None] * sizes) / chosen[:, None]
    share, moves = (sizes / sizes.sum(1)[:, None]).mean(0), moves[0] - moves[1]
    variance = float((1 / chosen - 1 / people).sum())
    log = estimate(float(np.log(rates[0] / rates[1])), moves - share * moves.sum(), share, variance)
    exact = selected.sum(1) / sizes.sum(1)
    return PooledRatio(float(exact.min() / exact.max()), log)


def _mean(gaps: RoundGaps, weigh: Callable[[np.ndarray], np.ndarray], rate: float) -> Estimate:
    """Return the weighted mean of the signed gaps.

    Chance is that of one rate for all rounds, ``p(1-p)/e``. The rate of a round would not do: where
    nobody is selected among few rows, it knows no chance.
    """
    known = np.isfinite(gaps.gap)
    if not known.any():
        return NOTHING
    gap, rows = gaps.gap[known], gaps.rows[known]
    share = _shares(weigh(rows))
    mean = float(share @ gap)
    return estimate(mean, share * (gap - mean), share, float(share**2 @ (rate * (1 - rate) / rows)))


def _typical(gaps: RoundGaps) -> Typical:
    """Return the weighted mean of the squares."""
    known = np.isfinite(gaps.square)
    if not known.any():
        return Typical(np.nan, np.nan, NOTHING.spread)
    gap, square, share = (
        part[known] for part in (gaps.gap, gaps.square, typical_weights(gaps.rows))
    )
    share, chance = _shares(share), gap**2 - square
    found = spread(share * (gap - share @ gap), share, float(share**2 @ chance))
    return Typical(float(share @ square), float(share @ chance), found)


def _shares(weights: np.ndarray) -> np.ndarray:
    return weights / weights.sum()
