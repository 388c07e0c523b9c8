"""How much of what trees say varies with each input: it adds up, tree by tree."""

import numpy as np
import pytest

from ffml.features import forest as module
from ffml.features.forest import fit_forest
from ffml.features.importance import variance_by_feature
from ffml.features.scoring import forest_logits, no_forest


def people(rows=600, seed=0):
    """Label by the first number and by a category of three; the last number is noise."""
    rng = np.random.default_rng(seed)
    category = rng.integers(3, size=rows)
    x = np.c_[rng.normal(size=rows), np.eye(3)[category], rng.normal(size=rows)]
    return x, 1.0 * (x[:, 0] + 2.0 * (category == 1) + 0.2 * rng.normal(size=rows) > 0.5)


def test_the_parts_of_one_tree_add_up_to_its_variance(monkeypatch):
    monkeypatch.setattr(module, "FITTED_TREES", 1)
    x, y = people()
    forest = fit_forest(x, y, np.ones(len(x)), [[1, 2, 3]])
    parts = variance_by_feature(forest, x)
    assert parts.sum() == pytest.approx(forest_logits(forest, x).var())
    assert (parts[[2, 3]] == 0).all()  # a category counts at its first feature


def test_what_matters_has_the_larger_part_and_what_does_not_has_hardly_any():
    x, y = people()
    parts = variance_by_feature(fit_forest(x, y, np.ones(len(x)), [[1, 2, 3]]), x)
    shares = parts / parts.sum()
    assert shares[0] > 0.3 and shares[1] > 0.3 and shares[4] < 0.1


def test_no_trees_and_nobody_have_no_parts():
    x, y = people()
    assert not variance_by_feature(no_forest(), x).any()
    assert not variance_by_feature(fit_forest(x, y, np.ones(len(x))), x[:0]).any()
