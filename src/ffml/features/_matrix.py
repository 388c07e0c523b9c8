"""What XGBoost is fitted to: the bin of each value.

XGBoost keeps numbers in single precision, and its own bins miss rare values. So we cut each feature
into bins at its own scale: an income keeps its digits whatever was added to it. Trees only ask on
which side of an edge somebody is.
"""

from threading import Lock
from typing import NamedTuple

import numpy as np

from ffml.features._coded import Codes

MOST_BINS = 255
MOST_NUMBERS = 500  # features in no category that boosting sees; its trees have 700 splits at most


class Matrix(NamedTuple):
    """The columns that a forest is fitted to."""

    source: np.ndarray  # (columns,) a feature, or -1 - column of categories
    edges: list[np.ndarray]  # of each column
    bins: np.ndarray  # (n, columns)

    def thresholds(self, column: np.ndarray, least: np.ndarray) -> np.ndarray:
        """Return the edges below these bins: people at or below them go left."""
        nodes = zip(column, np.ceil(least).astype(int), strict=True)
        return np.array([self.edges[i][bin - 1] for i, bin in nodes])


class Cut(NamedTuple):
    """A column in bins."""

    edges: np.ndarray  # where one bin ends and the next begins
    bins: np.ndarray  # (n,) how many edges a value is above


class Cuts:
    """Features in bins: each is cut once, however many forests are fitted to the same rows."""

    def __init__(self, x: np.ndarray) -> None:
        self._x = x
        self._cuts: dict[int, Cut] = {}
        self._lock = Lock()

    def of(self, feature: int) -> Cut:
        """Cut a feature, or take what another forest has cut."""
        with self._lock:
            if feature not in self._cuts:
                self._cuts[feature] = cut(self._x[:, feature])
            return self._cuts[feature]


def matrix_of(x: np.ndarray, y: np.ndarray, weight: np.ndarray, codes: Codes, cuts: Cuts) -> Matrix:
    """Put the features in no category side by side, and behind them the places of categories."""
    others = np.setdiff1d(np.arange(x.shape[1]), codes.feature)
    others = others[most_telling(x[:, others], y, weight, MOST_NUMBERS)]
    columns = [*map(cuts.of, others.tolist()), *map(cut, codes.numbers(x).T)]
    source = np.concatenate([others, -1 - np.arange(codes.width)])
    bins = np.stack([column.bins for column in columns], axis=1).astype(np.float32)
    return Matrix(source, [column.edges for column in columns], bins)


def cut(values: np.ndarray) -> Cut:
    """Cut a column into bins."""
    values = values.astype(float)
    edges = edges_of(values)
    return Cut(edges, np.searchsorted(edges, values))


def edges_of(values: np.ndarray) -> np.ndarray:
    """Cut values into at most `MOST_BINS` bins of as many rows each; what is missing is above all.

    >>> edges_of(np.array([3.0, 1.0, 2.0, 1.0])).tolist()
    [1.5, 2.5]
    """
    ordered = np.sort(values)  # those that are missing come last
    there = ordered[: np.searchsorted(ordered, np.nan)]
    high = np.unique(there)
    if len(high) > MOST_BINS:
        high = np.unique(there[np.arange(MOST_BINS) * len(there) // MOST_BINS])
    high = high[high > there[:1]]
    low = there[np.searchsorted(there, high) - 1]
    edges = np.minimum(low / 2 + high / 2, np.nextafter(high, low))
    return edges if len(there) == len(values) else np.append(edges, 1e300)


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
    strength = np.abs(covariance) / np.sqrt(np.maximum(variance, 1e-12))
    return np.sort(np.argsort(-strength, kind="stable")[:most])
