"""Fits of boosted trees: closed forms, and what must not change them."""

import subprocess
import sys

import numpy as np
import pytest
import xgboost
from jax.tree import leaves
from safetensors.numpy import load, save

from ffml.features import _matrix as matrix
from ffml.features import forest as module
from ffml.features.forest import FITTED_TREES, LEAVES, SETTINGS, Target, fit_forest, fit_forests
from ffml.features.scoring import forest_logits, no_forest


def rings(rows, seed=0):
    """Labels that no line tells: inside or outside of a ring; one feature is constant."""
    rng = np.random.default_rng(seed)
    x = np.c_[rng.normal(size=(rows, 2)), 2 * np.ones(rows), rng.integers(3, size=rows)]
    noise = rng.normal(size=rows)
    return x.astype(np.float32), 1.0 * ((x[:, :2] ** 2).sum(1) + 0.3 * noise > 1.4)


def one_hot(places, categories):
    return 1.0 * (np.asarray(places)[:, None] == np.arange(categories))


def same_bytes(one, other):
    return all(
        a.tobytes() == b.tobytes() and a.dtype == b.dtype and a.shape == b.shape
        for a, b in zip(leaves(one), leaves(other), strict=True)
    )


def targets(weight, *labels, width=4):
    return [Target(y, weight, width) for y in labels]


def test_one_split_is_a_newton_step_from_the_rate(monkeypatch):
    """A step function: each side moves by η Σ w (y - p) / (Σ w p (1 - p) + λ)."""
    monkeypatch.setattr(module, "FITTED_TREES", 1)
    x = np.arange(200.0)[:, None]
    y = 1.0 * (x[:, 0] >= 120)
    forest = fit_forest(x, y, np.ones(200))
    p = y.mean()
    above = 0.2 * 80 * (1 - p) / (80 * p * (1 - p) + SETTINGS["reg_lambda"])
    below = 0.2 * 120 * -p / (120 * p * (1 - p) + SETTINGS["reg_lambda"])
    expected = np.log(p / (1 - p)) + np.where(y, above, below)
    np.testing.assert_allclose(forest_logits(forest, x), expected, rtol=1e-5)
    assert forest.sizes.tolist() == [3]


def test_it_is_a_fit_of_xgboost_with_as_many_trees_and_leaves():
    x, y = rings(800)
    x = np.round(x, 1)  # as many values as there are bins
    weight = np.random.default_rng(0).uniform(0.5, 3, size=800)
    forest = fit_forest(x, y, weight)
    settings = SETTINGS | {"eta": 0.2, "base_score": np.average(y, weights=weight)}
    rows = xgboost.DMatrix(x, label=y, weight=weight / weight.mean())
    model = xgboost.train(settings, rows, FITTED_TREES)
    expected = model.predict(xgboost.DMatrix(x), output_margin=True)
    np.testing.assert_allclose(forest_logits(forest, x), expected, atol=1e-5)
    new, labels = rings(900, seed=1)  # some lie between people that it knows
    new = np.round(new, 1)
    expected = model.predict(xgboost.DMatrix(new), output_margin=True)
    assert np.abs(forest_logits(forest, new) - expected).mean() < 0.1
    assert ((forest_logits(forest, new) > 0) == labels).mean() > 0.8
    assert len(forest.sizes) == FITTED_TREES and forest.sizes.max() <= 2 * LEAVES - 1


def test_only_proportions_of_weights_count_and_rows_without_weight_do_not():
    x, y = rings(500)
    weight = np.random.default_rng(0).integers(0, 4, size=500).astype(float)
    logits = forest_logits(fit_forest(x, y, weight), x)
    for again in (
        fit_forest(x, y, 4 * weight),
        fit_forest(x[weight > 0], y[weight > 0], weight[weight > 0]),
    ):
        np.testing.assert_allclose(forest_logits(again, x), logits, atol=1e-4)
    positives = fit_forest(x, y, weight * (1 + 9 * y))
    assert forest_logits(positives, x).mean() > logits.mean() + 0.5


def test_a_weight_is_as_many_rows():
    """Twice the weight on half as many rows; the average is the same."""
    x, y = (part[:300] for part in rings(300))
    x = np.round(x, 1)
    rng = np.random.default_rng(0)
    share = rng.integers(1, 4, size=300).astype(float)
    rows = np.repeat(np.arange(300), 2)
    split = np.stack([share, 4 - share], axis=1).ravel()
    np.testing.assert_allclose(
        forest_logits(fit_forest(x[rows], y[rows], split), x),
        forest_logits(fit_forest(x[rows], y[rows], np.ones(600)), x),
        atol=1e-5,
    )


def test_the_order_of_categories_does_not_matter():
    rng = np.random.default_rng(0)
    places, number = rng.integers(20, size=4000), rng.normal(size=(4000, 1))
    y = 1.0 * (rng.uniform(size=4000) < (places % 7) / 7)
    logits = []
    for order in (np.arange(20), rng.permutation(20)):
        x = np.c_[number, one_hot(order[places], 20)].astype(np.float32)
        logits.append(forest_logits(fit_forest(x, y, np.ones(4000), [range(1, 21)]), x))
    np.testing.assert_array_equal(*logits)


def test_trees_tell_many_categories_apart():
    """Twenty categories with labels of their own take one split instead of nineteen."""
    places = np.random.default_rng(0).integers(20, size=4000)
    x = np.c_[np.random.default_rng(1).normal(size=4000), one_hot(places, 20)]
    y = 1.0 * (places % 2)
    for categories in (None, [range(1, 21)]):
        forest = fit_forest(x, y, np.ones(4000), categories)
        assert ((forest_logits(forest, x) > 0) == y).all()
        assert {*forest.feature[forest.left >= 0]} == {-1} and forest.sizes.max() == 3


