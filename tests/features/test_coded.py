"""Categories as one number each."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ffml.features._coded import MOST_OTHERS, Coded, bundles, codes_of, most_telling, no_codes
from ffml.features.forest import fit_boosting, fit_forest
from ffml.features.scoring import forest_logits


def one_hot(places, categories):
    """A person whose place is -1 has none of the categories."""
    return 1.0 * (np.asarray(places)[:, None] == np.arange(categories))


@given(st.lists(st.integers(-1, 4), min_size=1), st.lists(st.integers(0, 3), min_size=1))
def test_nobody_has_two_features_of_a_bundle(first, second):
    rows = max(len(first), len(second))
    x = np.c_[one_hot(np.resize(first, rows), 5), one_hot(np.resize(second, rows), 4)]
    for members in bundles(x):
        assert x[:, members].sum(1).max() <= 1 and len(members) >= 3
        assert np.diff(members).tolist() == [1] * (len(members) - 1)


def test_two_columns_that_are_one_hot_are_two_bundles():
    rng = np.random.default_rng(0)
    numbers, flags = rng.normal(size=(200, 1)), 1.0 * rng.integers(2, size=(200, 1))
    x = np.c_[one_hot(np.arange(200) % 5, 5), one_hot(np.arange(200) % 3, 3), numbers, flags]
    assert bundles(x) == [[0, 1, 2, 3, 4], [5, 6, 7]]
    assert bundles(x[:, [0, 1, 8]]) == []  # two may exclude each other by chance
    assert bundles(np.zeros((0, 2))) == [] and bundles(2 * x) == []


def test_categories_are_ranked_by_their_rates():
    places = np.repeat([0, 1, 2, -1], 100)
    y = np.concatenate([np.arange(100) < n for n in (80, 20, 50, 60)]) * 1.0
    codes = codes_of(one_hot(places, 3), y, np.ones(400))
    # By rate: 1 (20 %), 2 (50 %), nothing (60 %), 0 (80 %). Nothing is 0.
    assert codes.rank.tolist() == [1.0, -2.0, -1.0] and codes.width == 1
    assert codes.numbers(one_hot([0, 1, 2, -1], 3)).ravel().tolist() == [1.0, -2.0, -1.0, 0.0]
    heavy = np.where((places == 1) & (y == 1), 99.0, 1.0)  # now label 1 is what category 1 has
    assert codes_of(one_hot(places, 3), y, heavy).rank.argmax() == 1


def test_a_rare_category_is_near_the_middle():
    places = np.array([0] * 50 + [1] * 50 + [2])
    y = np.array([1.0] * 50 + [0.0] * 50 + [1.0])
    assert codes_of(one_hot(places, 3), y, np.ones(101)).rank.argsort().tolist() == [1, 2, 0]


@pytest.mark.parametrize("weighted", [False, True])
def test_trees_tell_many_categories_apart(weighted):
    """Twenty categories with labels of their own take one split instead of nineteen."""
    rng = np.random.default_rng(0)
    places = rng.integers(20, size=4000)
    x = np.c_[rng.normal(size=4000), one_hot(places, 20)].astype(np.float32)
    y = 1.0 * (places % 2)
    weight = rng.uniform(0.5, 2, size=4000) if weighted else np.ones(4000)
    model = fit_boosting(x, y, weight)
    assert isinstance(model, Coded) and model.coded(x).shape[1] == 2
    forest = fit_forest(x, y, weight)
    np.testing.assert_allclose(forest_logits(forest, x), model.decision_function(x), atol=1e-9)
    assert ((forest_logits(forest, x) > 0) == y).all()
    assert ((model.predict_proba(x)[:, 1] > 0.5) == y).all()
    root = forest.roots[0]
    assert forest.feature[root] == -1  # the bundle


def test_without_categories_nothing_is_coded():
    x = np.random.default_rng(0).normal(size=(100, 3))
    model = fit_boosting(x, 1.0 * (x[:, 0] > 0), np.ones(100))
    np.testing.assert_array_equal(model.coded(x), x)
    assert no_codes().width == 0


def test_of_very_many_features_boosting_sees_those_that_tell():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(600, MOST_OTHERS + 200)).astype(np.float32)
    x[:, 7] = 3.0  # nobody differs
    y = 1.0 * (x[:, 650] + x[:, 3] + rng.normal(size=600) > 0)
    model, forest = fit_boosting(x, y), fit_forest(x, y, np.ones(600))
    assert model.coded(x).shape[1] == MOST_OTHERS and {3, 650} <= {*model.others}
    assert 7 not in model.others
    np.testing.assert_allclose(forest_logits(forest, x), model.decision_function(x), atol=1e-9)


def test_what_tells_most_is_what_is_correlated_most():
    rng = np.random.default_rng(1)
    x, weight = rng.normal(size=(200, 30)) * rng.uniform(0.1, 9, size=30), rng.uniform(1, 5, 200)
    y = 1.0 * (x[:, 4] / 9 - x[:, 5] + rng.normal(size=200) > 0)
    expected = [
        abs(np.cov(column, y, aweights=weight)[0, 1] / np.sqrt(np.cov(column, aweights=weight)))
        for column in x.T
    ]
    chosen = most_telling(x, y, weight, 6)
    assert chosen.tolist() == sorted(np.argsort(expected)[-6:].tolist())
