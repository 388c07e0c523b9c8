"""Gaps between any two groups: of all people pooled, and within tasks with chance taken out.

A gap of one round is ``G = rate of a group - rate of another`` among the people decided about. On
few rows it is large by chance alone, and its square is too large by ``Σ p(1-p)/n`` of the two
groups. What remains without that is right on average at any size, so that rounds can be averaged.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ffml.base import FFMLError
from ffml.metrics._intervals import half_width, spread, square_bounds
from ffml.metrics.rates import LABEL_WORDS, divide

# Among whom decisions are compared: everybody, or the rows of a label.
NOTIONS: dict[str, tuple[int | None, ...]] = {
    "demographic-parity": (None,),
    "equal-opportunity": (1,),
    "equalized-odds": (0, 1),
}


class RoundGaps(NamedTuple):
    """Gaps of T rounds and m comparisons, NaN where a group has too few rows: ``(T, m)`` each."""

    gap: np.ndarray  # rate of the group - rate of the other; needs a row of each
    square: np.ndarray  # unbiased estimate of the squared gap without chance; needs two
    rows: np.ndarray  # e = n₁n₀/(n₁+n₀): as many rows as the gap rests on


class GapStatistics(NamedTuple):
    """How far apart two groups were over many rounds, as shares (0.05: 5 points).

    Ends of an interval are NaN where fewer than `MIN_TASKS` tasks could tell.
    """

    comparison: str  # "M against F", and the label where rows of one label are compared
    pooled: float  # difference of the rates of all people: a fact; its interval is not
    pooled_low: float
    pooled_high: float
    typical: float  # root of the mean squared gap, chance taken out: the size within a round
    typical_low: float
    typical_high: float
    long_run: float  # mean of the signed gaps within rounds: opposite ones cancel
    long_run_low: float
    long_run_high: float
    rounds: int  # in how many rounds the two could be compared: those with two people of each


def round_gaps(tables: np.ndarray, label: int | None = None) -> RoundGaps:
    """Compare any two groups in every round (two groups: the second with the first).

    Args:
        tables: ``(T, k, labels, 2)`` counts by group, label and decision, see `contingency_table`.
        label: compare only the rows with this label.

    >>> gaps = round_gaps(np.array([[[[30, 10], [10, 10]], [[20, 10], [5, 15]]]]))
    >>> [float(part.squeeze().round(3)) for part in gaps]
    [0.167, 0.019, 27.273]
    """
    selected, sizes = side_counts(tables, label)
    rates = divide(selected, sizes)
    gap = rates[0] - rates[1]
    chance = divide(rates * (1 - rates), sizes - 1).sum(0)  # NaN where a group has one row
    return RoundGaps(gap, gap**2 - chance, divide(sizes.prod(0), sizes.sum(0)))


def side_counts(tables: np.ndarray, label: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Return positive decisions and rows of both groups of each pair, ``(2, T, m)`` each."""
    counts = tables.sum(-2) if label is None else tables[..., label, :]  # (T, k, decision)
    first, second = pairs(counts.shape[1])
    sides = np.stack([counts[:, second], counts[:, first]])  # (2, T, m, decision)
    return sides[..., 1], sides.sum(-1)


