"""Features as the numbers that trees look at: each category is one, and all are near 0.

A column of 40 categories is 40 features of zeros and ones, of which a person has one at most.
Trees would look at each of them by itself, which takes time and splits. Such features are replaced
by one: the place of the person's category among all, by how often label 1 comes with it.

Trees only compare numbers, in single precision. So numbers are taken relative to the middle of
their feature first: an income keeps its digits whatever was added to it.

Reference: Fisher, "On Grouping for Maximum Homogeneity", 1958, for the order of categories.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

LEAST_FEATURES = 3  # of a category that is guessed; two may exclude each other by chance
MOST_NUMBERS = 500  # features in no category that boosting sees; its trees have 560 splits at most
PRIOR_ROWS = 10.0  # of the usual rate of labels, as many as each category is given


class Columns(NamedTuple):
    """What trees look at: numbers, and behind them a place for each column of categories."""

    feature: np.ndarray  # (numbers,) which feature it is
    centre: np.ndarray  # (numbers,) its middle
    spread: np.ndarray  # (numbers,) the largest distance from there
    member: np.ndarray  # (k,) features of categories
    category: np.ndarray  # (k,) which column of categories a feature belongs to
    place: np.ndarray  # (k,) what a one in the feature adds; a person with none of them has 0

    @property
    def width(self) -> int:
        """How many columns there are."""
        return len(self.feature) + int(self.category.max(initial=-1)) + 1

    def of(self, x: np.ndarray) -> np.ndarray:
        """Return what trees look at: ``(n, width)``."""
        columns = np.zeros((len(x), self.width), np.float32)
        with np.errstate(over="ignore"):  # infinity is above all thresholds too
            numbers = (x[:, _run(self.feature)] - self.centre) / self.spread
            columns[:, : len(self.feature)] = numbers
        for i in range(len(self.feature), self.width):
            mine = self.category == i - len(self.feature)
            has, place = x[:, _run(self.member[mine])], self.place[mine].astype(x.dtype)
            columns[:, i] = np.einsum("ij,j->i", has, place)  # a matrix product would take threads
        return columns


def no_columns() -> Columns:
    """Look at nothing."""
    index, numbers = np.zeros(0, np.int32), np.zeros(0)
    return Columns(index, numbers, numbers, index, index, numbers)


def columns_of(
    x: np.ndarray,
    y: np.ndarray,
    weight: np.ndarray,
    categories: Sequence[Sequence[int]],
) -> Columns:
    """Choose what the trees of a target look at.

    Args:
        x: ``(n, features)``, of which those of categories are zeros and ones.
        y: ``(n,)`` zeros and ones, which the trees are to tell.
        weight: ``(n,)``.
        categories: which features came from one column of categories, for each such column.
    """
    member = np.array([i for members in categories for i in members], np.int32)
    category = np.repeat(np.arange(len(categories), dtype=np.int32), [*map(len, categories)])
    places = [np.zeros(0), *(_places(x[:, members], y, weight) for members in categories)]
    others = np.setdiff1d(np.arange(x.shape[1], dtype=np.int32), member)
    feature = others[most_telling(x[:, others], y, weight, MOST_NUMBERS)]
    numbers = np.asarray(x[:, feature], float)
    centre = np.nan_to_num(np.partition(numbers, len(x) // 2, axis=0)[len(x) // 2])
    spread = np.fmax.reduce(np.abs(numbers - centre), initial=0.0)
    spread[spread == 0] = 1.0
    return Columns(feature, centre, spread, member, category, np.concatenate(places))


def bundles(x: np.ndarray) -> list[list[int]]:
    """Guess which features are categories: neighbouring zeros and ones of which nobody has two.

    >>> bundles(np.array([[1, 0, 0, 1, 0.5], [0, 1, 0, 1, 1], [0, 0, 1, 0, 0]]))
    [[0, 1, 2]]
    """
    found: list[list[int]] = []
    ones = np.zeros(len(x))
    members: list[int] = []
    for feature in np.flatnonzero(((x == 0) | (x == 1)).all(0)):
        together = ones + x[:, feature]
        if not members or feature != members[-1] + 1 or together.max(initial=0) > 1:
            members, together = [], x[:, feature]
            found.append(members)
        members.append(int(feature))
        ones = together
    return [members for members in found if len(members) >= LEAST_FEATURES]


def most_telling(x: np.ndarray, y: np.ndarray, weight: np.ndarray, most: int) -> np.ndarray:
    """Return the features that are correlated most with the label, in their order.

    >>> x = np.array([[0.0, 1.0, 5.0], [1.0, 1.0, 3.0], [1.0, 0.0, 0.0], [2.0, 0.0, 0.0]])
    >>> most_telling(x, np.array([0.0, 0.0, 1.0, 1.0]), np.ones(4), most=2).tolist()
    [1, 2]
    """
    if x.shape[1] <= most:
        return np.arange(x.shape[1])
    share = weight / weight.sum()
    mean = share @ x
    covariance = (share * (y - share @ y)) @ x
    variance = share @ np.square(x) - mean**2
    told = np.abs(covariance) / np.sqrt(np.maximum(variance, 1e-12))
    return np.sort(np.argsort(-told, kind="stable")[:most])


def _places(has: np.ndarray, y: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Rank the categories of a column by their rate of label 1, relative to having none of them.

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
