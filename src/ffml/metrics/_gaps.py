"""Gaps between any two groups in each round, and who is compared with whom.

A gap of one round is ``G = rate of a group - rate of another`` among the people decided about. On
few rows it is large by chance alone, and its square is too large by ``Σ p(1-p)/n`` of the two
groups. What remains without that is right on average at any size, so that rounds can be averaged.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ffml.base import FFMLError
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
    """Return positive decisions and rows of both groups of each pair, ``(2, T, m)`` each.

    >>> tables = np.array([[[[30, 10], [10, 10]], [[20, 10], [5, 15]]]])
    >>> [part.ravel().tolist() for part in side_counts(tables)]
    [[25, 20], [50, 60]]
    """
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
