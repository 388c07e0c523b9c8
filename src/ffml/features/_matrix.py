"""What XGBoost is given to look at, and what its thresholds mean.

XGBoost knows numbers in single precision. So each is taken relative to the middle of its feature,
and in units of the largest distance from there: an income keeps its digits whatever was added to
it. Trees only ask on which side of a threshold somebody is, so none of this has to be kept.
"""

from typing import NamedTuple

import numpy as np

from ffml.features._coded import Codes

MOST_NUMBERS = 500  # features in no category that boosting sees; its trees have 560 splits at most
MISSING = 2.0  # above all that there is


class Matrix(NamedTuple):
    """The columns that a forest is fitted to."""

    source: np.ndarray  # (columns,) a feature, or -1 - column of categories
    ordered: np.ndarray  # (columns, n) values from small to large, as they are
    seen: np.ndarray  # (n, columns) in single precision

    def thresholds(self, column: np.ndarray, between: np.ndarray) -> np.ndarray:
        """Return values halfway between the people on both sides of thresholds on ``seen``.

        Args:
            column: ``(nodes,)``.
            between: ``(nodes,)`` people below it go left.
        """
        found = np.zeros(len(column))
        for i in np.unique(column):
            values, mine = self.ordered[i], column == i
            at = np.searchsorted(_seen(values, values), between[mine]).clip(1, len(values) - 1)
            low, high = values[at - 1], np.nan_to_num(values[at], nan=1e300)
            found[mine] = np.minimum(low / 2 + high / 2, np.nextafter(high, low))
        return found


def matrix_of(x: np.ndarray, y: np.ndarray, weight: np.ndarray, codes: Codes) -> Matrix:
    """Put the features in no category side by side, and behind them the places of categories."""
    others = np.setdiff1d(np.arange(x.shape[1]), codes.feature)
    others = others[most_telling(x[:, others], y, weight, MOST_NUMBERS)]
    columns = np.concatenate([x[:, others].T, codes.numbers(x).T]).astype(float)
    ordered = np.sort(columns, axis=1)  # those that are missing come last
    seen = [_seen(values, column) for values, column in zip(ordered, columns, strict=True)]
    source = np.concatenate([others, -1 - np.arange(codes.width)])
    return Matrix(source, ordered, np.stack(seen, axis=1))


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


def _seen(ordered: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return values relative to the middle of a feature: -1 to 1, or `MISSING`."""
    centre = np.nan_to_num(ordered[len(ordered) // 2])
    spread = np.fmax.reduce(np.abs(ordered[[0, -1]] - centre), initial=0.0)
    if np.isnan(ordered[-1]):
        spread = np.fmax.reduce(np.abs(ordered - centre), initial=0.0)
    scaled = (values - centre) / (spread or 1.0)
    return np.nan_to_num(scaled.astype(np.float32), nan=MISSING)
