"""Boosted trees as arrays: scikit-learn's numbers without scikit-learn."""

import warnings

import numpy as np
import pytest
from jax.tree import leaves
from threadpoolctl import threadpool_limits

from ffml.base import FFMLError
from ffml.features import forest as module
from ffml.features.forest import (
    FITTED_TREES,
    fit_boosting,
    fit_forest,
    fit_forests,
    forest_of,
    no_forest,
    walked,
)
from ffml.features.scoring import (
    CELLS,
    CHUNK_ROWS,
    MOST_PLACES,
    forest_logits,
    forests_logits,
    tables_of,
)


def rings(rows, seed=0):
    """Labels that no line tells: inside or outside of a ring; one feature is constant."""
    rng = np.random.default_rng(seed)
    x = np.c_[rng.normal(size=(rows, 2)), 2 * np.ones(rows), rng.integers(3, size=rows)]
    noise = rng.normal(size=rows)
    return x.astype(np.float32), 1.0 * ((x[:, :2] ** 2).sum(1) + 0.3 * noise > 1.4)


@pytest.fixture(params=["equal weights", "unequal weights"])
def fitted(request):
    """A forest, and the model that it is a copy of."""
    x, y = rings(600)
    weight = np.random.default_rng(0).uniform(0.5, 3, size=600)
    model = fit_boosting(x, y, weight if request.param == "unequal weights" else np.ones(600))
    with threadpool_limits(1):
        yield forest_of(model, x), model


def test_its_logits_are_scikit_learns(fitted):
    forest, model = fitted
    x, y = rings(CHUNK_ROWS + 500, seed=1)
    np.testing.assert_allclose(forest_logits(forest, x), model.decision_function(x), atol=1e-9)
    assert ((forest_logits(forest, x) > 0) == y).mean() > 0.8
    edges = forest.threshold[forest.left != np.arange(len(forest.left))]
    at_edges = np.repeat(edges[:, None], 4, axis=1)  # people exactly at a threshold
    np.testing.assert_allclose(
        forest_logits(forest, at_edges), model.decision_function(at_edges), atol=1e-9
    )


def test_nobody_needs_to_walk_through_trees(fitted):
    """Extreme values, missing ones, values at thresholds and next to them."""
    forest, _ = fitted
    x = rings(300, seed=2)[0].astype(float)
    at = np.repeat(forest.threshold[:, None], 4, axis=1)
    odd = np.array([np.nan, np.inf, -np.inf, 1e300, -1e300, 0.0])
    mixed = np.random.default_rng(0).choice([*odd, *at[:, 0]], size=(500, 4))
    for rows in (x, at, np.nextafter(at, np.inf), np.nextafter(at, -np.inf), mixed):
        np.testing.assert_array_equal(forest_logits(forest, rows), walked(forest, rows))
    crowded = forest._replace(threshold=np.where(forest.threshold > 0, 1e300, forest.threshold))
    np.testing.assert_array_equal(forest_logits(crowded, x), walked(crowded, x))
    grids = [[g for table in tables_of([f]).tables for g in table.grids] for f in (crowded, forest)]
    assert max(len(grid.inside) for grid in grids[0]) > 1
    assert max(len(grid.below) for grid in grids[1]) == CELLS + 1


def test_forests_that_are_asked_together_say_what_each_says_alone():
    """Ten features of two values share tables, six are two bundles; a forest has no trees."""
    rng = np.random.default_rng(3)
    jobs, regions = (np.eye(3)[rng.integers(3, size=900)] for _ in range(2))
    x = np.c_[rng.normal(size=(900, 2)), rng.integers(2, size=(900, 10)), jobs, regions]
    x = x.astype(np.float32)
    second = x[:, 3] + x[:, 4] + 2 * x[:, 12] - x[:, 17] + rng.normal(size=900) > 1
    targets = [x[:, 0] * x[:, 2] + x[:, 14] > 0, second, x[:, 1] < 9]
    forests = [fit_forest(x, 1.0 * target, np.ones(900)) for target in targets]
    forests[1] = forests[1]._replace(
        roots=forests[1].roots[:7], threshold=forests[1].threshold.copy()
    )
    assert [len(forest.roots) > 0 for forest in forests] == [True, True, False]
    assert [forest.codes.width for forest in forests] == [2, 2, 0]
    assert all((forest.feature < 0).any() for forest in forests[:2])
    together = forests_logits(forests, x)
    for forest, logits in zip(forests, together.T, strict=True):
        np.testing.assert_array_equal(logits, forest_logits(forest, x))
        np.testing.assert_array_equal(logits, walked(forest, x))
    tables = tables_of(forests).tables
    assert max(len(table.features) for table in tables) > 1  # some share a table
    assert all(len(t.features) == 1 or len(t.left_over) <= MOST_PLACES for t in tables)
    for start in (0, 7, 899):  # whoever else is asked
        np.testing.assert_array_equal(forests_logits(forests, x[start:]), together[start:])
    assert forests_logits([no_forest()] * 2, x[:3]).tolist() == [[0.0, 0.0]] * 3


