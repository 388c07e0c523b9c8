import jax
import jax.numpy as jnp
import numpy as np
import pytest
from closed_forms import constant_tasks, scalar_problem

from ffml.methods import ffml
from ffml.surprise import BETWEEN_TASKS, met, no_surprise, shift, task_precision


def test_a_task_counts_by_its_rows_but_never_more_than_tasks_differ():
    evidence = np.array([0.0, 1.0, 20.0, 1e9])
    expected = np.array([0.0, 1 / 1.05, 10.0, 1 / BETWEEN_TASKS])
    np.testing.assert_allclose(task_precision(evidence), expected, rtol=1e-6)


def test_the_shift_is_a_mean_with_one_large_task_that_did_not_surprise():
    surprise = no_surprise(1)
    for difference in (0.4, 0.2):  # with weight 10 each, and 0 with weight 20
        surprise = met(surprise, np.array([difference]), np.array([20.0]), memory=1.0)
    np.testing.assert_allclose(shift(surprise), [(4 + 2) / 40], rtol=1e-6)


def test_what_was_met_long_ago_is_forgotten():
    surprise = no_surprise(1)
    for difference in [1.0] + [0.2] * 200:
        surprise = met(surprise, np.array([difference]), np.array([1e9]), memory=0.9)
    np.testing.assert_allclose(surprise.total / surprise.weight, [0.2], rtol=1e-5)


def test_a_task_without_both_groups_changes_nothing():
    before = met(no_surprise(2), np.array([0.3, 0.2]), np.array([10.0, 5.0]), 1.0)
    after = met(before, np.array([0.0, 0.4]), np.array([0.0, 5.0]), 1.0)
    np.testing.assert_array_equal(after.total[0], before.total[0])
    assert after.weight[0] == before.weight[0] and after.weight[1] > before.weight[1]


@pytest.mark.parametrize("memory", [0.0, 1.0])
def test_ffml_learns_from_the_gaps_that_new_tasks_show(float64, memory):
    """Gaps are properties of tasks here: 0 for those in memory, 0.3 for decisions on the newest."""
    seen = []

    def constraint(params, batch, shift=0.0):
        jax.debug.callback(lambda value: seen.append(float(np.ravel(value)[0])), shift)
        return jnp.abs(batch.x[:1, 0] + shift) - 0.02

    problem = scalar_problem(limit=1.0)._replace(
        constraint=constraint,
        gaps=lambda params, batch: batch.x[:1, 0] / 2,
        judged_gaps=lambda params, batch: batch.x[:1, 0],
        evidence=lambda batch: jnp.full(1, 40.0),
    )
    learner = ffml(problem, surprise_memory=memory, num_outer_steps=2, shots=2, inner_lr=0.1)
    update, state = jax.jit(learner.update), learner.init(jax.random.key(0))
    known, new = constant_tasks([0.0, 0.0]), constant_tasks([0.3])
    newest = jax.tree.map(lambda leaf: leaf[0], new)
    for t in range(3):
        state, _ = update(jax.random.key(t), state, newest, known)
    jax.effects_barrier()
    # Only round 3 meets a task after something was learned; 40 rows count 40/(1 + 40/20).
    expected = 0.3 * (40 / 3) / (40 / 3 + 20)
    np.testing.assert_allclose(shift(state.surprise), [expected], rtol=1e-9)
    assert max(seen) == pytest.approx(expected if memory else 0.0)
