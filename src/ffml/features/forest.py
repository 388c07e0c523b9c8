"""Boosted trees as plain arrays: fitted with scikit-learn, kept and evaluated without it."""

import warnings
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from ffml.base import FFMLError
from ffml.features._binned import OnBins
from ffml.features._coded import Coded
from ffml.features.scoring import Forest, no_forest, with_codes
from ffml.threads import available_cores, one_thread

FITTED_TREES = 60
LEAVES = 15
LEARNING_RATE = 0.2
LEAST_ROWS_IN_LEAF = 20


def fit_forest(x: np.ndarray, y: np.ndarray, weight: np.ndarray) -> Forest:
    """Fit gradient boosting to 0/1 labels; rows of one label give a forest without trees."""
    if not 0 < y.sum() < len(y):
        return no_forest()
    return forest_of(fit_boosting(x, y, weight), x)


def fit_forests(
    x: np.ndarray, targets: Sequence[np.ndarray], weight: np.ndarray
) -> tuple[Forest, ...]:
    """Fit a forest to each target, as many at a time as there are cores.

    Each fit has one thread: the same rows give the same trees whatever else is fitted.
    """
    # scikit-learn sets filters of warnings in each fit, which are the whole process's: fits at the
    # same time take each other's away, and warn of it. So these are put back afterwards.
    aside = warnings.catch_warnings(record=True, action="ignore")
    with aside, ThreadPoolExecutor(min(len(targets), available_cores())) as pool:
        return tuple(pool.map(lambda y: fit_forest(x, y, weight), targets))


def fit_boosting(x: np.ndarray, y: np.ndarray, weight: np.ndarray | None = None) -> Any:
    """Fit scikit-learn's gradient boosting to rows of both labels.

    Categories are `Coded`, and rows of unequal weight `OnBins`. One thread fits, so that the same
    rows always give the same trees.
    """
    from sklearn.ensemble import HistGradientBoostingClassifier

    model = HistGradientBoostingClassifier(
        max_iter=FITTED_TREES,
        max_leaf_nodes=LEAVES,
        learning_rate=LEARNING_RATE,
        min_samples_leaf=LEAST_ROWS_IN_LEAF,
        l2_regularization=1.0,
        early_stopping=False,
        random_state=0,
    )
    with one_thread("openmp"):
        if weight is None or np.ptp(weight) <= 1e-6 * np.max(weight):
            return Coded(model).fit(x, y, None)
        return Coded(OnBins(model)).fit(x, y, weight)


def forest_of(model: Any, x: np.ndarray) -> Forest:
    """Copy a fitted model's trees, and make sure that both decide alike about some of the rows."""
    forest = _as_arrays(model)
    some = x[:: max(len(x) // 200, 1)]
    with one_thread("openmp"):
        expected = model.decision_function(some)
    if not np.allclose(walked(forest, some), expected, atol=1e-6):
        raise FFMLError(
            "this scikit-learn keeps its trees in a way that ffml does not know; install the "
            "version of constraints.txt, or do without boosting"
        )
    return forest


def walked(forest: Forest, x: np.ndarray) -> np.ndarray:
    """Return the logits of a few people, going through the trees node by node.

    `forest_logits` needs tables, which take longer to make than a few people are worth.
    """
    x = with_codes([forest], x)
    node = np.tile(forest.roots, (len(x), 1))
    for _ in range(int(forest.depth)):
        value = np.take_along_axis(x, forest.feature[node], axis=1)
        node = np.where(value <= forest.threshold[node], forest.left[node], forest.right[node])
    return float(forest.start) + forest.value[node].sum(1)


def _as_arrays(coded: Coded) -> Forest:
    """Copy the trees of scikit-learn's model, which has no public way to give them away."""
    model = coded.model
    boosting = model.model if isinstance(model, OnBins) else model
    trees = [per_class[0].nodes for per_class in boosting._predictors]
    roots = np.cumsum([0, *(len(nodes) for nodes in trees[:-1])])
    nodes = np.concatenate(trees)
    first = np.repeat(roots, [len(tree) for tree in trees])
    leaf = nodes["is_leaf"].astype(bool)
    itself = np.arange(len(nodes))
    threshold = nodes["num_threshold"].copy()
    if isinstance(model, OnBins):
        threshold[~leaf] = model.thresholds(nodes["feature_idx"][~leaf], threshold[~leaf])
    return Forest(
        np.asarray(float(np.ravel(boosting._baseline_prediction)[0])),
        roots.astype(np.int32),
        np.where(leaf, 0, coded.sources(nodes["feature_idx"])).astype(np.int32),
        np.where(leaf, np.inf, threshold).clip(-1e300, 1e300),
        np.where(leaf, itself, nodes["left"] + first).astype(np.int32),
        np.where(leaf, itself, nodes["right"] + first).astype(np.int32),
        np.where(leaf, nodes["value"], 0.0),
        np.asarray(int(nodes["depth"].max()), np.int32),
        coded.codes,
    )
