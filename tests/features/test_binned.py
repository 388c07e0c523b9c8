import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier

from ffml.features._binned import MOST_BINS, OnBins


def boosting():
    return HistGradientBoostingClassifier(max_iter=10, early_stopping=False, random_state=0)


def people(seed=0, rows=400):
    rng = np.random.default_rng(seed)
    x = np.stack([rng.integers(0, 200, rows) / 7, rng.integers(0, 2, rows), np.ones(rows)], 1)
    y = (x[:, 0] / 15 + x[:, 1] + rng.normal(size=rows) > 1.5).astype(int)
    return x, y, rng.uniform(0.2, 5, size=rows)


def test_with_few_values_it_is_what_scikit_learn_fits_to_weighted_rows():
    x, y, weight = people()
    own = OnBins(boosting()).fit(x, y, weight)
    theirs = boosting().fit(x, y, sample_weight=weight)
    new = people(1)[0]  # values that were not met among them
    np.testing.assert_allclose(own.decision_function(new), theirs.decision_function(new), atol=1e-9)
    np.testing.assert_allclose(own.predict_proba(new), theirs.predict_proba(new), atol=1e-9)


def test_weights_count_and_bins_do_not_depend_on_them():
    x, y, weight = people()
    models = [OnBins(boosting()).fit(x, y, w) for w in (weight, 3 * weight, weight * (1 + 9 * y))]
    first, tripled, positives = (model.predict_proba(x)[:, 1].mean() for model in models)
    assert positives > first + 0.1
    assert tripled == pytest.approx(first, abs=0.05)
    for a, b in zip(models[0].edges, models[2].edges, strict=True):
        np.testing.assert_array_equal(a, b)


def test_many_values_are_cut_into_bins_of_as_many_rows():
    x = np.random.default_rng(0).exponential(size=(20_000, 1))
    model = OnBins(boosting()).fit(x, (x[:, 0] > 1).astype(int), np.ones(len(x)))
    counts = np.bincount(model.numbered(x)[:, 0].astype(int))
    assert len(counts) == MOST_BINS
    assert counts.min() > 0.9 * len(x) / MOST_BINS
