"""Metrics: functions from counts ``(..., k, labels, 2)`` to numbers.

Labels are 0, 1 and, where the counts have a third, not known (`UNKNOWN`). Selection rates are of
everybody; what needs labels is of those who have one.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from ffml.base import Array, FFMLError

Z = 1.96
LABEL_WORDS = ("unfavourable label", "favourable label")
UNKNOWN = 2  # where counts keep people whose label is not known


def contingency_table(
    labels: Array, decisions: Array, groups: Array, num_groups: int
) -> np.ndarray:
    """Count rows by group, label and decision: ``(num_groups, 3, 2)`` integers.

    A label of -1 is not known (yet); such rows are counted behind those of 0 and 1.

    >>> contingency_table([0, 1, -1], [0, 1, 0], [0, 0, 1], num_groups=2).tolist()
    [[[1, 0], [0, 1], [0, 0]], [[0, 0], [0, 0], [1, 0]]]
    """
    labels, decisions, groups = np.asarray(labels), np.asarray(decisions), np.asarray(groups)
    if not (labels.ndim == 1 and labels.shape == decisions.shape == groups.shape):
        raise FFMLError(
            "labels, decisions and groups must be flat and of one length, got shapes "
            f"{labels.shape}, {decisions.shape}, {groups.shape}: pass one value per row"
        )
    for name, codes, allowed, remedy in (
        ("labels", labels, range(-1, 2), "code the favourable outcome as 1, the other as 0"),
        ("decisions", decisions, range(2), "threshold the logits with logits > 0"),
        ("groups", groups, range(num_groups), "use the codes of SensitiveColumn.groups"),
    ):
        known = np.isin(codes, list(allowed))
        if not known.all():
            ends = f"{allowed[0]}..{allowed[-1]}" if len(allowed) else "of no group"
            raise FFMLError(f"{name} must be codes {ends}, got {codes[~known][0]}: {remedy}")
    cells = (groups.astype(int) * 3 + labels.astype(int) % 3) * 2 + decisions.astype(int)
    return np.bincount(cells, minlength=6 * num_groups).reshape(num_groups, 3, 2)


def labelled(table: np.ndarray) -> np.ndarray:
    """Leave out the people whose label is not known: ``(..., k, 2, 2)``.

    >>> labelled(contingency_table([0, 1, -1], [0, 1, 0], [0, 0, 1], 2)).tolist()
    [[[1, 0], [0, 1]], [[0, 0], [0, 0]]]
    """
    return table[..., :UNKNOWN, :]


def selection_rates(table: np.ndarray) -> np.ndarray:
    """P(decision = 1 | group), ``(..., k)``; NaN for a group without rows.

    >>> selection_rates(np.array([[[30, 10], [10, 10]], [[20, 10], [5, 15]]])).round(3).tolist()
    [0.333, 0.5]
    """
    return divide(table[..., 1].sum(-1), table.sum((-2, -1)))


def true_positive_rates(table: np.ndarray) -> np.ndarray:
    """P(decision = 1 | label = 1, group), ``(..., k)``; NaN for an empty cell.

    >>> true_positive_rates(np.array([[[30, 10], [10, 10]], [[20, 10], [5, 15]]])).tolist()
    [0.5, 0.75]
    """
    return divide(table[..., 1, 1], table[..., 1, :].sum(-1))


def false_positive_rates(table: np.ndarray) -> np.ndarray:
    """P(decision = 1 | label = 0, group), ``(..., k)``; NaN for an empty cell.

    >>> false_positive_rates(np.array([[[30, 10], [10, 10]], [[20, 20], [5, 15]]])).tolist()
    [0.25, 0.5]
    """
    return divide(table[..., 0, 1], table[..., 0, :].sum(-1))


def demographic_parity_ratio(table: np.ndarray) -> np.ndarray:
    """Return the lowest selection rate over the highest: min(r, 1/r) for two groups.

    >>> table = np.array([[[30, 10], [10, 10]], [[20, 10], [5, 15]]])  # rates of 1/3 and 1/2
    >>> round(float(demographic_parity_ratio(table)), 3)
    0.667
    """
    low, high = _extremes(selection_rates(table), has_rows(table))
    return np.where(_comparable(table), divide(low, high), np.nan)[()]


def equalized_odds_ratios(table: np.ndarray) -> np.ndarray:
    """Return the same ratio among the rows with label 0 and with label 1, ``(..., 2)``.

    >>> table = np.array([[[30, 10], [10, 10]], [[20, 20], [5, 15]]])
    >>> equalized_odds_ratios(table).round(3).tolist(), equalized_odds_ratio(table).round(3).item()
    ([0.5, 0.667], 0.5)
    """
    table = labelled(table)
    rates = divide(table[..., 1], table.sum(-1))  # (..., k, label)
    low, high = _extremes(rates.swapaxes(-1, -2), has_rows(table)[..., None, :])
    return np.where(_comparable(table)[..., None], divide(low, high), np.nan)


def equalized_odds_ratio(table: np.ndarray) -> np.ndarray:
    """Return the smaller of the two equalized-odds ratios; NaN if either is undefined."""
    return equalized_odds_ratios(table).min(-1)


def discrimination(table: np.ndarray) -> np.ndarray:
    """Return the highest selection rate minus the lowest.

    >>> table = np.array([[[30, 10], [10, 10]], [[20, 10], [5, 15]]])
    >>> round(float(discrimination(table)), 3)
    0.167
    """
    low, high = _extremes(selection_rates(table), has_rows(table))
    return np.where(_comparable(table), high - low, np.nan)[()]


def accuracy(table: np.ndarray) -> np.ndarray:
    """Return the share of the rows with a label whose decision is their label.

    >>> table = np.array([[[30, 10], [10, 10]], [[20, 10], [5, 15]]])
    >>> round(float(accuracy(table)), 3), round(float(balanced_accuracy(table)), 3)
    (0.682, 0.67)
    """
    table = labelled(table)
    return divide((table[..., 0, 0] + table[..., 1, 1]).sum(-1), table.sum((-3, -2, -1)))


def balanced_accuracy(table: np.ndarray) -> np.ndarray:
    """Return the mean over both labels of the share decided correctly; NaN if a label is absent."""
    pooled = labelled(table).sum(-3)
    return divide(pooled.diagonal(axis1=-2, axis2=-1), pooled.sum(-1)).mean(-1)


def collapsed(table: np.ndarray) -> np.ndarray:
    """Tell whether there are rows and all of them got the same decision."""
    decisions = table.sum((-3, -2))
    return (decisions > 0).sum(-1) == 1


METRICS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "dp": demographic_parity_ratio,
    "eo": equalized_odds_ratio,
    "eo_negatives": lambda table: equalized_odds_ratios(table)[..., 0],
    "eo_positives": lambda table: equalized_odds_ratios(table)[..., 1],
    "disc": discrimination,
    "accuracy": accuracy,
    "balanced_accuracy": balanced_accuracy,
}


def wilson(chosen: np.ndarray, people: np.ndarray, z: float = Z) -> tuple[np.ndarray, np.ndarray]:
    """Return Wilson's interval of a rate, of 95 % unless ``z`` says otherwise; NaN of nobody.

    >>> low, high = wilson(np.array([50]), np.array([100]))
    >>> low.round(2).tolist(), high.round(2).tolist()
    ([0.4], [0.6])
    """
    people = np.where(people > 0, people, np.nan)
    rate, weight = chosen / people, z**2 / people
    middle = (rate + weight / 2) / (1 + weight)
    reach = np.sqrt(rate * (1 - rate) * weight + weight**2 / 4) / (1 + weight)
    return middle - reach, middle + reach


def exact_ends(
    chosen: np.ndarray, people: np.ndarray, tail: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return the ends of a rate by the binomial distribution itself (Clopper and Pearson 1934).

    Args:
        chosen: how many were selected.
        people: of how many.
        tail: largest chance that the rate lies beyond an end, of either.

    >>> low, high = exact_ends(np.array([0, 10]), np.array([20, 20]), 0.025)
    >>> low.round(3).tolist(), high.round(3).tolist()
    ([0.0, 0.272], [0.168, 0.728])
    """
    from scipy import special  # here, so that listings start soon

    others = people - chosen
    low = special.betaincinv(np.maximum(chosen, 1), others + 1, tail)
    high = special.betaincinv(chosen + 1, np.maximum(others, 1), 1 - tail)
    return np.where(chosen > 0, low, 0.0), np.where(others > 0, high, 1.0)


