"""Decisions of trees that are kept as arrays, and arrays that are no trees."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ffml.base import FFMLError
from ffml.features.forest import fit_forest
from ffml.features.scoring import CHUNK_ROWS, Forest, forest_logits, forests_logits, no_forest


def people(rows, seed=0):
    """Three numbers, of which one may be missing, and four categories."""
    rng = np.random.default_rng(seed)
    x = np.c_[rng.normal(size=(rows, 3)), np.eye(4)[rng.integers(4, size=rows)]]
    x[rng.uniform(size=rows) < 0.2, 2] = np.nan
    return x


@pytest.fixture(scope="module")
def forest():
    x = people(900)
    y = x[:, 0] * x[:, 1] + np.nan_to_num(x[:, 2], nan=1.0) + x[:, 4] > 0.5
    return fit_forest(x, 1.0 * y, np.ones(900))


def walked(forest, x):
    """Go through the trees person by person."""
    columns, logits = forest.columns.of(x), np.full(len(x), float(forest.start))
    for root in forest.roots:
        for i, person in enumerate(columns):
            node = 0
            while forest.left[root + node] >= 0:
                value, at = person[forest.column[root + node]], root + node
                goes_left = (
                    forest.missing_left[at] if np.isnan(value) else (value < forest.threshold[at])
                )
                node = forest.left[at] + (not goes_left)
            logits[i] += forest.threshold[root + node]
    return logits


def test_logits_are_those_of_a_walk_through_the_trees(forest):
    x = people(200, seed=1)
    assert np.isnan(x).any() and forest.missing_left.any() and (forest.missing_left == 0).any()
    np.testing.assert_allclose(forest_logits(forest, x), walked(forest, x), atol=1e-5)
    odd = np.random.default_rng(0).choice([np.nan, 1e30, -1e30, 0.0, *x[:9, 0]], size=(200, 7))
    np.testing.assert_allclose(forest_logits(forest, odd), walked(forest, odd), atol=1e-5)


def test_many_are_decided_about_as_few_are(forest):
    x = people(CHUNK_ROWS + 300, seed=2)
    logits = forests_logits([forest, no_forest()], x)
    np.testing.assert_array_equal(logits[-400:, 0], forest_logits(forest, x[-400:]))
    assert not logits[:, 1].any() and logits.shape == (len(x), 2)
    assert forests_logits([forest], x[:0]).shape == (0, 1)
    chances = forest.predict_proba(x[:9])
    np.testing.assert_allclose(chances.sum(1), 1)
    np.testing.assert_array_equal(chances[:, 1] > 0.5, logits[:9, 0] > 0)


def test_people_with_too_few_features_are_refused(forest):
    with pytest.raises(FFMLError, match=r"^the trees of boosting are damaged, or not for 3 feat"):
        forest_logits(forest, np.zeros((1, 3)))


@pytest.mark.parametrize("node", [0, -1, 2**31 - 1, -(2**31), 28])
def test_trees_that_go_in_circles_or_nowhere_are_refused(forest, node):
    left = forest.left.copy()
    left[0] = node
    if node != -1:  # a root that is a leaf is a tree
        with pytest.raises(FFMLError, match=r"damaged[^\n]*restore a copy of the file$"):
            forest_logits(forest._replace(left=left), people(5))


@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_arrays_with_any_wrong_bytes_decide_or_are_refused(forest, data):
    """No crash, no endless walk, no other error: this is what a file with wrong numbers does."""
    parts = [*forest[:6], *forest.columns]
    i = data.draw(st.integers(0, len(parts) - 1))
    damaged = bytearray(parts[i].tobytes())
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(damaged) - 1))
        damaged[at] = data.draw(st.integers(0, 255))
    size = parts[i].dtype.itemsize
    end = len(damaged) - size * data.draw(st.integers(0, 1)) * (parts[i].ndim > 0)
    new = np.frombuffer(bytes(damaged[:end]), parts[i].dtype)
    parts[i] = new.reshape(()) if parts[i].ndim == 0 else new
    wrong = Forest(*parts[:6], type(forest.columns)(*parts[6:]))
    try:
        logits = forest_logits(wrong, people(20))
    except FFMLError as error:
        assert "restore a copy of the file" in str(error)
    else:
        assert logits.shape == (20,) and not np.isnan(logits).any()
