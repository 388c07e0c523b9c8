"""A round that ends once it has settled: after how many iterations, and where."""

import jax
import numpy as np
import pytest
from closed_forms import constant_tasks, learn, scalar_problem

from ffml.base import FFMLError
from ffml.methods import ffml
from ffml.methods._inner import primal_dual_steps
from ffml.methods._stopping import all_steps, settled

VALUES = [1.0, 3.0]
INNER, OUTER, DAMPING, LIMIT = 0.2, 0.1, 0.5, 0.25


def learner(stop, num_outer_steps=400):
    return ffml(
        scalar_problem(LIMIT),
        primal_dual_steps(INNER, 1),
        stop=stop,
        outer_lr=OUTER,
        damping=DAMPING,
        num_outer_steps=num_outer_steps,
        shots=2,
    )


def iterations_by_hand(most):
    """Yield θ, λ after each iteration, and the loss that it saw."""
    theta, lam = 0.0, 0.0
    for _ in range(most):
        slopes, losses = [], []
        for a in VALUES:
            adapted = theta - INNER * (theta - a + lam)
            slope = adapted - a + lam
            by_lam = -INNER * slope + adapted - LIMIT - DAMPING * OUTER * lam
            slopes.append(((1 - INNER) * slope, by_lam))
            losses.append(0.5 * (adapted - a) ** 2)
        ahead, up = np.mean(slopes, axis=0)
        theta, lam = theta - OUTER * ahead, max(lam + OUTER * up, 0.0)
        yield theta, lam, np.mean(losses)


def settled_by_hand(tolerance, window, most):
    """Apply the rule to means over windows, the last of which may be shorter."""
    path = np.array(list(iterations_by_hand(most)))
    before = None
    for start in range(0, most, window):
        here = path[start : start + window]
        theta, lam, loss = here.mean(0)
        if before is not None:
            change = abs(np.array([theta, lam, loss]) - before)
            size = np.array([abs(before[0]), max(1.0, abs(before[1])), abs(before[2])])
            if (change <= tolerance * size).all():
                break
        before = np.array([theta, lam, loss])
    return start + len(here), here[-1]


@pytest.mark.parametrize(("tolerance", "window"), [(0.1, 5), (0.01, 5), (0.01, 8), (0.001, 7)])
def test_it_ends_where_the_rule_says(float64, tolerance, window):
    count, (theta, lam, _) = settled_by_hand(tolerance, window, 400)
    assert 2 * window <= count < 400  # or nothing is tested
    state, info = learn(learner(settled(tolerance, window)), [constant_tasks(VALUES)] * 2)
    assert int(info.iterations) == count
    np.testing.assert_allclose((state.params, state.multipliers[0]), (theta, lam), rtol=1e-9)


@pytest.mark.parametrize("steps", [10, 12])
def test_what_never_settles_takes_all_steps(float64, steps):
    tasks = [constant_tasks(VALUES)] * 3
    state, info = learn(learner(settled(1e-12, 4), steps), tasks)
    expected, taken = learn(learner(all_steps(), steps), tasks)
    assert int(info.iterations) == int(taken.iterations) == steps
    np.testing.assert_allclose(state.params, expected.params, rtol=1e-12)
    np.testing.assert_allclose(state.multipliers, expected.multipliers, rtol=1e-12)


def test_the_first_round_learns_nothing_and_a_settled_one_takes_two_windows(float64):
    tasks = [constant_tasks(VALUES)] * 6
    one = learner(settled(0.01, 6))
    assert int(learn(one, tasks[:1])[1].iterations) == 0
    assert int(learn(one, tasks)[1].iterations) == 12  # it has been there since round 2


def test_numbers_that_are_not_finite_never_settle(float64):
    diverging = ffml(
        scalar_problem(LIMIT),
        primal_dual_steps(1e200, 3),
        stop=settled(0.5, 2),
        outer_lr=1e200,
        num_outer_steps=10,
        radius=1e300,
        shots=2,
    )
    state, info = learn(diverging, [constant_tasks(VALUES)] * 2)
    assert not np.isfinite(state.params) and int(info.iterations) == 10


def test_several_in_one_program_each_end_by_themselves(float64):
    """Under `vmap` those that have settled wait for the others, unchanged."""
    one = learner(settled(0.01, 5))
    memories = [constant_tasks(VALUES), constant_tasks([0.2, 0.21])]
    alone = [learn(one, [memory] * 2) for memory in memories]
    stacked = jax.tree.map(lambda *leaves: np.stack(leaves), *memories)
    newest = jax.tree.map(lambda leaf: leaf[:, -1], stacked)
    init = jax.vmap(one.init)(jax.random.split(jax.random.key(0)))
    many = jax.jit(jax.vmap(one.update))
    keys = jax.random.split(jax.random.key(0))
    state = many(keys, init, newest, stacked)[0]
    state, info = many(keys, state, newest, stacked)
    assert info.iterations.tolist() == [int(i.iterations) for _, i in alone]
    assert len(set(info.iterations.tolist())) == 2
    np.testing.assert_allclose(state.params, [s.params for s, _ in alone], rtol=1e-12)


def test_bad_settings():
    with pytest.raises(FFMLError, match=r"stop.tolerance must be > 0, got 0"):
        settled(0.0)
    with pytest.raises(FFMLError, match=r"stop.window must be >= 1, got 0"):
        settled(window=0)
