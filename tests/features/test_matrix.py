"""What XGBoost is given to look at."""

import numpy as np
import pytest

from ffml.features._coded import codes_of, no_codes
from ffml.features._matrix import MISSING, MOST_NUMBERS, matrix_of, most_telling


def seen(x):
    return matrix_of(x, 1.0 * (x[:, 0] > 0), np.ones(len(x)), no_codes()).seen


def test_numbers_come_first_and_categories_behind_them():
    rng = np.random.default_rng(0)
    numbers, jobs = rng.normal(size=(60, 2)), np.eye(3)[np.arange(60) % 3]
    x, y = np.c_[numbers[:, 0], jobs, numbers[:, 1]], 1.0 * (numbers[:, 0] > 0)
    matrix = matrix_of(x, y, np.ones(60), codes_of(x, y, np.ones(60), [[1, 2, 3]]))
    assert matrix.source.tolist() == [0, 4, -1] and matrix.seen.dtype == np.float32
    for column, original in zip(matrix.seen.T, numbers.T, strict=False):
        np.testing.assert_array_equal(np.argsort(column), np.argsort(original))
        assert np.abs(column).max() == 1 and np.sort(column)[30] == 0
    assert len(np.unique(matrix.seen[:, 2])) == 3


@pytest.mark.parametrize(
    ("shift", "scale"), [(1.7e9, 1.0), (-3e15, 1e4), (0.0, 1e-300), (0.0, 1e290), (5.0, 1e30)]
)
def test_numbers_keep_their_digits_at_any_scale(shift, scale):
    """As far as double precision has them; single precision has none left of most of these."""
    x = np.random.default_rng(0).integers(0, 3000, size=(500, 1)) / 1.0
    np.testing.assert_allclose(seen(x * scale + shift), seen(x), atol=2e-7)


def test_an_outlier_does_not_cost_the_others_their_digits():
    x = np.arange(1001.0)[:, None]
    x[0] = 1e15
    assert len(np.unique(seen(x))) == 1001


def test_what_is_missing_is_above_all_and_constants_are_0():
    x = np.array([[1.0, 2.0, np.nan], [np.nan, 2.0, np.nan], [5.0, 2.0, np.nan]])
    expected = [[-1, 0, MISSING], [MISSING, 0, MISSING], [0, 0, MISSING]]
    np.testing.assert_array_equal(seen(x), expected)


def test_thresholds_lie_halfway_between_people():
    x = np.array([[3.0, 1e9 + 1], [1.0, 1e9 + 7], [9.0, np.nan], [1.0, 1e9]])
    matrix = matrix_of(x, np.ones(4), np.ones(4), no_codes())
    order = np.sort(matrix.seen, axis=0)
    found = matrix.thresholds(np.array([0, 0, 1, 1]), np.r_[order[2:, 0], order[1:3, 1]])
    assert found.tolist() == [2.0, 6.0, 1e9 + 0.5, 1e9 + 4]
    above_all = matrix.thresholds(np.array([1]), np.array([MISSING]))
    assert 1e9 + 7 < above_all[0] < 1e300
    close = np.array([[1.0], [np.nextafter(1.0, 2)]])
    matrix = matrix_of(close, np.ones(2), np.ones(2), no_codes())
    assert matrix.thresholds(np.array([0]), np.array([0.0])).tolist() == [1.0]


def test_of_very_many_features_boosting_sees_those_that_tell():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(600, MOST_NUMBERS + 200)).astype(np.float32)
    x[:, 7] = 3.0  # nobody differs
    y = 1.0 * (x[:, 650] + x[:, 3] + rng.normal(size=600) > 0)
    source = matrix_of(x, y, np.ones(600), no_codes()).source
    assert len(source) == MOST_NUMBERS and {3, 650} <= {*source} and 7 not in source


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