def pairs(num_groups: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the codes of any two groups: those of the first, and those of the second."""
    first, second = np.triu_indices(num_groups, 1)
    return first, second


def comparisons(
    num_groups: int, group_names: Sequence[str] | None, notion: str
) -> list[tuple[str, int | None, int]]:
    """List what a notion compares: a name, the label, and the place in ``m`` of `round_gaps`."""
    if notion not in NOTIONS:
        raise FFMLError(f"notion must be one of {', '.join(NOTIONS)}, got '{notion}'")
    names = [str(code) for code in range(num_groups)] if group_names is None else list(group_names)
    if len(names) != num_groups:
        raise FFMLError(f"group_names must name all {num_groups} groups, got {names}")
    compared = [f"{names[j]} against {names[i]}" for i, j in zip(*pairs(num_groups), strict=True)]
    return [
        (name if label is None else f"{name}, {LABEL_WORDS[label]}", label, place)
        for label in NOTIONS[notion]
        for place, name in enumerate(compared)
    ]


def typical_weights(rows: np.ndarray) -> np.ndarray:
    """Weigh squared gaps by row counts alone: ``(e/(e+10))²`` hardly listens to a dozen rows."""
    return (rows / (rows + 10)) ** 2


def long_run_weights(rows: np.ndarray) -> np.ndarray:
    """Weigh signed gaps by ``1/(0.25/e + 0.05²)``: tasks differ by some 5 points of their own."""
    return rows / (0.25 + 0.05**2 * rows)


def gap_statistics(
    tables: np.ndarray,
    group_names: Sequence[str] | None = None,
    notion: str = "demographic-parity",
    level: float = 0.95,
    by_task: bool = True,
) -> list[GapStatistics]:
    """Return the pooled, the typical and the long-run gap of any two groups, with intervals.

    Intervals are about the rule that decides: more people and tasks of the same kind. They are made
    for few large tasks, many small ones, and neighbours that are alike (see `_intervals`).

    Args:
        tables: ``(T, k, labels, 2)`` counts of T rounds.
        group_names: of the k groups.
        notion: one of `NOTIONS`: demographic-parity, equal-opportunity or equalized-odds.
        level: of the intervals, each for itself.
        by_task: False: all rows are one population, and intervals know chance alone.

    >>> round_ = np.array([[[3000, 1000], [1000, 1000]], [[2000, 1000], [500, 1500]]])
    >>> (found,) = gap_statistics(np.stack([round_, round_[::-1]]), ["F", "M"])
    >>> found.comparison, round(found.typical, 2), round(abs(found.long_run), 2), found.rounds
    ('M against F', 0.17, 0.0, 2)
    """
    if not 0 < level < 1:
        raise FFMLError(f"level must lie between 0 and 1, got {level}: use 0.95 for 95 %")
    tail, found = (1 - level) / 2, []
    for name, label, place in comparisons(tables.shape[1], group_names, notion):
        selected, sizes = (part[..., place] for part in side_counts(tables, label))
        gaps = RoundGaps(*(part[:, place] for part in round_gaps(tables, label)))
        found.append(
            GapStatistics(
                name,
                *_pooled(selected, sizes, tail, by_task),
                *_typical(gaps, tail),
                *_long_run(gaps, _chance(selected, sizes, gaps.rows), tail, by_task),
                rounds=int(np.isfinite(gaps.square).sum()),
            )
        )
    return found


def largest_gap(found: Sequence[GapStatistics]) -> GapStatistics:
    """Return the comparison with the largest typical gap (the long-run one decides a tie)."""
    if not found:
        raise FFMLError("largest_gap needs at least one comparison")
    sizes = [np.nan_to_num([s.typical, abs(s.long_run)], nan=-1.0).tolist() for s in found]
    return found[max(range(len(found)), key=sizes.__getitem__)]


def _pooled(
    selected: np.ndarray, sizes: np.ndarray, tail: float, by_task: bool
) -> tuple[float, float, float]:
    """Return the difference of the rates of all people, and its interval."""
    chosen, people = selected.sum(1), sizes.sum(1)
    if not (people > 0).all():
        return np.nan, np.nan, np.nan
    rates = chosen / people
    moves = (selected - rates[:, None] * sizes) / people[:, None]
    near = (chosen + 1) / (people + 2)  # nobody selected among few rows is still chance
    chance = float((near * (1 - near) / (people + 2)).sum())
    share = (sizes / people[:, None]).mean(0)
    reach = half_width(moves[0] - moves[1], share, chance, tail, by_task)
    gap = float(rates[0] - rates[1])
    return gap, max(gap - reach, -1.0), min(gap + reach, 1.0)


def _long_run(
    gaps: RoundGaps, chance: np.ndarray, tail: float, by_task: bool
) -> tuple[float, float, float]:
    """Return the weighted mean of the signed gaps, and its interval."""
    known = np.isfinite(gaps.gap)
    if not known.any():
        return np.nan, np.nan, np.nan
    gap, share = gaps.gap[known], _shares(long_run_weights(gaps.rows[known]))
    mean = float(share @ gap)
    variance = float(share**2 @ chance[known])
    reach = half_width(share * (gap - mean), share, variance, tail, by_task)
    return mean, max(mean - reach, -1.0), min(mean + reach, 1.0)


def _typical(gaps: RoundGaps, tail: float) -> tuple[float, float, float]:
    """Return the root of the weighted mean of the squares, and its interval."""
    known = np.isfinite(gaps.square)
    if not known.any():
        return np.nan, np.nan, np.nan
    gap, square, share = (
        part[known] for part in (gaps.gap, gaps.square, typical_weights(gaps.rows))
    )
    share = _shares(share)
    mean, chance = float(share @ square), float(share @ (gap**2 - square))
    by_chance = float(share**2 @ (gap**2 - square))
    tasks = spread(share * (gap - share @ gap), share, by_chance).tasks
    ends = square_bounds(mean, chance, tasks, tail)
    typical, low, high = np.sqrt(np.maximum([mean, *ends], 0)).tolist()
    return typical, low, high


def _chance(selected: np.ndarray, sizes: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return the variance of each gap if all rounds shared one rate: ``p(1-p)/e``, ``(T,)``.

    The rate of a round would not do: where nobody is selected among few rows, it knows no chance.
    """
    rate = (selected.sum() + 1) / (sizes.sum() + 2)
    return divide(np.full_like(rows, rate * (1 - rate)), rows)


def _shares(weights: np.ndarray) -> np.ndarray:
    return weights / weights.sum()
