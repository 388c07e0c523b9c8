"""Gradient boosting of weighted rows, on features that are cut into bins beforehand.

scikit-learn looks for the bins of weighted rows percentile by percentile, which takes ten times as
long as growing the trees. Features with few values need no search. So each feature is replaced by
the number of its bin; bins have as many rows each, whatever these weigh.
"""

from typing import Any

import numpy as np

MOST_BINS = 255


class OnBins:
    """A classifier that is fitted to the numbers of bins, and takes features as they are."""

    def __init__(self, model: Any) -> None:
        self.model = model
        self.edges: list[np.ndarray] = []  # of each feature: where one bin ends and the next begins

    def fit(self, x: np.ndarray, y: np.ndarray, sample_weight: np.ndarray) -> "OnBins":
        """Find the bins, and fit to their numbers."""
        self.edges = [_edges(column) for column in x.T]
        self.model.fit(self.numbered(x), y, sample_weight=sample_weight)
        return self

    def numbered(self, x: np.ndarray) -> np.ndarray:
        """Return which bin each value lies in: how many edges are below it."""
        columns = [np.searchsorted(e, column) for e, column in zip(self.edges, x.T, strict=True)]
        return np.stack(columns, axis=1).astype(np.float32)

    def predict_proba(self, x: np.ndarray) -> np.ndarray:
        """Return the probabilities of both labels."""
        return self.model.predict_proba(self.numbered(x))

    def decision_function(self, x: np.ndarray) -> np.ndarray:
        """Return the logits of label 1."""
        return self.model.decision_function(self.numbered(x))

    def thresholds(self, feature: np.ndarray, bins: np.ndarray) -> np.ndarray:
        """Turn thresholds between numbers of bins into values of the features.

        Args:
            feature: ``(nodes,)`` which feature a node looks at.
            bins: ``(nodes,)`` between bin k and bin k + 1.
        """
        nodes = zip(feature, np.floor(bins).astype(int), strict=True)
        return np.array([self.edges[column][k] for column, k in nodes])


def _edges(values: np.ndarray) -> np.ndarray:
    """Cut values into at most `MOST_BINS` bins of as many rows each.

    >>> _edges(np.array([3.0, 1.0, 2.0, 1.0])).tolist()
    [1.5, 2.5]
    """
    values = np.asarray(values, float)
    distinct = np.unique(values)
    if len(distinct) > MOST_BINS:
        shares = np.linspace(0, 1, MOST_BINS + 1)[1:-1]
        return np.unique(np.quantile(values, shares, method="midpoint"))
    return (distinct[:-1] + distinct[1:]) / 2
