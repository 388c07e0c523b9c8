"""Gaps between groups over many rounds, with the part that is chance taken out.

A gap of one round is ``G = rate of a group - rate of the others`` among the judged rows. On few
rows it is large by chance alone, and its square is too large by ``Σ p(1-p)/n`` of the two sides.
What remains without that is right on average at any size, so that rounds can be averaged.
"""

from collections.abc import Sequence
from functools import lru_cache
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from ffml.base import FFMLError
from ffml.metrics._rates import divide

# Among whom decisions are compared: everybody, or the rows of a label.
NOTIONS: dict[str, tuple[int | None, ...]] = {
    "demographic-parity": (None,),
    "equal-opportunity": (1,),
    "equalized-odds": (0, 1),
}
NUM_DRAWS = 2000
MOST_BLOCKS = 250  # of more rounds than this, neighbours are resampled together
_SEED = 0  # draws are part of the definition: the same rounds always give the same numbers


class RoundGaps(NamedTuple):
    """Gaps of T rounds and m comparisons, NaN where a side has too few rows: ``(T, m)`` each."""

    gap: np.ndarray  # rate of the group - rate of the others; needs a row on each side
    square: np.ndarray  # unbiased estimate of the squared gap without chance; needs two
    rows: np.ndarray  # e = n₁n₀/(n₁+n₀): as many rows as the gap rests on


class GapStatistics(NamedTuple):
    """How far apart a group and the others were over many rounds, as shares (0.05: 5 points)."""

    comparison: str  # the group, and the label where rows of one label are compared
    typical: float  # root of the mean squared gap, chance taken out: the size within a round
    typical_low: float
    typical_high: float
    long_run: float  # mean of the signed gaps: opposite ones cancel
    long_run_low: float
    long_run_high: float
    rounds: int  # in how many rounds the comparison could be measured


def round_gaps(tables: np.ndarray, label: int | None = None) -> RoundGaps:
    """Compare each group with the others in every round (two groups: the second with the first).

    Args:
        tables: ``(T, k, 2, 2)`` counts by group, label and decision, see `contingency_table`.
        label: compare only the rows with this label.

    >>> gaps = round_gaps(np.array([[[[30, 10], [10, 10]], [[20, 10], [5, 15]]]]))
    >>> [float(part.squeeze().round(3)) for part in gaps]
    [0.167, 0.019, 27.273]
    """
    selected, sizes = side_counts(tables, label)
    rates = divide(selected, sizes)
    gap = rates[0] - rates[1]
    chance = divide(rates * (1 - rates), sizes - 1).sum(0)  # NaN where a side has one row
    return RoundGaps(gap, gap**2 - chance, divide(sizes.prod(0), sizes.sum(0)))


