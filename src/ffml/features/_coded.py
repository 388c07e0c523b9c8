"""Categories as one number each: what one-hot encoding took apart is put together for boosting.

A column of 40 categories is 40 features of zeros and ones, of which a person has one at most.
Trees would look at each of them by itself, which takes time and splits. Such a bundle of features
is replaced by one: the rank of the person's category, by how often label 1 comes with it.

References: Ke et al., "LightGBM: A Highly Efficient Gradient Boosting Decision Tree", 2017, for
bundles of features that exclude each other; Fisher, "On Grouping for Maximum Homogeneity", 1958,
for the order of categories.
"""

from typing import Any, NamedTuple

import numpy as np

LEAST_FEATURES = 3  # of a bundle; two may exclude each other by chance
MOST_OTHERS = 500  # features in no bundle that boosting sees; its trees have 840 nodes at most
PRIOR_ROWS = 10.0  # of the usual rate of labels, as many as each category is given


class Codes(NamedTuple):
    """Which features are bundled; a bundle's number is the sum of what its features add to it."""

    feature: np.ndarray  # (k,) features that are in a bundle
    bundle: np.ndarray  # (k,) which one
    rank: np.ndarray  # (k,) what a one in the feature adds; a person with none of them has 0

    @property
    def width(self) -> int:
        """The number of bundles."""
        return int(self.bundle.max(initial=-1)) + 1

    def numbers(self, x: np.ndarray) -> np.ndarray:
        """Return the number of each person in each bundle: ``(n, bundles)``."""
        weights = np.zeros((len(self.feature), self.width), x.dtype)
        weights[np.arange(len(self.feature)), self.bundle] = self.rank
        return x[:, self.feature] @ weights


def no_codes() -> Codes:
    """Bundle nothing."""
    return Codes(np.zeros(0, np.int32), np.zeros(0, np.int32), np.zeros(0))


def bundles(x: np.ndarray) -> list[list[int]]:
    """Find neighbouring features of zeros and ones of which nobody has two.

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


def codes_of(x: np.ndarray, y: np.ndarray, weight: np.ndarray) -> Codes:
    """Rank the categories of each bundle by their rate of label 1.

    A category's rate is that of its rows and of `PRIOR_ROWS` more with the rate of everybody, so
    that rare ones are near the middle. To have none of a bundle's features is a category too.
    """
    parts = [no_codes()]
    prior = PRIOR_ROWS * np.mean(weight)
    for i, members in enumerate(bundles(x)):
        has = x[:, members]
        has = np.concatenate([1 - has.sum(1, keepdims=True), has], axis=1)
        rates = (has.T @ (weight * y) + prior * np.average(y, weights=weight)) / (
            has.T @ weight + prior
        )
        place = np.argsort(np.argsort(rates, kind="stable"), kind="stable")
        rank = (place[1:] - place[0]).astype(float)
        parts.append(Codes(np.array(members, np.int32), np.full(len(members), i, np.int32), rank))
    return Codes(*(np.concatenate(column) for column in zip(*parts, strict=True)))


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


class Coded:
    """A classifier that is fitted to numbers of bundles, and takes features as they are."""

    def __init__(self, model: Any) -> None:
        self.model, self.codes = model, no_codes()

    def fit(self, x: np.ndarray, y: np.ndarray, sample_weight: np.ndarray | None) -> "Coded":
        """Rank the categories, and fit to the features that are left and the bundles."""
        weight = np.ones(len(y)) if sample_weight is None else sample_weight
        self.codes = codes_of(x, y, weight)
        others = np.setdiff1d(np.arange(x.shape[1]), self.codes.feature)
        self.others = others[most_telling(x[:, others], y, weight, MOST_OTHERS)]
        self.model.fit(self.coded(x), y, sample_weight=sample_weight)
        return self

    def coded(self, x: np.ndarray) -> np.ndarray:
        """Return the features that are in no bundle, and behind them the bundles' numbers."""
        return np.concatenate([x[:, self.others], self.codes.numbers(x)], axis=1)

    def predict_proba(self, x: np.ndarray) -> np.ndarray:
        """Return the probabilities of both labels."""
        return self.model.predict_proba(self.coded(x))

    def decision_function(self, x: np.ndarray) -> np.ndarray:
        """Return the logits of label 1."""
        return self.model.decision_function(self.coded(x))

    def sources(self, column: np.ndarray) -> np.ndarray:
        """Turn columns of `coded` into features, or ``-1 - bundle``."""
        return np.concatenate([self.others, -1 - np.arange(self.codes.width)])[column]
