"""Decisions by a threshold for each group, of people whose groups are known."""

from collections.abc import Sequence

import numpy as np

from ffml.base import Ratio
from ffml.wrappers._group_prices import Groups, Pool, Pricing


def decide_by_group(
    score: np.ndarray, groups: Sequence[np.ndarray], bound: float | Ratio, rate: float
) -> np.ndarray:
    """Return the decisions of the highest score whose rates keep a bound.

    Args:
        score: ``(n,)`` probabilities.
        groups: for each column the code of everybody's group, -1 where it is not compared.
        bound: the largest difference between any two groups' rates, or their least ratio.
        rate: share of positive decisions.

    >>> score, sex = np.array([0.9, 0.8, 0.3, 0.2]), np.array([0, 0, 1, 1])
    >>> decide_by_group(score, [sex], 0.0, 0.5)
    array([1, 0, 1, 0])
    """
    width, share = (0.0, 1 - bound.least) if isinstance(bound, Ratio) else (bound, 0.0)
    members = (codes[:, None] == np.unique(codes[codes >= 0]) for codes in groups)
    alike = [Groups(chance.astype(float), width, share) for chance in members if chance.shape[1]]
    pricing = Pricing(Pool(score, np.ones(len(score)), rate=rate), alike)
    offset = np.zeros(pricing.effect.shape[1])
    prices = pricing.settled(pricing.best(offset), offset)
    return (pricing.margin(prices) > 0).astype(int)
