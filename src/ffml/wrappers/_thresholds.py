"""From which probability on a decision is positive: by a goal, by costs, or by a selection rate."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ffml.base import FFMLError

DECIMALS = 6  # scores that differ by less are equal


class Threshold(NamedTuple):
    """A number, or the share of people who are to be above it."""

    value: float = 0.5
    rate: float | None = None

    def __call__(self, scores: np.ndarray, people: np.ndarray) -> float:
        """Return τ for people of these scores and weights."""
        return self.value if self.rate is None else _highest(scores, people, self.rate)


def threshold_of(goal: str) -> Callable[[float, float], Threshold]:
    """Read a goal; return a function of the label rate and the positive weight.

    The positive weight is what a missed positive costs, in false alarms. Goals that say so
    themselves do not look at it.

    Args:
        goal: "balanced" (both labels' errors count the same, however rare one of them is),
            "accuracy" (all errors count the same), "cost=5" (a missed positive costs as much as 5
            false alarms), "rate=0.2" (the 20 % with the highest scores, as nearly as people with
            equal scores allow), or a probability such as "0.3".

    >>> threshold_of("balanced")(0.1, 1.0)(np.array([0.2]), np.ones(1))
    0.1
    >>> threshold_of("cost=4")(0.1, 1.0)(np.array([0.2]), np.ones(1))
    0.2
    """
    name, _, number = str(goal).partition("=")
    if goal == "balanced":
        return lambda rate, weight: Threshold(rate / (rate + weight * (1 - rate)))
    if goal == "accuracy":
        return lambda rate, weight: Threshold(1 / (1 + weight))
    if name == "cost":
        cost = _number(goal, number, 0, np.inf)
        return lambda rate, weight: Threshold(1 / (1 + cost))
    if name == "rate":
        share = _number(goal, number, 0, 1)
        return lambda rate, weight: Threshold(rate=share)
    fixed = _number(goal, str(goal), 0, 1)
    return lambda rate, weight: Threshold(fixed)


def _highest(scores: np.ndarray, people: np.ndarray, share: float) -> float:
    """Return a threshold that this share of the people exceed, or as near to it as ties allow."""
    if not people.sum() > 0:
        return 0.5
    values, places = np.unique(np.round(scores, DECIMALS), return_inverse=True)
    at_value = np.bincount(places, people) / people.sum()
    above = np.append(1.0, 1 - np.cumsum(at_value))  # share of people from each value on
    cut = int(np.argmin(np.abs(above - share)))
    step = 10.0**-DECIMALS
    bounds = np.concatenate([values[:1] - step, values, values[-1:] + step])
    return float((bounds[cut] + bounds[cut + 1]) / 2)


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
