"""Boosted trees as plain arrays: fitted by XGBoost, kept without it."""

import json
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np

from ffml.features._coded import bundles, codes_of
from ffml.features._matrix import Cuts, matrix_of
from ffml.features.scoring import Forest, no_forest
from ffml.threads import available_cores

FITTED_TREES = 50
LEAVES = 15
MOST_SPLITS = 7  # on the way to a leaf
LEARNING_RATE = 0.2
SETTINGS = {
    "objective": "binary:logistic",
    "tree_method": "hist",
    "grow_policy": "lossguide",
    "max_leaves": LEAVES,
    "max_depth": MOST_SPLITS,
    "min_child_weight": 2.0,  # 8 rows whose label is open
    "reg_lambda": 2.0,
    "max_bin": 1024,  # all of ours, also rare ones
    "nthread": 1,
    "verbosity": 0,
}


class Target(NamedTuple):
    """What a forest is fitted to."""

    y: np.ndarray  # (n,) zeros and ones
    weight: np.ndarray  # (n,) only proportions count
    width: int  # so many features are looked at, the first ones


def fit_forests(
    x: np.ndarray,
    targets: Sequence[Target],
    categories: Sequence[Sequence[int]] | None = None,
) -> tuple[Forest, ...]:
    """Fit a forest to each target, as many at a time as there are cores.

    Each fit has one thread: the same rows give the same trees whatever else is fitted. Features are
    cut into bins once for all targets.

    Args:
        x: ``(n, features)`` at their own scale.
        targets: labels and weights, one forest each.
        categories: which features came from one column of categories; guessed if None.
    """
    cuts = Cuts(x)
    columns = {
        width: bundles(x[:, :width]) if categories is None else categories
        for width in {target.width for target in targets}
    }
    with ThreadPoolExecutor(min(len(targets), available_cores())) as pool:
        return tuple(pool.map(lambda t: _fitted(x, t, columns[t.width], cuts), targets))


def fit_forest(
    x: np.ndarray,
    y: np.ndarray,
    weight: np.ndarray,
    categories: Sequence[Sequence[int]] | None = None,
) -> Forest:
    """Fit gradient boosting to 0/1 labels; without two labels or any feature there are no trees."""
    return fit_forests(x, [Target(y, weight, x.shape[1])], categories)[0]


def _fitted(
    x: np.ndarray, target: Target, categories: Sequence[Sequence[int]], cuts: Cuts
) -> Forest:
    y, weight = np.asarray(target.y, float), target.weight
    x = x[:, : target.width]
    if not x.shape[1] or not 0 < weight @ y < weight.sum():
        return no_forest()
    if not weight.all():  # as good as absent
        x, y, weight = (part[weight > 0] for part in (x, y, weight))
        cuts = Cuts(x)
    codes = codes_of(x, y, weight, categories)
    matrix = matrix_of(x, y, weight, codes, cuts)
    rate = np.average(y, weights=weight)
    trees = _fitted_trees(matrix.bins, y, weight / weight.mean(), rate)
    left, column = (_joined(trees, part, int) for part in ("left_children", "split_indices"))
    threshold, inner = _joined(trees, "split_conditions", float), left >= 0
    threshold[inner] = matrix.thresholds(column[inner], threshold[inner])
    return Forest(
        np.asarray(np.log(rate / (1 - rate))),
        np.array([len(tree["left_children"]) for tree in trees], np.int32),
        left.astype(np.int32),
        np.where(inner, matrix.source[column], 0).astype(np.int32),
        threshold,
        codes,
    )


def _fitted_trees(
    bins: np.ndarray, y: np.ndarray, weight: np.ndarray, rate: float
) -> list[dict[str, Any]]:
    """Fit with XGBoost, and return the trees of its model file."""
    import xgboost

    settings = SETTINGS | {"eta": LEARNING_RATE, "base_score": rate}
    rows = xgboost.DMatrix(bins, label=y, weight=weight, nthread=1)
    text = xgboost.train(settings, rows, FITTED_TREES).save_raw("json")
    return json.loads(text)["learner"]["gradient_booster"]["model"]["trees"]


def _joined(trees: list[dict[str, Any]], part: str, kind: type) -> np.ndarray:
    return np.concatenate([np.asarray(tree[part], kind) for tree in trees])