def side_counts(tables: np.ndarray, label: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Return positive decisions and rows of each group and of the others, ``(2, T, m)`` each."""
    counts = tables.sum(-2) if label is None else tables[..., label, :]  # (T, k, decision)
    inside = counts[:, 1:] if counts.shape[1] == 2 else counts
    sides = np.stack([inside, counts.sum(1, keepdims=True) - inside])  # (2, T, m, decision)
    return sides[..., 1], sides.sum(-1)


def comparisons(
    num_groups: int, group_names: Sequence[str] | None, notion: str
) -> list[tuple[str, int | None, int]]:
    """List what a notion compares: a name, the label, and the place in ``m`` of `round_gaps`."""
    if notion not in NOTIONS:
        raise FFMLError(f"notion must be one of {', '.join(NOTIONS)}, got '{notion}'")
    names = [str(code) for code in range(num_groups)] if group_names is None else list(group_names)
    if len(names) != num_groups:
        raise FFMLError(f"group_names must name all {num_groups} groups, got {names}")
    compared = names[1:] if num_groups == 2 else names
    return [
        (name if label is None else f"{name} among label {label}", label, place)
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
) -> list[GapStatistics]:
    """Return the typical and the long-run gap of every comparison, with intervals.

    Intervals resample rounds (of more than 250, blocks of neighbours), and are never narrower than
    so few rows allow: a handful of rounds can agree by chance. What cannot be measured in any round
    is NaN.

    Args:
        tables: ``(T, k, 2, 2)`` counts of T rounds.
        group_names: of the k groups.
        notion: one of `NOTIONS`: demographic-parity, equal-opportunity or equalized-odds.
        level: of the intervals.

    >>> round_ = np.array([[[3000, 1000], [1000, 1000]], [[2000, 1000], [500, 1500]]])
    >>> (found,) = gap_statistics(np.stack([round_, round_[::-1]]), ["F", "M"])
    >>> found.comparison, round(found.typical, 2), round(abs(found.long_run), 2), found.rounds
    ('M', 0.17, 0.0, 2)
    """
    if not 0 < level < 1:
        raise FFMLError(f"level must lie between 0 and 1, got {level}: use 0.95 for 95 %")
    found = []
    for name, label, place in comparisons(tables.shape[1], group_names, notion):
        gaps = round_gaps(tables, label)
        chance = _chance(tables, gaps.rows, label)
        one = RoundGaps(*(part[:, place] for part in gaps))
        found.append(_statistics(name, one, chance[:, place], level))
    return found


def largest_gap(found: Sequence[GapStatistics]) -> GapStatistics:
    """Return the comparison with the largest typical gap (the long-run one decides a tie)."""
    if not found:
        raise FFMLError("largest_gap needs at least one comparison")
    sizes = [np.nan_to_num([s.typical, abs(s.long_run)], nan=-1.0).tolist() for s in found]
    return found[max(range(len(found)), key=sizes.__getitem__)]


def resampled_sums(values: np.ndarray) -> np.ndarray:
    """Draw rounds with replacement, and add their values up: ``(T, q)`` -> ``(draws, q)``.

    Of more than `MOST_BLOCKS` rounds, neighbours are drawn together.
    """
    starts = np.linspace(0, len(values), min(len(values), MOST_BLOCKS), endpoint=False).astype(int)
    return _draws(len(starts)) @ np.add.reduceat(values, starts)


@lru_cache(maxsize=4)  # all rounds and the last third, as a rule
def _draws(rounds: int) -> np.ndarray:
    """Draw rounds with replacement: how often each is drawn, ``(draws, rounds)``."""
    shares = np.full(rounds, 1 / rounds)
    return np.random.default_rng(_SEED).multinomial(rounds, shares, size=NUM_DRAWS).astype(float)


def _chance(tables: np.ndarray, rows: np.ndarray, label: int | None) -> np.ndarray:
    """Return the variance of each gap if all rounds shared one rate: ``p(1-p)/e``, ``(T, m)``.

    The rate of a round would not do: where nobody is selected among few rows, it knows no chance.
    """
    counts = (tables if label is None else tables[..., label : label + 1, :]).sum((0, 1, 2))
    rate = divide(counts[1], counts.sum())
    return divide(np.full_like(rows, rate * (1 - rate)), rows)


def _statistics(name: str, gaps: RoundGaps, chance: np.ndarray, level: float) -> GapStatistics:
    squared, squares = _mean_and_interval(gaps.square, typical_weights(gaps.rows), level)
    signed, signs = _mean_and_interval(gaps.gap, long_run_weights(gaps.rows), level)
    z = NormalDist().inv_cdf((1 + level) / 2)
    least = _square_bounds(squared, gaps, chance, z)
    # Squares below 0 show less than chance, as decisions do whose prices were found on the very
    # people who are judged. They do not show that there is no gap.
    most = _square_bounds(np.maximum(squared, 0.0), gaps, chance, z)
    variance = _variance_of_mean(chance, gaps.gap, long_run_weights(gaps.rows))
    return GapStatistics(
        comparison=name,
        typical=float(_root(squared)),
        typical_low=float(_root(np.minimum(squares[0], least[0]))),
        typical_high=float(_root(np.maximum(squares[1], most[1]))),
        long_run=float(signed),
        long_run_low=float(np.minimum(signs[0], signed - z * np.sqrt(variance))),
        long_run_high=float(np.maximum(signs[1], signed + z * np.sqrt(variance))),
        rounds=int(np.isfinite(gaps.square).sum()),
    )


def _square_bounds(
    mean: np.ndarray, gaps: RoundGaps, chance: np.ndarray, z: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return which squared gaps x can show such a mean, by chance within rounds alone.

    A round's estimate varies by 4xV + 2V² with V its chance, so the bounds solve
    ``(x - mean)² = z² (4x ΣV + 2 ΣV²)``, the sums weighted as the mean is.
    """
    weights = typical_weights(gaps.rows)
    slope = 4 * z**2 * _variance_of_mean(chance, gaps.square, weights)
    offset = 2 * z**2 * _variance_of_mean(chance**2, gaps.square, weights)
    middle = mean + slope / 2
    width = _root(slope * (mean + slope / 4) + offset)
    return middle - width, middle + width


def _variance_of_mean(variances: np.ndarray, values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    known = np.isfinite(values)
    shares = divide(weights[known], np.full(known.sum(), weights[known].sum()))
    return (variances[known] * shares**2).sum() if known.any() else np.array(np.nan)


def _root(squares: np.ndarray) -> np.ndarray:
    return np.sqrt(np.maximum(squares, 0))


def _mean_and_interval(
    values: np.ndarray, weights: np.ndarray, level: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return the weighted mean over the rounds with a value, and its interval by resampling."""
    known = np.isfinite(values)
    values, weights = values[known], weights[known]
    if not len(values):
        return np.array(np.nan), np.full(2, np.nan)
    mean = np.array((values @ weights) / weights.sum())
    drawn, totals = resampled_sums(np.stack([values * weights, weights], axis=1)).T
    draws = drawn / totals
    return mean, np.quantile(draws, ((1 - level) / 2, (1 + level) / 2))
