"""Whether labels depend on the decision, from counts alone."""

import numpy as np
import pytest

from ffml import metrics
from ffml.base import SensitiveColumn
from ffml.metrics.answer import answer
from ffml.metrics.labels import (
    NO_LABELS,
    SELECTED_WORDS,
    SELECTIVE_WORDS,
    label_shares,
    measurable,
    selection,
    why_unmeasured,
)
from ffml.metrics.verdict import NOT_KEPT, UNMEASURABLE


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


# -- labels of people whom somebody else approved before -------------------------------------

SEX = SensitiveColumn("sex", ("F", "M"))


def selected(seed, unequal=0.0, taste=0.0, tasks=8, size=400):
    """Decide about people by a score; labels are of those whom somebody approved before.

    Args:
        seed: of the draws.
        unequal: how much higher a woman had to be for the earlier approval.
        taste: how much the earlier approval went by a thing of its own, and not by the score.
        tasks: how many.
        size: people of a task.

    Returns:
        Counts by task with the labels that are known, and with all.
    """
    rng, n = np.random.default_rng(seed), tasks * size
    task, sex, score = (
        np.repeat(np.arange(tasks), size),
        rng.integers(2, size=n),
        rng.normal(size=n),
    )
    label = (score + rng.normal(size=n) > 0).astype(int)
    decision = (score - 0.9 * (sex == 0) + 0.8 * rng.normal(size=n) > -0.4).astype(int)
    before = (1 - taste) * score + taste * rng.normal(size=n) > 0.2 + unequal * (sex == 0)
    known = np.where(before, label, -1)
    return tuple(
        np.stack(
            [
                metrics.contingency_table(some[task == t], decision[task == t], sex[task == t], 2)
                for t in range(tasks)
            ]
        )
        for some in (known, label)
    )


def equal_opportunity(tables, bound=0.15):
    (found,) = answer({"sex": tables}, [SEX], [("equal-opportunity", bound)])["notions"]
    return found


@pytest.mark.parametrize("unequal", [0.0, 1.0])
@pytest.mark.parametrize("seed", range(3))
def test_labels_of_those_approved_before_cannot_answer(seed, unequal):
    """All labels show a gap of 20 points or more; those that are there may show 8, within 15."""
    known, everybody = selected(seed, unequal, taste=0.5)
    true, shown = (
        np.diff(metrics.true_positive_rates(one.sum(0)))[0] for one in (everybody, known)
    )
    assert true > 0.2 and (shown < 0.15 or not unequal)
    found = equal_opportunity(known)
    assert (found["verdict"], found["unmeasured"]) == (UNMEASURABLE, SELECTED_WORDS)
    assert found["fact"] is None and metrics.labelled(measurable(known)).sum() == 0
    assert equal_opportunity(everybody)["verdict"] == NOT_KEPT


def test_who_has_labels_more_often_is_said():
    known, _ = selected(0, unequal=1.0, taste=1.0)  # the decision of now does not show it
    assert (selection(known, "sex", SEX.groups).by, selection(known).higher) == ("sex", "1")
    assert selection(known, "plea", ["for", "1 against 2"]).higher == "1 against 2"
    known, _ = selected(0)
    assert (selection(known).by, selection(known).higher) == ("decision", "1")


def test_what_leaves_no_trace_is_not_seen():
    """Selected by a thing that neither groups nor decisions have to do with."""
    known, _ = selected(0, taste=1.0)
    assert selection(known) is None and not why_unmeasured(known)


@pytest.mark.parametrize("size", [15, 60, 400])
def test_labels_that_are_missing_by_chance_or_late_are_not_taken_for_selected(size):
    """Half of them at random, those of the last tasks all, and of one task more than of others."""
    rng, found = np.random.default_rng(size), 0
    for seed in range(100):
        _, tables = selected(seed, size=size)
        share = rng.choice([0.0, 0.2, 0.5, 0.9, 1.0], (len(tables), 1, 1, 1))
        there = rng.binomial(tables[:, :, :2], share)
        late = np.concatenate([there, (tables[:, :, :2] - there).sum(2, keepdims=True)], 2)
        found += selection(late) is not None
    assert found <= 1
