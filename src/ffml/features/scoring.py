"""What boosted trees say about people: XGBoost walks through them, our files only hold arrays.

XGBoost reads any model file and may crash on a wrong one. So trees are kept as arrays, which are
checked, and written out for XGBoost in its documented JSON format when somebody is to be decided
about.
"""

import json
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit

from ffml.base import FFMLError
from ffml.features._coded import Columns, no_columns

CHUNK_ROWS = 16_384  # whose features are looked at together


class Forest(NamedTuple):
    """Trees one behind the other.

    Node 0 of a tree is its root. People below a node's threshold go on at ``left``, the others at
    the node after that. A leaf goes on nowhere (-1), and its threshold is what it adds.
    """

    start: np.ndarray  # () the logit before any tree
    sizes: np.ndarray  # (trees,) nodes of each
    left: np.ndarray  # (nodes,) counted from the root
    missing_left: np.ndarray  # (nodes,) whether people without a value go left
    column: np.ndarray  # (nodes,) what is compared: a column of `columns`
    threshold: np.ndarray  # (nodes,)
    columns: Columns

    @property
    def known(self) -> bool:
        """Whether there is a tree."""
        return len(self.sizes) > 0

    @property
    def roots(self) -> np.ndarray:
        """Where each tree begins."""
        return np.cumsum(self.sizes) - self.sizes

    def predict_proba(self, x: np.ndarray) -> np.ndarray:
        """Return the probabilities of both labels, as classifiers of scikit-learn do."""
        chance = expit(forest_logits(self, x))
        return np.stack([1 - chance, chance], axis=1)


def no_forest() -> Forest:
    """Return a forest without trees: everybody's logit is 0."""
    index, flags, numbers = np.zeros(0, np.int32), np.zeros(0, np.uint8), np.zeros(0, np.float32)
    return Forest(np.zeros(()), index, index, flags, index, numbers, no_columns())


def forest_logits(forest: Forest, x: np.ndarray) -> np.ndarray:
    """Return the logits of people with these features: ``(n,)``."""
    logits = np.full(len(x), float(forest.start))
    if not forest.known or not len(x):
        return logits
    model = _model(forest, x.shape[1])
    for begin in range(0, len(x), CHUNK_ROWS):
        columns = forest.columns.of(np.asarray(x[begin : begin + CHUNK_ROWS]))
        logits[begin : begin + CHUNK_ROWS] += model.inplace_predict(columns, predict_type="margin")
    return logits


def forests_logits(forests: Sequence[Forest], x: np.ndarray) -> np.ndarray:
    """Return the logits of people with these features by each forest: ``(n, forests)``."""
    return np.stack([forest_logits(forest, x) for forest in forests], axis=1)


def _model(forest: Forest, features: int) -> Any:
    """Return what XGBoost makes of a forest for people with so many features.

    Raises:
        FFMLError: these are no trees, or trees for other features.
    """
    if not _sound(forest, features):
        raise FFMLError(
            f"the trees of boosting are damaged, or not for {features} features; restore a copy of "
            "the file"
        )
    parts = (forest.sizes, forest.left, forest.missing_left, forest.column, forest.threshold)
    return _booster(forest.columns.width, *(part.tobytes() for part in parts))


def _sound(forest: Forest, features: int) -> bool:
    """Tell whether every path ends in a leaf, and looks only at what there is."""
    left, columns = forest.left, forest.columns
    if (forest.sizes < 1).any() or {len(part) for part in forest[2:6]} != {forest.sizes.sum()}:
        return False
    numbers, members = columns[:3], columns[3:]
    if len({*map(len, numbers)}) > 1 or len({*map(len, members)}) > 1:
        return False
    root, size = (np.repeat(part, forest.sizes) for part in (forest.roots, forest.sizes))
    node = np.arange(len(left))
    child = (left + root)[left >= 0]
    return bool(
        ((left == -1) | ((left > node - root) & (left < size - 1))).all()
        and np.array_equal(np.sort([*child, *(child + 1)]), node[node > root])  # one parent each
        and ((forest.column >= 0) & (forest.column < columns.width)).all()
        and all(((i >= 0) & (i < features)).all() for i in (columns.feature, columns.member))
        and ((columns.category >= 0) & (columns.category < len(columns.member))).all()
        and (columns.spread > 0).all()
        and (np.abs(columns.place) <= len(columns.place)).all()
        and all(np.isfinite(part).all() for part in (forest.start, forest.threshold, *columns))
    )


@lru_cache(maxsize=32)
def _booster(
    width: int, sizes: bytes, left: bytes, missing_left: bytes, column: bytes, threshold: bytes
) -> Any:
    """Hand trees to XGBoost; one thread decides, so that workers do not wait for each other."""
    import xgboost

    ends = np.cumsum(np.frombuffer(sizes, np.int32))[:-1]
    kinds = (left, np.int32), (missing_left, np.uint8), (column, np.int32), (threshold, np.float32)
    parts = [np.split(np.frombuffer(part, kind), ends) for part, kind in kinds]
    trees = [_tree(i, width, *tree) for i, tree in enumerate(zip(*parts, strict=True))]
    text = json.dumps(_document(width, trees))
    model = xgboost.Booster(model_file=bytearray(text, "utf-8"))
    model.set_param({"nthread": 1})
    return model


def _tree(
    number: int,
    width: int,
    left: np.ndarray,
    missing_left: np.ndarray,
    column: np.ndarray,
    threshold: np.ndarray,
) -> dict[str, Any]:
    """Write a tree as XGBoost's model files do; what it only reports is 0."""
    inner, nodes = np.flatnonzero(left >= 0), len(left)
    parents = np.full(nodes, 2**31 - 1)
    parents[left[inner]] = parents[left[inner] + 1] = inner
    zeros = [0.0] * nodes
    return {
        "id": number,
        "tree_param": {
            "num_nodes": str(nodes),
            "num_feature": str(width),
            "num_deleted": "0",
            "size_leaf_vector": "1",
        },
        "left_children": left.tolist(),
        "right_children": np.where(left >= 0, left + 1, -1).tolist(),
        "parents": parents.tolist(),
        "split_indices": column.tolist(),
        "split_conditions": threshold.astype(float).tolist(),
        "default_left": (missing_left > 0).astype(int).tolist(),
        "split_type": [0] * nodes,
        "base_weights": zeros,
        "loss_changes": zeros,
        "sum_hessian": zeros,
        "categories": [],
        "categories_nodes": [],
        "categories_segments": [],
        "categories_sizes": [],
    }


def _document(width: int, trees: list[dict[str, Any]]) -> dict[str, Any]:
    """Write a model file of XGBoost 2, which later ones read."""
    count = len(trees)
    model = {
        "gbtree_model_param": {"num_trees": str(count), "num_parallel_tree": "1"},
        "tree_info": [0] * count,
        "iteration_indptr": [*range(count + 1)],
        "trees": trees,
    }
    return {
        "version": [2, 0, 0],
        "learner": {
            "attributes": {},
            "feature_names": [],
            "feature_types": [],
            "gradient_booster": {"name": "gbtree", "model": model},
            "learner_model_param": {
                "base_score": "5E-1",
                "boost_from_average": "1",
                "num_class": "0",
                "num_feature": str(width),
                "num_target": "1",
            },
            "objective": {"name": "binary:logistic", "reg_loss_param": {"scale_pos_weight": "1"}},
        },
    }
