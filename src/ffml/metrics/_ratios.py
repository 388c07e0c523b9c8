"""The lower of two rates as a share of the higher, over the people of many rounds.

The four-fifths rule speaks of such a ratio. It is taken of pooled counts: ratios of single rounds
are low by chance on few rows, and their mean stays so however many rounds there are.
"""

from collections.abc import Sequence
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from ffml.metrics._gaps import comparisons, resampled_sums, side_counts


class RatioStatistics(NamedTuple):
    """The lower rate over the higher, of a group and the others; 1: both are the same."""

    comparison: str  # the group, and the label where rows of one label are compared
    ratio: float
    low: float
    high: float
    rounds: int  # in how many rounds both sides had rows


def ratio_statistics(
    tables: np.ndarray,
    group_names: Sequence[str] | None = None,
    notion: str = "demographic-parity",
    level: float = 0.95,
) -> list[RatioStatistics]:
    """Return the ratio of pooled rates of every comparison, with intervals.

    Intervals resample rounds, and are never narrower than so few rows allow. A ratio is NaN where a
    side has no rows, or nobody is decided positively.

    Args:
        tables: ``(T, k, 2, 2)`` counts of T rounds.
        group_names: of the k groups.
        notion: one of `NOTIONS`: demographic-parity, equal-opportunity or equalized-odds.
        level: of the intervals.

    >>> round_ = np.array([[[4000, 1000], [3000, 2000]], [[3500, 1500], [3000, 2000]]])
    >>> (found,) = ratio_statistics(np.stack([round_] * 5), ["F", "M"])
    >>> found.comparison, round(found.ratio, 3), round(found.low, 2), round(found.high, 2)
    ('M', 0.857, 0.84, 0.87)
    """
    found = []
    for name, label, place in comparisons(tables.shape[1], group_names, notion):
        selected, sizes = (part[..., place] for part in side_counts(tables, label))  # (2, T)
        rounds = int((sizes > 0).all(0).sum())
        if not (sizes.sum(1) > 0).all() or not selected.any():
            found.append(RatioStatistics(name, np.nan, np.nan, np.nan, rounds))
            continue
        rates = selected.sum(1) / sizes.sum(1)
        ends = _interval(selected, sizes, level)
        ratio = float(rates.min() / rates.max())
        low, high = min(ends[0], 1 / ends[1]), min(ends[1], 1 / ends[0], 1.0)
        found.append(RatioStatistics(name, ratio, min(low, ratio), max(high, ratio), rounds))
    return found


def _interval(selected: np.ndarray, sizes: np.ndarray, level: float) -> tuple[float, float]:
    """Return an interval of (rate of the group) / (rate of the others), ``(2, T)`` each.

    Half a person more is counted as selected, and half as not, so that all of it is finite.
    """
    judged = sizes.any(0)
    selected, sizes = selected[:, judged], sizes[:, judged]
    counts = resampled_sums(np.concatenate([selected, sizes]).T.astype(float))  # (draws, 4)
    rates = (counts[:, :2] + 0.5) / (counts[:, 2:] + 1)
    low, high = np.quantile(rates[:, 0] / rates[:, 1], ((1 - level) / 2, (1 + level) / 2))
    chosen, people = selected.sum(1) + 0.5, sizes.sum(1) + 1
    ratio = (chosen[0] / people[0]) / (chosen[1] / people[1])
    chance = NormalDist().inv_cdf((1 + level) / 2) * np.sqrt((1 / chosen - 1 / people).sum())
    return float(min(low, ratio * np.exp(-chance))), float(max(high, ratio * np.exp(chance)))
