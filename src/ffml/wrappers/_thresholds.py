"""Who is decided positively: the policy, and the threshold that follows from it."""

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


class LabelRates(NamedTuple):
    """What is known of labels where people are to be decided about."""

    task: float  # share of favourable labels of the task, by its labelled rows and earlier tasks
    people: float  # expected share among the people at hand: the mean of their probabilities
    weight: float = 1.0  # what a missed positive costs the method, in false alarms


def threshold_of(policy: str) -> Callable[[LabelRates], Threshold]:
    """Read a policy; return a function of what is known of labels.

    Args:
        policy: "labels" (as many positive decisions as favourable labels are expected),
            "approve=0.2" (the 20 % with the highest scores, as nearly as people with equal scores
            allow), "cost=5" (to refuse somebody wrongly costs 5 times what it costs to approve
            wrongly), "accuracy" (all errors count the same), "balanced" (both labels' errors count
            the same, however rare one of them is), or a probability such as "0.3".

    >>> threshold_of("balanced")(LabelRates(0.1, 0.1))(np.array([0.2]), np.ones(1))
    0.1
    >>> threshold_of("cost=4")(LabelRates(0.1, 0.1))(np.array([0.2]), np.ones(1))
    0.2
    """
    name, _, number = str(policy).partition("=")
    if policy == "labels":
        return lambda rates: Threshold(rate=rates.people)
    if policy == "balanced":
        return lambda rates: Threshold(rates.task / (rates.task + rates.weight * (1 - rates.task)))
    if policy == "accuracy":
        return lambda rates: Threshold(1 / (1 + rates.weight))
    if name == "cost":
        cost = _number(policy, number, 0, np.inf)
        return lambda rates: Threshold(1 / (1 + cost))
    if name == "approve":
        share = _number(policy, number, 0, 1)
        return lambda rates: Threshold(rate=share)
    fixed = _number(policy, str(policy), 0, 1)
    return lambda rates: Threshold(fixed)


def _highest(scores: np.ndarray, people: np.ndarray, share: float) -> float:
    """Return a threshold that this share of the people exceed, or as near to it as ties allow.

    Where one more and one less are equally near, as for people of whom nothing is known yet, the
    larger share is taken: rounding decides about nobody.
    """
    if not people.sum() > 0:
        return 0.5
    values, places = np.unique(np.round(scores, DECIMALS), return_inverse=True)
    at_value = np.bincount(places, people) / people.sum()
    above = np.append(1.0, 1 - np.cumsum(at_value))  # share of people from each value on
    cut = int(np.argmin(np.abs(above - share).round(DECIMALS)))
    step = 10.0**-DECIMALS
    bounds = np.concatenate([values[:1] - step, values, values[-1:] + step])
    return float((bounds[cut] + bounds[cut + 1]) / 2)


def _number(policy: str, text: str, low: float, high: float) -> float:
    try:
        number = float(text)
    except ValueError:
        number = np.nan
    if not (np.isfinite(number) and low < number < high):
        raise FFMLError(
            f"unknown policy '{policy}'; use labels, approve=0.8, cost=5, accuracy, balanced, or a "
            "probability between 0 and 1"
        )
    return number