def test_an_income_is_told_whatever_is_added_to_it():
    rng = np.random.default_rng(0)
    income, age = rng.integers(0, 3000, size=2000), rng.integers(18, 90, size=2000)
    y = 1.0 * (income + 20 * age + 300 * rng.normal(size=2000) > 2500)
    plain = np.c_[income, age].astype(float)
    logits = forest_logits(fit_forest(plain, y, np.ones(2000)), plain)
    for moved in (plain + np.array([1.7e9, 0]), plain * [1e-9, 1e9] - [0, 1e13], plain * 1e200):
        again = forest_logits(fit_forest(moved, y, np.ones(2000)), moved)
        np.testing.assert_allclose(again, logits, atol=1e-4)


def test_the_same_rows_give_the_same_bytes_whatever_else_is_fitted():
    x, y = rings(600)
    weight = np.random.default_rng(0).uniform(0.5, 3, size=600)
    first = fit_forest(x, y, weight)
    together = fit_forests(x, targets(weight, 1 - y, y, y, x[:, 0] > 0))
    assert same_bytes(together[1], first) and same_bytes(together[2], first)
    some, uneven = np.where(np.arange(600) % 3, weight, 0.0), fit_forest(x[:, :2], y, weight)
    pair = fit_forests(x, [Target(y, weight, 2), Target(y, some, 4)])
    assert same_bytes(pair[0], uneven) and same_bytes(pair[1], fit_forest(x, y, some))


def test_features_are_cut_once_for_all_targets(monkeypatch):
    cuts, plain = [], matrix.edges_of
    monkeypatch.setattr(matrix, "edges_of", lambda values: cuts.append(1) or plain(values))
    x, y = rings(300)
    fit_forests(x, [*targets(np.ones(300), y, 1 - y, width=3), Target(y, np.ones(300), 4)])
    assert len(cuts) == 4


def test_one_thread_and_two_fit_the_same_trees(monkeypatch):
    x, y = rings(900)
    first = fit_forest(x, y, np.ones(900))
    monkeypatch.setitem(SETTINGS, "nthread", 2)
    assert same_bytes(fit_forest(x, y, np.ones(900)), first)


def test_a_file_of_arrays_gives_the_same_logits():
    x, y = rings(600)
    forest = fit_forest(x, y, np.ones(600))
    stored = load(save({str(i): part for i, part in enumerate(leaves(forest))}))
    flat = [stored[str(i)] for i in range(len(stored))]
    again = type(forest)(*flat[:5], type(forest.codes)(*flat[5:]))
    assert same_bytes(again, forest)
    np.testing.assert_array_equal(forest_logits(again, x), forest_logits(forest, x))


@pytest.mark.parametrize("label", [0.0, 1.0])
def test_one_label_gives_no_trees(label):
    x = np.ones((40, 2))
    assert same_bytes(fit_forest(x, np.full(40, label), np.ones(40)), no_forest())
    assert same_bytes(fit_forest(x[:1], np.full(1, label), np.ones(1)), no_forest())
    y = 1.0 * (np.arange(40) < 9)
    assert same_bytes(fit_forest(x, y, 1.0 * (y == label)), no_forest())  # others count nothing
    assert same_bytes(fit_forest(x[:0], y[:0], y[:0]), no_forest())
    assert same_bytes(fit_forest(x[:, :0], y, np.ones(40)), no_forest())
    x, y = rings(60)
    known, missing = fit_forests(x, targets(np.ones(60), y, np.full(60, label)))
    assert known.known and not missing.known


def test_trees_without_a_split_are_the_rate_of_labels():
    """Too few rows for two leaves, or features that are all the same."""
    y = 1.0 * (np.arange(12) < 5)
    for x in (np.arange(12.0)[:, None], np.ones((12, 1))):
        logits = forest_logits(fit_forest(x, y, np.ones(12)), x)
        np.testing.assert_allclose(logits, np.log(5 / 7), atol=1e-5)


def test_arrays_have_one_type_with_and_without_trees():
    """So that a checkpoint of one can be read by the other."""
    fitted = fit_forest(*rings(100), np.ones(100))
    for one, other in zip(leaves(fitted), leaves(no_forest()), strict=True):
        assert type(one) is np.ndarray and one.dtype == other.dtype and one.ndim == other.ndim


def test_a_very_wide_table_is_fitted():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(300, 5000)).astype(np.float32)
    y = 1.0 * (x[:, 4321] > 0)
    forest = fit_forest(x, y, np.ones(300))
    assert ((forest_logits(forest, x) > 0) == y).mean() > 0.97


def test_a_process_that_was_forked_off_fits_and_decides():
    code = """
import os, sys, numpy as np
from ffml.features.forest import Target, fit_forests
from ffml.features.scoring import forests_logits
x = np.random.default_rng(0).normal(size=(500, 3)); y = 1.0 * (x[:, 0] > 0)
def work():
    targets = [Target(label, np.ones(500), 3) for label in (y, 1 - y)]
    return forests_logits(fit_forests(x, targets), x)
before = work()
child = os.fork()
if child == 0:
    os._exit(0 if (work() == before).all() else 7)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    assert subprocess.run([sys.executable, "-c", code], timeout=60, check=False).returncode == 0


def test_the_package_does_not_load_xgboost_until_trees_are_asked_for():
    code = "import sys, ffml, ffml.cli, ffml.features.forest; sys.exit('xgboost' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], timeout=60, check=False).returncode == 0
