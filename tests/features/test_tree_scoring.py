"""Decisions of trees that are kept as arrays, and arrays that are no trees."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ffml.base import FFMLError
from ffml.features.forest import fit_forest
from ffml.features.scoring import CHUNK_ROWS, Forest, forest_logits, forests_logits, no_forest


def people(rows, seed=0):
    """Three numbers, of which one may be missing, ten of two values, and two categories."""
    rng = np.random.default_rng(seed)
    jobs, regions = (np.eye(4)[rng.integers(4, size=rows)] for _ in range(2))
    x = np.c_[rng.normal(size=(rows, 3)), rng.integers(2, size=(rows, 10)), jobs, regions]
    x[rng.uniform(size=rows) < 0.2, 2] = np.nan
    return x


def fitted(seed):
    x = people(900)
    score = x[:, 0] * x[:, 1] + np.nan_to_num(x[:, 2], nan=1.0) + x[:, 14] - x[:, 18 + seed]
    return fit_forest(x, 1.0 * (score + x[:, 3 + seed] * x[:, 7] > 0.5), np.ones(900))


FOREST, OTHER = fitted(0), fitted(1)


def walked(forest, x):
    """Go through the trees person by person."""
    numbers, logits = forest.codes.numbers(x), np.full(len(x), float(forest.start))
    for root in forest.roots:
        for i in range(len(x)):
            node = root
            while forest.left[node] >= 0:
                feature = forest.feature[node]
                value = x[i, feature] if feature >= 0 else numbers[i, -1 - feature]
                above = not value <= forest.threshold[node]  # as what is missing is
                node = root + forest.left[node] + above
            logits[i] += forest.threshold[node]
    return logits


def test_logits_are_those_of_a_walk_through_the_trees():
    """Of people, of extreme values, of values at thresholds and next to them."""
    x = people(100, seed=1)
    at = FOREST.threshold[(FOREST.left >= 0) & (FOREST.feature >= 0)]
    odd = [np.nan, 1e300, -1e300, 0.0, *at, *np.nextafter(at, 9), *np.nextafter(at, -9)]
    mixed = people(100, seed=2)
    mixed[:, :13] = np.random.default_rng(0).choice(odd, size=(100, 13))
    assert np.isnan(x).any() and (FOREST.feature < 0).any()
    for rows in (x, mixed, x.astype(np.float32)):
        np.testing.assert_allclose(forest_logits(FOREST, rows), walked(FOREST, rows), atol=1e-9)


def test_forests_that_are_asked_together_say_what_each_says_alone():
    x = people(CHUNK_ROWS + 300, seed=2)
    logits = forests_logits([FOREST, no_forest(), OTHER], x)
    np.testing.assert_array_equal(logits[:, 0], forest_logits(FOREST, x))
    np.testing.assert_array_equal(logits[:, 2], forest_logits(OTHER, x))
    np.testing.assert_array_equal(forest_logits(OTHER, x[-400:]), logits[-400:, 2])
    assert not logits[:, 1].any() and forests_logits([FOREST], x[:0]).shape == (0, 1)
    chances = FOREST.predict_proba(x[:9])
    np.testing.assert_allclose(chances.sum(1), 1)
    np.testing.assert_array_equal(chances[:, 1] > 0.5, logits[:9, 0] > 0)


def test_people_with_too_few_features_are_refused():
    with pytest.raises(FFMLError, match=r"^the trees of boosting are damaged, or not for 3 feat"):
        forest_logits(FOREST, np.zeros((1, 3)))


@pytest.mark.parametrize("node", [0, -2, 2**31 - 1, -(2**31), 28])
def test_trees_that_go_in_circles_or_nowhere_are_refused(node):
    left = FOREST.left.copy()
    left[0] = node
    with pytest.raises(FFMLError, match=r"damaged[^\n]*restore a copy of the file$"):
        forest_logits(FOREST._replace(left=left), people(5))


@settings(max_examples=300)
@given(st.data())
def test_arrays_with_any_wrong_bytes_decide_or_are_refused(data):
    """No crash, no endless walk, no other error: this is what a file with wrong numbers does."""
    parts = [*FOREST[:5], *FOREST.codes]
    i = data.draw(st.integers(0, len(parts) - 1))
    damaged = bytearray(parts[i].tobytes())
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(damaged) - 1))
        damaged[at] = data.draw(st.integers(0, 255))
    less = parts[i].ndim * data.draw(st.integers(0, 1))  # one is missing
    new = np.frombuffer(bytes(damaged), parts[i].dtype)[: parts[i].size - less]
    parts[i] = new.reshape(()) if parts[i].ndim == 0 else new
    wrong = Forest(*parts[:5], type(FOREST.codes)(*parts[5:]))
    try:
        logits = forest_logits(wrong, people(20))
    except FFMLError as error:
        assert "restore a copy of the file" in str(error)
    else:
        assert logits.shape == (20,) and np.isfinite(logits).all()
