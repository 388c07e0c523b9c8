"""Taking out a task's own gap: closed forms, the random-effects share, and what is left alone."""

import jax
import jax.flatten_util
import jax.numpy as jnp
import numpy as np
import pytest
from conftest import random_task

from ffml.base import Batch, FFMLError, LabelledTask
from ffml.constraints import (
    combine,
    decision_boundary_covariance,
    demographic_parity,
    equal_opportunity,
    equalized_odds,
)
from ffml.memory import bounded
from ffml.meta import LEAST_SLOPE, OVERLAP, even_out
from ffml.methods import ffml
from ffml.models import linear, mlp
from ffml.problem import fair_classification
from ffml.sampling import draw_support_and_query


def batch_of(task, rows=None):
    x, y, groups = (part[:rows] for part in task[1:])
    ones = np.ones(len(y))
    return Batch(x.astype(float), y.astype(float), groups.astype(float), ones, ones, len(y))


def problem_of(schema, constraint, model=None):
    return fair_classification(schema, model or linear(), constraint, noise_allowance=0.0)


PARAMS = {"w": jnp.array([1.0, 0.5, -0.2]), "b": jnp.array(0.3)}


@pytest.mark.parametrize("bound", [0.0, 0.1])
def test_a_linear_gap_shrinks_by_the_share_that_the_rows_bear_out(float64, schema, bound):
    task = random_task(0, 90, schema)
    batch, problem, spread = (
        batch_of(task),
        problem_of(schema, decision_boundary_covariance(bound)),
        0.05,
    )
    difference = task.x[task.groups[:, 0] == 1].mean(0) - task.x[task.groups[:, 0] == 0].mean(0)
    gap = difference @ np.array(PARAMS["w"])
    inside, outside = np.bincount(task.groups[:, 0])
    rows = 1 / (1 / inside + 1 / outside)
    expected = gap * spread * rows / (1 + spread * rows)
    excess = max(expected - bound, 0.0)
    assert gap > 0.5 and excess > 0.1  # there is something to take out
    squared = difference @ difference
    moved = excess / ((1 + OVERLAP) * squared + LEAST_SLOPE) * difference
    evened = even_out(problem, PARAMS, batch, spread)
    np.testing.assert_allclose(evened["w"], PARAMS["w"] - moved, rtol=1e-6)
    np.testing.assert_allclose(evened["b"], PARAMS["b"], atol=1e-12)  # no gap comes from it
    np.testing.assert_allclose(problem.gaps(evened, batch)[0], gap - excess, rtol=0.05)


def test_gaps_within_their_bounds_and_entries_that_cannot_be_measured_are_left_alone(
    float64, schema
):
    batch = batch_of(random_task(1, 60, schema))
    for problem, rows in (
        (problem_of(schema, demographic_parity(0.9)), batch),
        (problem_of(schema, demographic_parity(0.0)), batch._replace(s=np.zeros_like(batch.s))),
    ):
        evened = even_out(problem, PARAMS, rows, 0.2)
        jax.tree.map(np.testing.assert_array_equal, evened, PARAMS)
    problem = problem_of(schema, demographic_parity(0.0))
    unchanged = even_out(problem, PARAMS, batch, 0.0)
    jax.tree.map(np.testing.assert_array_equal, unchanged, PARAMS)
    # An entry within its bound is held back while another one is taken out.
    both = problem_of(schema, combine(demographic_parity(0.0), equal_opportunity(0.9)))
    alone, beside = (even_out(p, PARAMS, batch, 0.2) for p in (problem, both))
    start, free, held = (both.gaps(params, batch) for params in (PARAMS, alone, beside))
    assert abs(held[0]) < 0.5 * abs(start[0])
    assert abs(held[1] - start[1]) < 0.9 * abs(free[1] - start[1])


@pytest.mark.parametrize("model", [linear(), mlp((5, 4))], ids=["linear", "mlp"])
def test_several_smooth_gaps_shrink_together(float64, schema, model):
    batch = batch_of(random_task(2, 400, schema, bias=2.0))
    notions = combine(demographic_parity(0.0), equalized_odds(0.0))
    problem = problem_of(schema, notions, model)
    params = jax.tree.map(lambda p: p + 0.3, problem.init(jax.random.key(1)))
    gaps = [problem.gaps(params, batch)]
    for _ in range(3):
        params = even_out(problem, params, batch, 1e6)
        gaps.append(problem.gaps(params, batch))
    assert np.abs(gaps[-1]).max() < 0.2 * np.abs(gaps[0]).max()


def test_more_rows_are_believed_more(float64, schema):
    task = random_task(3, 800, schema)
    problem = problem_of(schema, decision_boundary_covariance(0.0))
    shares = []
    for rows in (20, 80, 800):
        batch = batch_of(task, rows)
        evened = even_out(problem, PARAMS, batch, 0.05)
        shares.append(1 - float(problem.gaps(evened, batch)[0] / problem.gaps(PARAMS, batch)[0]))
    assert 0 < shares[0] < shares[1] < shares[2] < 1


