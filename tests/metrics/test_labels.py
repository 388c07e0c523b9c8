"""Whether labels depend on the decision, from counts alone."""

import numpy as np
import pytest

from ffml import metrics
from ffml.metrics.labels import NO_LABELS, SELECTIVE_WORDS, label_shares, measurable, why_unmeasured


def counts(refused, approved):
    """One group: (label 0, label 1, not known) of the refused and of the approved."""
    return np.array([np.stack([refused, approved], -1)])


@pytest.mark.parametrize(
    ("refused", "approved", "expected"),
    [
        ((0, 0, 100), (20, 60, 0), SELECTIVE_WORDS),  # the approved only
        ((3, 2, 95), (20, 60, 20), SELECTIVE_WORDS),  # or nearly so
        ((20, 60, 0), (0, 0, 100), SELECTIVE_WORDS),  # the refused only
        ((0, 0, 5), (1, 0, 5), SELECTIVE_WORDS),  # among few people too
        ((1, 0, 99), (4, 8, 5), ""),  # of few labels a low share tells nothing
        ((20, 20, 60), (20, 60, 20), ""),  # not the same share, but no such difference
        ((40, 60, 0), (20, 80, 0), ""),
        ((0, 0, 0), (20, 60, 20), ""),  # nobody was refused
        ((0, 0, 50), (0, 0, 50), NO_LABELS),
        ((0, 0, 0), (0, 0, 0), "no rows"),
    ],
)
def test_who_has_a_label(refused, approved, expected):
    table = counts(refused, approved)
    assert why_unmeasured(table) == expected
    undefined = metrics.undefined_reasons(table)
    assert bool(expected) == ("accuracy" in undefined)
    if expected:
        values = metrics.judge(table).values
        assert all(np.isnan(values[name]) for name in ("accuracy", "eo", "balanced_accuracy"))


def test_complete_tasks_do_not_hide_the_others():
    complete, selective = counts((40, 60, 0), (20, 80, 0)), counts((0, 0, 90), (30, 60, 0))
    rounds = np.stack([complete] * 5 + [selective] * 3)
    assert not why_unmeasured(rounds.sum(0)) and label_shares(rounds).selective
    blind = measurable(rounds)
    assert metrics.labelled(blind).sum() == 0 and (blind.sum(-2) == rounds.sum(-2)).all()
    assert measurable(rounds[:5]) is not None and (measurable(rounds[:5]) == rounds[:5]).all()
    assert label_shares(rounds[:5]).labelled == 1000


def test_rates_of_everybody_are_those_of_fairlearn():
    fairlearn = pytest.importorskip("fairlearn.metrics")
    rng = np.random.default_rng(0)
    groups, decisions = rng.integers(0, 4, 900), rng.integers(0, 2, 900)
    labels = rng.integers(-1, 2, 900)
    table = metrics.contingency_table(labels, decisions, groups, 4)
    frame = fairlearn.MetricFrame(
        metrics=fairlearn.selection_rate,
        y_true=decisions,
        y_pred=decisions,
        sensitive_features=groups,
    )
    np.testing.assert_allclose(metrics.selection_rates(table), frame.by_group)
    assert metrics.discrimination(table) == pytest.approx(frame.difference())
    assert metrics.demographic_parity_ratio(table) == pytest.approx(frame.ratio())
    known = labels >= 0
    frame = fairlearn.MetricFrame(
        metrics=fairlearn.true_positive_rate,
        y_true=labels[known],
        y_pred=decisions[known],
        sensitive_features=groups[known],
    )
    np.testing.assert_allclose(metrics.true_positive_rates(table), frame.by_group)
