"""Features as the numbers that trees look at."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ffml.features._coded import MOST_NUMBERS, bundles, columns_of, most_telling, no_columns


def one_hot(places, categories):
    """A person whose place is -1 has none of the categories."""
    return 1.0 * (np.asarray(places)[:, None] == np.arange(categories))


@given(st.lists(st.integers(-1, 4), min_size=1), st.lists(st.integers(0, 3), min_size=1))
def test_nobody_has_two_features_of_a_guessed_category(first, second):
    rows = max(len(first), len(second))
    x = np.c_[one_hot(np.resize(first, rows), 5), one_hot(np.resize(second, rows), 4)]
    for members in bundles(x):
        assert x[:, members].sum(1).max() <= 1 and len(members) >= 3
        assert np.diff(members).tolist() == [1] * (len(members) - 1)


def test_two_columns_that_are_one_hot_are_two_categories():
    rng = np.random.default_rng(0)
    numbers, flags = rng.normal(size=(200, 1)), 1.0 * rng.integers(2, size=(200, 1))
    x = np.c_[one_hot(np.arange(200) % 5, 5), one_hot(np.arange(200) % 3, 3), numbers, flags]
    assert bundles(x) == [[0, 1, 2, 3, 4], [5, 6, 7]]
    assert bundles(x[:, [0, 1, 8]]) == []  # two may exclude each other by chance
    assert bundles(np.zeros((0, 2))) == [] and bundles(2 * x) == []


def test_categories_are_ranked_by_their_rates():
    places = np.repeat([0, 1, 2, -1], 100)
    y = np.concatenate([np.arange(100) < n for n in (80, 20, 50, 60)]) * 1.0
    columns = columns_of(one_hot(places, 3), y, np.ones(400), [[0, 1, 2]])
    # By rate: 1 (20 %), 2 (50 %), nothing (60 %), 0 (80 %). Nothing is 0.
    assert columns.place.tolist() == [1.0, -2.0, -1.0] and columns.width == 1
    assert columns.of(one_hot([0, 1, 2, -1], 3)).ravel().tolist() == [1.0, -2.0, -1.0, 0.0]
    heavy = np.where((places == 1) & (y == 1), 99.0, 1.0)  # now label 1 is what category 1 has
    assert columns_of(one_hot(places, 3), y, heavy, [[0, 1, 2]]).place.argmax() == 1


def test_a_rare_category_is_near_the_middle():
    places = np.array([0] * 50 + [1] * 50 + [2])
    y = np.array([1.0] * 50 + [0.0] * 50 + [1.0])
    columns = columns_of(one_hot(places, 3), y, np.ones(101), [[0, 1, 2]])
    assert columns.place.argsort().tolist() == [1, 2, 0]


def test_numbers_come_first_and_categories_may_lie_anywhere():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(60, 2))
    job, town = one_hot(np.arange(60) % 3, 3), one_hot(np.arange(60) % 2, 2)
    table = np.c_[job[:, 0], x[:, 0], job[:, 1], town, x[:, 1], job[:, 2]]
    columns = columns_of(table, 1.0 * (x[:, 0] > 0), np.ones(60), [[0, 2, 6], [3, 4]])
    seen = columns.of(table)
    assert columns.feature.tolist() == [1, 5] and seen.shape == (60, 4)
    for number, original in zip(seen.T, x.T, strict=False):
        np.testing.assert_array_equal(np.argsort(number), np.argsort(original))
        assert np.abs(number).max() == 1 and np.sort(number)[30] == 0
    assert len(np.unique(seen[:, 2])) == 3 and len(np.unique(seen[:, 3])) == 2


@pytest.mark.parametrize(
    ("shift", "scale"), [(1.7e9, 1.0), (-3e15, 1e4), (0.0, 1e-300), (0.0, 1e300), (5.0, 1e30)]
)
def test_numbers_keep_their_digits_at_any_scale(shift, scale):
    """As far as double precision has them; single precision has none left of most of these."""
    x = np.random.default_rng(0).integers(0, 3000, size=(500, 1)) / 1.0
    y, weight = 1.0 * (x[:, 0] > 1000), np.ones(500)
    plain = columns_of(x, y, weight, []).of(x)
    moved = x * scale + shift
    np.testing.assert_allclose(columns_of(moved, y, weight, []).of(moved), plain, atol=2e-7)


def test_an_outlier_does_not_cost_the_others_their_digits():
    x = np.arange(1001.0)[:, None]
    x[0] = 1e15
    seen = columns_of(x, 1.0 * (x[:, 0] > 500), np.ones(1001), []).of(x)
    assert len(np.unique(seen)) == 1001


def test_what_is_missing_stays_missing_and_constants_are_0():
    x = np.array([[1.0, 2.0, np.nan], [np.nan, 2.0, np.nan], [5.0, 2.0, np.nan]])
    seen = columns_of(x, np.array([0.0, 1.0, 1.0]), np.ones(3), []).of(x)
    np.testing.assert_array_equal(np.isnan(seen), np.isnan(x))
    assert not seen[:, 1].any()
    assert no_columns().of(x).shape == (3, 0)


def test_of_very_many_features_boosting_sees_those_that_tell():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(600, MOST_NUMBERS + 200)).astype(np.float32)
    x[:, 7] = 3.0  # nobody differs
    y = 1.0 * (x[:, 650] + x[:, 3] + rng.normal(size=600) > 0)
    columns = columns_of(x, y, np.ones(600), [])
    assert columns.width == MOST_NUMBERS and {3, 650} <= {*columns.feature}
    assert 7 not in columns.feature


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
