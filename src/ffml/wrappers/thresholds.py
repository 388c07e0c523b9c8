"""From which probability on a decision is positive: by a goal, by costs, or by a selection rate."""

from collections.abc import Callable

import numpy as np

from ffml.base import FFMLError

Threshold = Callable[[np.ndarray, np.ndarray], float]  # scores, weights -> τ


def threshold_of(goal: str) -> Callable[[float, float], Threshold]:
    """Read a goal; return a function of the label rate and the positive weight.

    Args:
        goal: "balanced" (both labels' errors count the same, however rare one of them is),
            "accuracy" (all errors count the same), "cost=5" (a missed positive costs as much as 5
            false alarms), "rate=0.2" (the 20 % with the highest scores), or a probability such as
            "0.3".

    >>> threshold_of("balanced")(0.1, 1.0)(np.array([0.2]), np.ones(1))
    0.1
    >>> threshold_of("cost=4")(0.1, 1.0)(np.array([0.2]), np.ones(1))
    0.2
    """
    name, _, number = str(goal).partition("=")
    if name == "balanced" and not number:
        return lambda rate, weight: _fixed(rate / (rate + weight * (1 - rate)))
    if name == "accuracy" and not number:
        return lambda rate, weight: _fixed(1 / (1 + weight))
    if name == "cost":
        cost = _number(goal, number, 0, np.inf)
        return lambda rate, weight: _fixed(1 / (1 + cost * weight))
    if name == "rate":
        share = _number(goal, number, 0, 1)
        return lambda rate, weight: lambda scores, people: _highest(scores, people, share)
    fixed = _number(goal, str(goal), 0, 1)
    return lambda rate, weight: _fixed(fixed)


def _fixed(threshold: float) -> Threshold:
    return lambda scores, people: float(threshold)


def _highest(scores: np.ndarray, people: np.ndarray, share: float) -> float:
    """Return the score that this share of the people exceed."""
    if not len(scores):
        return 0.5
    order = np.argsort(-scores, kind="stable")
    before = np.cumsum(people[order]) - people[order]
    total = people.sum()
    kept = order[before < share * total - 1e-9 * total]
    others = np.delete(order, np.arange(len(kept)))
    if not len(kept):
        return float(scores.max())
    if not len(others):
        return float(scores.min() - 1e-6)
    return float((scores[kept].min() + scores[others].max()) / 2)


def _number(goal: str, text: str, low: float, high: float) -> float:
    try:
        number = float(text)
    except ValueError:
        number = np.nan
    if not (np.isfinite(number) and low < number < high):
        raise FFMLError(
            f"unknown threshold '{goal}'; use balanced, accuracy, cost=5, rate=0.2, or a "
            "probability between 0 and 1"
        )
    return number