def test_damaged_trees_are_refused(fitted):
    """A node that leads back to the root never ends in a leaf."""
    forest, _ = fitted
    left = forest.left.copy()
    left[left == np.arange(len(left))] = 0
    with pytest.raises(FFMLError, match=r"^a tree has more than 16 leaves; restore[^\n]*$"):
        forest_logits(
            forest._replace(left=left, threshold=forest.threshold.copy()), np.ones((1, 4))
        )


def test_every_path_ends_in_a_leaf_and_all_numbers_are_finite(fitted):
    forest, _ = fitted
    assert len(forest.roots) == FITTED_TREES
    node = np.repeat(forest.roots, 2)
    seen = {*node}
    for _ in range(int(forest.depth)):
        node = np.unique(np.concatenate([forest.left[node], forest.right[node]]))
        seen |= {*node}
    assert seen == set(range(len(forest.left)))  # all nodes are reached
    np.testing.assert_array_equal(forest.left[node], node)  # and after that many steps all rest
    assert all(np.isfinite(part).all() for part in leaves(forest))


def test_the_same_rows_give_the_same_bytes_whatever_the_order_of_fits():
    x, y = rings(600)
    weight = np.random.default_rng(0).uniform(0.5, 3, size=600)
    first = fit_forest(x, y, weight)
    fit_forest(*rings(300, seed=5), np.ones(300))
    for one, other in zip(leaves(first), leaves(fit_forest(x, y, weight)), strict=True):
        assert one.tobytes() == other.tobytes() and one.dtype == other.dtype


@pytest.mark.parametrize("label", [0.0, 1.0])
def test_one_label_gives_no_trees(label):
    forest = fit_forest(np.ones((40, 2)), np.full(40, label), np.ones(40))
    for one, other in zip(leaves(forest), leaves(no_forest()), strict=True):
        np.testing.assert_array_equal(one, other)
    assert not forest_logits(forest, np.ones((5, 2))).any()
    assert not len(forest_logits(fit_forest(*rings(60), np.ones(60)), np.zeros((0, 4))))


def test_trees_without_a_split_are_the_rate_of_labels():
    """Too few rows for two leaves, or features that are all the same."""
    for x in (np.arange(30.0)[:, None], np.ones((30, 1))):
        y = 1.0 * (np.arange(30) < 12)
        logits = forest_logits(fit_forest(x, y, np.ones(30)), np.resize(x, (CHUNK_ROWS + 7, 1)))
        np.testing.assert_allclose(logits, np.log(12 / 18), atol=1e-6)


def test_arrays_have_one_type_with_and_without_trees(fitted):
    """So that a checkpoint of one can be read by the other."""
    for one, other in zip(leaves(fitted[0]), leaves(no_forest()), strict=True):
        assert one.dtype == other.dtype and one.ndim == other.ndim


def test_trees_kept_in_an_unknown_way_are_refused(monkeypatch):
    as_arrays = module._as_arrays
    monkeypatch.setattr(
        module, "_as_arrays", lambda model: as_arrays(model)._replace(start=np.asarray(7.0))
    )
    with pytest.raises(FFMLError, match=r"^this scikit-learn keeps its trees in a way[^\n]*$"):
        fit_forest(*rings(100), np.ones(100))


def test_fits_at_the_same_time_leave_the_filters_of_warnings_as_they_were():
    x, y = rings(300)
    before = list(warnings.filters)
    for _ in range(5):
        fit_forests(x, [y, 1 - y, y], np.ones(300))
    assert warnings.filters == before
