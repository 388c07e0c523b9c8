"""Categories as one number each."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ffml.features._coded import bundles, codes_of, no_codes


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
    codes = codes_of(one_hot(places, 3), y, np.ones(400), [[0, 1, 2]])
    # By rate: 1 (20 %), 2 (50 %), nothing (60 %), 0 (80 %). Nothing is 0.
    assert codes.place.tolist() == [1.0, -2.0, -1.0] and codes.width == 1
    assert codes.numbers(one_hot([0, 1, 2, -1], 3)).ravel().tolist() == [1.0, -2.0, -1.0, 0.0]
    heavy = np.where((places == 1) & (y == 1), 99.0, 1.0)  # now label 1 is what category 1 has
    assert codes_of(one_hot(places, 3), y, heavy, [[0, 1, 2]]).place.argmax() == 1


def test_a_rare_category_is_near_the_middle():
    places = np.array([0] * 50 + [1] * 50 + [2])
    y = np.array([1.0] * 50 + [0.0] * 50 + [1.0])
    codes = codes_of(one_hot(places, 3), y, np.ones(101), [[0, 1, 2]])
    assert codes.place.argsort().tolist() == [1, 2, 0]


def test_categories_may_lie_anywhere():
    places = np.arange(60) % 3
    job, town = one_hot(places, 3), one_hot(np.arange(60) % 2, 2)
    x = np.c_[job[:, 0], np.zeros(60), job[:, 1], town, job[:, 2]].astype(np.float32)
    codes = codes_of(x, 1.0 * (places > 0), np.ones(60), [[0, 2, 5], [3, 4]])
    numbers = codes.numbers(x)
    assert codes.feature.tolist() == [0, 2, 5, 3, 4] and numbers.shape == (60, 2)
    np.testing.assert_array_equal(numbers[:, 0], codes.place[places])
    assert len(np.unique(numbers[:, 1])) == 2
    assert no_codes().numbers(x).shape == (60, 0)