def test_the_share_leaves_the_smallest_gap_on_other_rows(float64, schema):
    """Tasks whose own gaps have b times the variance of a row: then b is the best setting."""
    rng, spread, rows = np.random.default_rng(0), 0.05, 15.0
    own = rng.normal(scale=np.sqrt(spread), size=20_000)
    seen = own + rng.normal(scale=np.sqrt(1 / rows), size=len(own))
    # θ moves the gap of the task one to one; the support rows show it with their noise.
    problem = problem_of(schema, demographic_parity(0.0))._replace(
        gaps=lambda theta, gap: (theta + gap)[None], evidence=lambda gap: jnp.array([rows])
    )

    def left(setting):
        moved = jax.vmap(lambda gap: even_out(problem, jnp.array(0.0), gap, setting))(seen)
        return float(np.mean((own + moved) ** 2))

    best = left(spread)
    assert best < min(left(0.0), left(spread / 5), left(5 * spread), left(1e6))
    np.testing.assert_allclose(best, spread / (1 + spread * rows), rtol=0.03)


@pytest.mark.parametrize("first_order", [False, True])
def test_its_derivative_equals_finite_differences_or_leaves_the_step_out(
    float64, schema, first_order
):
    batch = batch_of(random_task(4, 50, schema))
    notions = combine(demographic_parity(0.0, 0.5, True), equalized_odds(0.01))
    problem = problem_of(schema, notions)
    flat, unflatten = jax.flatten_util.ravel_pytree(PARAMS)

    @jax.jit
    def evened(theta):
        moved = even_out(problem, unflatten(theta), batch, 0.1, first_order)
        return jax.flatten_util.ravel_pytree(moved)[0]

    exact = jax.jacobian(evened)(flat)
    step = 1e-6 * np.eye(len(flat))
    numeric = np.stack([(evened(flat + s) - evened(flat - s)) / 2e-6 for s in step], axis=1)
    if first_order:
        np.testing.assert_allclose(exact, np.eye(len(flat)), atol=1e-12)
        assert np.abs(numeric - exact).max() > 1e-2
    else:
        np.testing.assert_allclose(exact, numeric, rtol=1e-5, atol=1e-7)


def test_slopes_stay_finite_where_nothing_can_be_taken_out(schema):
    batch = batch_of(random_task(5, 30, schema))
    lonely = batch._replace(s=np.zeros_like(batch.s))
    problem = problem_of(schema, combine(demographic_parity(0.0, 1.0, True), equalized_odds(0.0)))
    zeros = jax.tree.map(jnp.zeros_like, PARAMS)

    def total(params, rows):
        return jax.tree.reduce(
            lambda a, b: a + b.sum(), even_out(problem, params, rows, 0.1), jnp.zeros(())
        )

    for params in (PARAMS, zeros):
        for rows in (batch, lonely, batch._replace(mask=batch.mask * 0, weight=batch.weight * 0)):
            slopes = jax.tree.leaves(jax.grad(total)(params, rows))
            assert all(np.isfinite(slope).all() for slope in slopes)


def test_ffml_takes_it_out_after_its_steps_unless_constraints_are_left_out(schema):
    problem = fair_classification(schema, linear(), demographic_parity(0.0))
    kept = bounded(random_task(6, 80, schema), schema, 128, np.random.default_rng(0))
    support, _ = draw_support_and_query(jax.random.key(0), kept, 10)
    memory = LabelledTask(*(np.stack([leaf, leaf]) for leaf in kept))

    def built(**more):
        learner = ffml(problem, num_inner_steps=1, num_outer_steps=3, shots=10, **more)
        state = learner.init(jax.random.key(0))
        update = jax.jit(learner.update)
        for t in range(2):
            state, _ = update(jax.random.key(t), state, kept, memory)
        return learner, state

    (plain, before), (learner, after) = built(), built(gap_spread=0.2)
    assert np.abs(before.params["w"] - after.params["w"]).max() > 1e-3  # learned through it
    evened = even_out(problem, plain.adapt(after, support), support, 0.2)
    jax.tree.map(
        lambda ours, theirs: np.testing.assert_allclose(ours, theirs, rtol=1e-5),
        learner.adapt(after, support),
        evened,
    )
    free = {"inner_constraints": False}
    (one, state), (other, same) = built(**free), built(**free, gap_spread=0.2)
    jax.tree.map(np.testing.assert_array_equal, state, same)
    jax.tree.map(
        np.testing.assert_array_equal, one.adapt(state, support), other.adapt(state, support)
    )
    with pytest.raises(FFMLError, match="gap_spread must be >= 0, got -1"):
        ffml(problem, gap_spread=-1)
