"""One-hot features back to one number a category, for boosting.

A column of 40 categories is 40 features of zeros and ones. Trees would look at each by itself,
which takes time and splits. So they get one number instead: the rank of the person's category by
its rate of label 1.

Reference: Fisher, "On Grouping for Maximum Homogeneity", 1958, for the order of categories.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

LEAST_FEATURES = 3  # of a category that is guessed; two may exclude each other by chance
PRIOR_ROWS = 10.0  # of the usual rate of labels, as many as each category is given


class Codes(NamedTuple):
    """Which features are categories, and the place of each among its like."""

    feature: np.ndarray  # (k,) features of zeros and ones
    column: np.ndarray  # (k,) which column of categories it came from
    place: np.ndarray  # (k,) what a one in the feature adds; a person with none of them has 0

    @property
    def width(self) -> int:
        """The number of columns of categories."""
        return int(self.column.max(initial=-1)) + 1

    def numbers(self, x: np.ndarray) -> np.ndarray:
        """Return the place of each person's category: ``(n, width)``."""
        numbers = np.empty((len(x), self.width), order="F")
        for i in range(self.width):
            mine = self.column == i
            has, place = x[:, _run(self.feature[mine])], self.place[mine].astype(x.dtype)
            numbers[:, i] = np.einsum("ij,j->i", has, place)  # a matrix product would take threads
        return numbers


def no_codes() -> Codes:
    """There are no categories."""
    return Codes(np.zeros(0, np.int32), np.zeros(0, np.int32), np.zeros(0))


def codes_of(
    x: np.ndarray, y: np.ndarray, weight: np.ndarray, categories: Sequence[Sequence[int]]
) -> Codes:
    """Rank the categories of each column by their rate of label 1.

    Args:
        x: ``(n, features)``, of which those of categories are zeros and ones.
        y: ``(n,)`` zeros and ones.
        weight: ``(n,)``.
        categories: which features came from one column of categories, for each such column.
    """
    feature = [i for members in categories for i in members]
    column = np.repeat(np.arange(len(categories)), [len(members) for members in categories])
    places = [np.zeros(0), *(_places(x[:, members], y, weight) for members in categories)]
    return Codes(np.array(feature, np.int32), column.astype(np.int32), np.concatenate(places))


def bundles(x: np.ndarray) -> list[list[int]]:
    """Guess which features are categories: neighbouring zeros and ones of which nobody has two.

    >>> bundles(np.array([[1, 0, 0, 1, 0.5], [0, 1, 0, 1, 1], [0, 0, 1, 0, 0]]))
    [[0, 1, 2]]
    """
    runs: list[list[int]] = []
    ones = np.zeros(len(x))
    members: list[int] = []
    for feature in np.flatnonzero(((x == 0) | (x == 1)).all(0)):
        together = ones + x[:, feature]
        if not members or feature != members[-1] + 1 or together.max(initial=0) > 1:
            members, together = [], x[:, feature]
            runs.append(members)
        members.append(int(feature))
        ones = together
    return [members for members in runs if len(members) >= LEAST_FEATURES]


def _places(has: np.ndarray, y: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Rank categories by their rate of label 1, relative to having none of them.

    A category's rate is that of its rows and of `PRIOR_ROWS` more with the rate of everybody, so
    that rare ones are near the middle.
    """
    has = np.concatenate([1 - has.sum(1, keepdims=True), has], axis=1)
    prior = PRIOR_ROWS * np.mean(weight)
    positive = has.T @ (weight * y) + prior * np.average(y, weights=weight)
    rates = positive / (has.T @ weight + prior)
    place = np.argsort(np.argsort(rates, kind="stable"), kind="stable")
    return (place[1:] - place[0]).astype(float)


def _run(index: np.ndarray) -> np.ndarray | slice:
    """Turn neighbours into a slice, which is not copied."""
    if len(index) and (np.diff(index) == 1).all():
        return slice(int(index[0]), int(index[-1]) + 1)
    return index
