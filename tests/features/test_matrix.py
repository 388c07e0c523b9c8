"""What XGBoost is given to look at."""

import numpy as np
import pytest

from ffml.features._coded import codes_of, no_codes
from ffml.features._matrix import MOST_BINS, MOST_NUMBERS, Cuts, edges_of, matrix_of, most_telling


def test_numbers_come_first_and_categories_behind_them():
    rng = np.random.default_rng(0)
    numbers, jobs = rng.normal(size=(60, 2)), np.eye(3)[np.arange(60) % 3]
    x, y = np.c_[numbers[:, 0], jobs, numbers[:, 1]], 1.0 * (numbers[:, 0] > 0)
    matrix = matrix_of(x, y, np.ones(60), codes_of(x, y, np.ones(60), [[1, 2, 3]]), Cuts(x))
    assert matrix.source.tolist() == [0, 4, -1] and matrix.bins.dtype == np.float32
    for column, original in zip(matrix.bins.T, numbers.T, strict=False):
        np.testing.assert_array_equal(column, np.argsort(np.argsort(original)))
    assert len(np.unique(matrix.bins[:, 2])) == 3
    assert matrix.thresholds(np.array([0]), np.array([59.0])) < numbers[:, 0].max()


@pytest.mark.parametrize(
    ("shift", "scale"), [(1.7e9, 1.0), (-3e15, 1e4), (0.0, 1e-300), (0.0, 1e290), (5.0, 1e30)]
)
def test_numbers_keep_their_digits_at_any_scale(shift, scale):
    """As far as double precision has them; single precision has none left of most of these."""
    x = 1.0 * np.random.default_rng(0).integers(0, 3000, size=4000)
    bins = [np.searchsorted(edges_of(values), values) for values in (x, x * scale + shift)]
    np.testing.assert_array_equal(*bins)


def test_few_values_have_a_bin_each_however_rare_and_large():
    x = np.repeat([0.0, 1.0, 2.0, 7.0, 1e15], [9000, 1, 1, 1, 1])
    assert edges_of(x).tolist() == [0.5, 1.5, 4.5, 5e14 + 3.5]


def test_many_values_are_cut_into_bins_of_as_many_rows():
    x = np.random.default_rng(0).exponential(size=20_000)
    counts = np.bincount(np.searchsorted(edges_of(x), x))
    assert len(counts) == MOST_BINS and counts.min() > 0.9 * len(x) / MOST_BINS


def test_what_is_missing_is_above_all_and_constants_have_no_edge():
    x = np.array([1.0, np.nan, 5.0])
    assert np.searchsorted(edges_of(x), x).tolist() == [0, 2, 1]
    assert edges_of(np.ones(9)).tolist() == [] and edges_of(np.full(9, np.nan)).tolist() == [1e300]


def test_edges_lie_between_neighbours():
    low, high = 1.0, np.nextafter(1.0, 2)
    assert edges_of(np.array([high, low])).tolist() == [low]


def test_of_very_many_features_boosting_sees_those_that_tell():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(600, MOST_NUMBERS + 200)).astype(np.float32)
    x[:, 7] = 3.0  # nobody differs
    y = 1.0 * (x[:, 650] + x[:, 3] + rng.normal(size=600) > 0)
    source = matrix_of(x, y, np.ones(600), no_codes(), Cuts(x)).source
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
