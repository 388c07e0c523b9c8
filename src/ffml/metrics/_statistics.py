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
)
from ffml.metrics._intervals import NOTHING, TAIL, Estimate, estimate
from ffml.metrics._pooled import PooledGap, PooledRatio, pooled_gap, pooled_ratio
from ffml.metrics._typical import Typical, WithinRatio, typical
from ffml.metrics.rates import divide


class Compared(NamedTuple):
    """What is known of two groups over many rounds."""

    name: str  # "M against F", and the label where rows of one label are compared
    pooled: PooledGap  # difference of the rates of all people: a fact; its interval is not
    typical: Typical  # the size within a round
    long_run: Estimate  # mean of the signed gaps within rounds: opposite ones cancel
    by_people: Estimate  # the same, each round weighed by its people
    ratio: PooledRatio
    rounds: int  # in how many rounds both have two people or more

    @property
    def within(self) -> WithinRatio:
        """The ratio within a round."""
        return WithinRatio(self.typical)


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
    statistics = []
    for one in compared(tables, group_names, notion):
        numbers: list[float] = []
        for part in (one.pooled, one.typical, one.long_run):
            numbers += [part.value, *np.clip(part.ends(TAIL, by_task), -1, 1).tolist()]
        statistics.append(GapStatistics._make([one.name, *numbers, one.rounds]))
    return statistics


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
    each = []
    for name, label, place in comparisons(tables.shape[1], group_names, notion):
        selected, sizes = (part[..., place] for part in side_counts(tables, label))  # (2, T)
        gaps = RoundGaps(*(part[:, place] for part in round_gaps(tables, label)))
        each.append(
            Compared(
                name,
                pooled=pooled_gap(selected, sizes),
                typical=typical(gaps, divide(selected, sizes).mean(0)),
                long_run=_mean(gaps, selected, sizes, long_run_weights),
                by_people=_mean(gaps, selected, sizes, lambda rows: rows),
                ratio=pooled_ratio(selected, sizes),
                rounds=int(np.isfinite(gaps.square).sum()),
            )
        )
    return each


def _mean(
    gaps: RoundGaps,
    selected: np.ndarray,
    sizes: np.ndarray,
    weigh: Callable[[np.ndarray], np.ndarray],
) -> Estimate:
    """Return the weighted mean of the signed gaps.

    Chance is that of one rate for all rounds, ``p(1-p)/e``. The rate of a round would not do: where
    nobody is selected among few rows, it knows no chance. That of everybody would not do either:
    most people may be of the larger group, or in rounds of one group, and the mean rests on others.
    So it is the rate of those on whom the mean rests, each counted by what they add to its
    variance, or everybody's if that knows more chance.
    """
    known = np.isfinite(gaps.gap)
    if not known.any():
        return NOTHING
    gap, rows, people = gaps.gap[known], gaps.rows[known], sizes[:, known]
    share = _shares(weigh(rows))
    adds = share**2 / people  # of each side and round, times p(1-p)
    chosen = (adds * selected[:, known] / people).sum() / adds.sum()
    count = adds.sum() ** 2 / (adds**2 / people).sum()  # as many people of equal weight
    near = np.array([selected.sum() + 1, chosen * count + 1]) / [sizes.sum() + 2, count + 2]
    variance = float((near * (1 - near)).max() * adds.sum())
    mean = float(share @ gap)
    return estimate(mean, share * (gap - mean), share, variance)


def _shares(weights: np.ndarray) -> np.ndarray:
    return weights / weights.sum()
