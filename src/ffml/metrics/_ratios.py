"""The lower of two rates as a share of the higher, over the people of many rounds.

The four-fifths rule speaks of such a ratio. It is taken of pooled counts: ratios of single rounds
are low by chance on few rows, and their mean stays so however many rounds there are.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ffml.metrics._gaps import comparisons, side_counts
from ffml.metrics._intervals import half_width


class RatioStatistics(NamedTuple):
    """The lower rate over the higher, of two groups; 1: both are the same."""

    comparison: str  # "M against F", and the label where rows of one label are compared
    ratio: float
    low: float  # NaN where fewer than `MIN_TASKS` tasks could tell
    high: float
    rounds: int  # in how many rounds both groups had rows


def ratio_statistics(
    tables: np.ndarray,
    group_names: Sequence[str] | None = None,
    notion: str = "demographic-parity",
    level: float = 0.95,
    by_task: bool = True,
) -> list[RatioStatistics]:
    """Return the ratio of pooled rates of any two groups, with intervals as `gap_statistics`.

    A ratio is NaN where a group has no rows, or nobody is decided positively.

    Args:
        tables: ``(T, k, labels, 2)`` counts of T rounds.
        group_names: of the k groups.
        notion: one of `NOTIONS`: demographic-parity, equal-opportunity or equalized-odds.
        level: of the intervals, each for itself.
        by_task: False: all rows are one population, and intervals know chance alone.

    >>> round_ = np.array([[[4000, 1000], [3000, 2000]], [[3500, 1500], [3000, 2000]]])
    >>> (found,) = ratio_statistics(np.stack([round_] * 12), ["F", "M"])
    >>> found.comparison, round(found.ratio, 3), round(found.low, 2), round(found.high, 2)
    ('M against F', 0.857, 0.85, 0.87)
    """
    tail, found = (1 - level) / 2, []
    for name, label, place in comparisons(tables.shape[1], group_names, notion):
        selected, sizes = (part[..., place] for part in side_counts(tables, label))  # (2, T)
        rounds = int((sizes > 0).all(0).sum())
        if not (sizes.sum(1) > 0).all() or not selected.any():
            found.append(RatioStatistics(name, np.nan, np.nan, np.nan, rounds))
            continue
        rates = selected.sum(1) / sizes.sum(1)
        low, high = _interval(selected, sizes, tail, by_task)
        ratio = float(rates.min() / rates.max())
        low, high = min(low, 1 / high), min(high, 1 / low, 1.0)
        ends = (min(low, ratio), max(high, ratio)) if np.isfinite(low) else (np.nan, np.nan)
        found.append(RatioStatistics(name, ratio, *ends, rounds))
    return found


def _interval(
    selected: np.ndarray, sizes: np.ndarray, tail: float, by_task: bool
) -> tuple[float, float]:
    """Return an interval of (rate of the group) / (rate of the other), ``(2, T)`` each.

    Half a person more is counted as selected, and half as not, so that all of it is finite.
    """
    chosen, people = selected.sum(1) + 0.5, sizes.sum(1) + 1
    rates = chosen / people
    moves = (selected - rates[:, None] * sizes) / chosen[:, None]
    share = (sizes / sizes.sum(1)[:, None]).mean(0)
    moves = moves[0] - moves[1]
    chance = float((1 / chosen - 1 / people).sum())
    reach = half_width(moves - share * moves.sum(), share, chance, tail, by_task)
    ratio = rates[0] / rates[1]
    return float(ratio * np.exp(-reach)), float(ratio * np.exp(reach))
