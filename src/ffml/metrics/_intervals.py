"""Intervals of means over tasks: with few tasks, many small ones, and neighbours that are alike.

A mean over tasks has two sources of error. People of a task are few: that is *chance*, and known.
Tasks differ, and the next ones will too: that shows between tasks, if there are enough of them. An
interval takes the larger of the two, with Student's t for the second.

Neighbours that are alike are worth fewer tasks: ``n = tasks / (1 + 2r/(1 - ρ))`` with r the
correlation of a task's gap with the one before, and ρ the same without chance, which hides it (at
most twice r). Without chance that is ``tasks · (1 - r)/(1 + r)``. On few tasks r comes out too
small, by about ``(1 + 3r)/tasks``; twice that is added (``benchmarks/verdicts.py``).
"""

from typing import NamedTuple

import numpy as np

MIN_TASKS = 5  # as many independent tasks as an interval needs
_LARGEST_CORRELATION = 0.98


class Spread(NamedTuple):
    """How far a mean over tasks may be off because tasks differ."""

    error: float  # standard error
    tasks: float  # as many independent tasks of equal weight as it rests on


def spread(influence: np.ndarray, share: np.ndarray, chance: float = 0.0) -> Spread:
    """Estimate the error of a mean from what each task contributes to it.

    Args:
        influence: ``(T,)`` what a task moves the mean by; they add up to 0.
        share: ``(T,)`` its weight in the mean; they add up to 1.
        chance: variance of the mean that so few people make.

    >>> gaps = np.array([0.1, -0.1] * 20)
    >>> found = spread(gaps / 40, np.full(40, 1 / 40))
    >>> round(found.error, 3), round(found.tasks)
    (0.016, 40)
    """
    present = share > 0
    influence, share = influence[present], share[present]
    largest = float((share**2).sum())
    if largest >= 1 or not len(share):  # one task, or none
        return Spread(np.nan, float(len(share)))
    tasks, total = 1 / largest, float((influence**2).sum())
    r = float(influence[1:] @ influence[:-1]) / total if total > 0 else 0.0
    r = max(r + 2 * (1 + 3 * max(r, 0.0)) / tasks, 0.0)
    hidden = total / max(total - chance, total / 2) if total > 0 else 1.0
    independent = tasks / (1 + 2 * r / (1 - min(r * hidden, _LARGEST_CORRELATION)))
    if independent <= 1:
        return Spread(np.nan, independent)
    variance = float((influence**2 / (1 - share)).sum()) * tasks / independent
    error = float(np.sqrt(variance * (1 - 1 / tasks) / (1 - 1 / independent)))
    return Spread(error, independent)


def half_width(
    influence: np.ndarray, share: np.ndarray, chance: float, tail: float, by_task: bool = True
) -> float:
    """Return how far an interval reaches to either side; NaN where too few tasks can tell.

    Args:
        influence: ``(T,)``, see `spread`.
        share: ``(T,)``.
        chance: variance of the mean that so few people make.
        tail: chance that the truth lies beyond one of the two ends.
        by_task: False: all rows are one population, and chance is all.
    """
    from scipy import stats

    by_chance = float(stats.norm.isf(tail) * np.sqrt(chance))
    if not by_task:
        return by_chance
    found = spread(influence, share, chance)
    if not found.tasks > MIN_TASKS - 1e-6:
        return np.nan
    return max(by_chance, float(stats.t.isf(tail, found.tasks - 1)) * found.error)


def square_bounds(mean: float, chance: float, tasks: float, tail: float) -> tuple[float, float]:
    """Return between which ends a mean squared gap lies, chance taken out.

    The mean of the raw squares, ``mean + chance``, spreads as χ² with as many degrees of freedom as
    there are independent tasks, or less where gaps have one sign. Squares that show less than
    chance do not show that there is no gap: prices may have been found on the very people judged.
    """
    from scipy import stats

    if not tasks > MIN_TASKS - 1e-6:
        return np.nan, np.nan
    low = (mean + chance) * tasks / stats.chi2.isf(tail, tasks) - chance
    high = (max(mean, 0.0) + chance) * tasks / stats.chi2.ppf(tail, tasks) - chance
    return float(min(low, mean)), float(high)
