"""The label rate of a task, where its own labels are few or not there yet."""

import numpy as np
import pytest
from scipy.special import expit

from ffml.base import Batch
from ffml.wrappers._label_rate import PRIOR_ROWS, best_shift, label_rate, shift_to, try_shifts


def batch(y, weight=None):
    ones = np.ones(len(y))
    return Batch(np.zeros((len(y), 1)), np.array(y, float), ones[:, None], ones, ones, len(y))


def test_own_rows_count_beside_the_tasks_before():
    before = np.array([900.0, 100.0])
    assert label_rate(before, batch([])) == pytest.approx(101 / 1002)
    mixed = (40 * 0.5 + PRIOR_ROWS * 101 / 1002) / (40 + PRIOR_ROWS)
    assert label_rate(before, batch([0, 1] * 20)) == pytest.approx(mixed)


def test_a_shift_makes_the_mean_a_rate_and_gives_up_where_it_cannot():
    rng = np.random.default_rng(0)
    logits, weight = rng.normal(size=500), rng.random(500)
    a = shift_to(0.1, logits, weight)
    assert np.average(expit(logits + a), weights=weight) == pytest.approx(0.1, abs=1e-7)
    assert shift_to(0.5, np.full(3, np.nan), np.ones(3)) == 0
    assert shift_to(0.5, np.full(3, 100.0), np.ones(3)) == 0
    assert shift_to(0.5, logits, np.zeros(500)) == 0


@pytest.mark.parametrize(("drift", "best"), [(0.0, 0.0), (2.0, 1.0)])
def test_the_shift_that_has_done_best_is_taken(drift, best):
    """Scores drift while labels do not, or they go up with the rate of labels."""
    rng, losses = np.random.default_rng(0), np.zeros(3)
    assert best_shift(losses) == 0
    for _ in range(5):
        truth = rng.normal(size=2000) + (1.0 if not drift else 0.0)
        y = rng.random(2000) < expit(truth)
        losses = try_shifts(losses, truth + drift, 0.5, batch(y))
    assert best_shift(losses) == best