def divide(numerator: Array, denominator: Array) -> Any:
    """Divide, with NaN (and no warning) where the denominator is 0 or NaN."""
    undefined = np.full_like(denominator, np.nan, dtype=float)
    return np.divide(numerator, denominator, out=undefined, where=denominator > 0)[()]


def has_rows(table: np.ndarray) -> np.ndarray:
    """Tell which groups have people."""
    return table.sum((-2, -1)) > 0


def _comparable(table: np.ndarray) -> np.ndarray:
    return (has_rows(table).sum(-1) >= 2) & ~collapsed(table)


def _extremes(rates: np.ndarray, counted: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Lowest and highest rate of the counted groups; NaN if one of theirs is."""
    low = rates.min(-1, where=counted, initial=1.0)
    return low, rates.max(-1, where=counted, initial=0.0)


def difference_ends(
    value: np.ndarray, low: np.ndarray, high: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the interval of a difference from the intervals of both numbers (Newcombe 1998).

    >>> chosen, people = np.array([56, 48]), np.array([70, 80])  # his table II, method 10
    >>> [round(float(end), 4) for end in difference_ends(chosen / people, *wilson(chosen, people))]
    [0.0524, 0.3339]
    """
    below, above, apart = value - low, high - value, value[0] - value[1]
    return apart - np.hypot(below[0], above[1]), apart + np.hypot(above[0], below[1])
