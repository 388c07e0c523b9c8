"""Bounds moved by how far gaps on new tasks were from those learned from."""

from functools import partial

import jax
import numpy as np
import pytest
from closed_forms import constant_tasks, learn, scalar_problem

from ffml.base import Band, FFMLError
from ffml.methods import ffml, m_ftml
from ffml.methods._inner import primal_dual_steps
from ffml.methods.outer import BETWEEN_TASKS, task_precision
from ffml.methods.sampling import draw_support_and_query
from ffml.problem.gaps import shifted
from ffml.wrappers import corrected
from ffml.wrappers._corrected import Surprise, expected_shift, update_surprise


def test_a_task_counts_by_its_rows_but_never_more_than_tasks_differ():
    rows = np.array([0.0, 1.0, 20.0, 1e9])
    expected = np.array([0.0, 1 / 1.05, 10.0, 1 / BETWEEN_TASKS])
    np.testing.assert_allclose(task_precision(rows), expected, rtol=1e-6)


def test_the_shift_is_a_mean_with_one_large_task_that_did_not_surprise():
    surprise = Surprise(np.zeros(1), np.zeros(1))
    for difference in (0.4, 0.2):  # with weight 10 each, and 0 with weight 20
        surprise = update_surprise(surprise, np.array([difference]), np.array([20.0]), memory=1.0)
    np.testing.assert_allclose(expected_shift(surprise), [(4 + 2) / 40], rtol=1e-6)


def test_what_was_met_long_ago_is_forgotten():
    surprise = Surprise(np.zeros(1), np.zeros(1))
    for difference in [1.0] + [0.2] * 200:
        surprise = update_surprise(surprise, np.array([difference]), np.array([1e9]), memory=0.9)
    np.testing.assert_allclose(surprise.total / surprise.weight, [0.2], rtol=1e-5)


def test_a_task_without_both_groups_changes_nothing():
    before = update_surprise(
        Surprise(np.zeros(2), np.zeros(2)), np.array([0.3, 0.2]), np.array([10.0, 5.0]), 1.0
    )
    after = update_surprise(before, np.array([0.0, 0.4]), np.array([0.0, 5.0]), 1.0)
    np.testing.assert_array_equal(after.total[0], before.total[0])
    assert after.weight[0] == before.weight[0] and after.weight[1] > before.weight[1]


@pytest.mark.parametrize("memory", [0.0, 1.0])
def test_bounds_are_moved_by_the_gaps_that_new_tasks_show(float64, memory):
    """Gaps are properties of tasks here: 0 for those in memory, 0.3 for decisions on the newest."""
    problem = scalar_problem(limit=1.0)
    notion = problem.constraints[0]._replace(
        bound=Band(0.0, 0.02),
        score=lambda h, batch: 0 * h + batch.x[:, 0] / 2 * batch.s[:, 0],
        judged=lambda h, batch: batch.x[:, 0] * batch.s[:, 0],
    )
    problem = problem._replace(constraints=(notion,))
    method = partial(ffml, inner=primal_dual_steps(0.1, 1), num_outer_steps=2, shots=2)
    learner = corrected(method, memory=memory, shots=2)(problem)
    update, state = jax.jit(learner.update), learner.init(jax.random.key(0))
    newest = jax.tree.map(lambda leaf: leaf[0], constant_tasks([0.3]))
    for t in range(4):
        state, info = update(jax.random.key(t), state, newest, constant_tasks([0.0, 0.0]))
    # Rounds 3 and 4 meet a task after something was learned. Two rows on each side count as one.
    weight = (1 + memory) / 1.05
    expected = 0.3 * weight / (weight + 20)
    assert float(learner.knowledge(state).shift[0]) == pytest.approx(expected, rel=1e-9)
    assert float(info.constraint[0]) == pytest.approx(expected - 0.02, rel=1e-9)
    assert float(info.gaps[0]) == 0.0  # what is learned from is compared as it is


def test_it_is_the_method_on_the_moved_problem(float64):
    method = partial(ffml, inner=primal_dual_steps(0.1, 2), num_outer_steps=3, shots=2)
    problem, shift = scalar_problem(limit=0.25), np.array([0.1])
    learner = corrected(method)(problem)
    known = learner.knowledge(learner.init(jax.random.key(0)))._replace(shift=shift)
    known = known._replace(inner=known.inner._replace(multipliers=np.ones(1)))
    support, _ = draw_support_and_query(
        jax.random.key(0), jax.tree.map(lambda leaf: leaf[0], constant_tasks([2.0])), 2
    )
    moved = method(shifted(problem, shift))
    assert learner.adapt(known, support) == moved.adapt(known.inner, support)
    assert learner.adapt(known, support) != method(problem).adapt(known.inner, support)


def test_without_surprise_nothing_changes(float64):
    """Decisions on new tasks have the very gaps that were learned from."""
    method = partial(ffml, inner=primal_dual_steps(1e-9, 1), num_outer_steps=3, shots=2)
    problem = scalar_problem(limit=0.25)
    method = partial(method, outer_lr=1e-9)  # so that gaps, θ here, stay where they are
    plain, _ = learn(method(problem), [constant_tasks([2.0])] * 3)
    state, _ = learn(corrected(method)(problem), [constant_tasks([2.0])] * 3)
    np.testing.assert_allclose(state.inner.multipliers, plain.multipliers, rtol=1e-6)
    np.testing.assert_allclose(expected_shift(state.surprise), 0, atol=1e-7)


def test_what_cannot_be_corrected_is_refused():
    with pytest.raises(FFMLError) as caught:
        corrected(m_ftml)(scalar_problem(0.0))
    assert str(caught.value) == (
        "the wrapper 'corrected' moves the bounds of a method's constraints, and this method "
        "learns without any; leave it out"
    )
    for memory, message in ((-0.1, ">= 0, got -0.1"), (1.1, "<= 1, got 1.1")):
        with pytest.raises(FFMLError, match=rf"^corrected\.memory must be {message}$"):
            corrected(ffml, memory=memory)
