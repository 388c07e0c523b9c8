"""FFML against what can be derived by hand, by finite differences, or by another solver."""

import jax
import jax.flatten_util
import jax.numpy as jnp
import numpy as np
import pytest
from closed_forms import constant_tasks, learn, scalar_problem
from conftest import random_task
from scipy.optimize import minimize

from ffml.base import FFMLError, LabelledTask, Problem, Sides
from ffml.constraints import combine, demographic_parity, equalized_odds
from ffml.memory import bounded, padded_rows
from ffml.meta import adapt_pair, outer_objective
from ffml.methods import ffml
from ffml.models import linear, mlp
from ffml.primal_dual import project_to_ball
from ffml.problem import fair_classification
from ffml.sampling import draw_support_and_query

draw = jax.jit(draw_support_and_query, static_argnums=2)


def by_hand(values, theta, lam, inner, outer, dual, delta, limit, steps, iterations):
    """The update rule, differentiated by hand through `steps` inner steps."""
    for _ in range(iterations):
        slope_theta, slope_lam = [], []
        for a in values:
            th, la = theta, lam  # θ_k, λ_k and their derivatives by (θ, λ)
            dth, dla = np.array([1.0, 0.0]), np.array([0.0, 1.0])
            for _ in range(steps):
                th, dth = th - inner * ((th - a) + la), dth - inner * (dth + dla)
                raised = la + inner * (th - limit)
                dla = (dla + inner * dth) * (raised > 0)
                la = max(raised, 0.0)
            outer_slope = (th - a + lam) * dth + np.array([0.0, th - limit - delta * dual * lam])
            slope_theta.append(outer_slope[0])
            slope_lam.append(outer_slope[1])
        theta = theta - outer * np.mean(slope_theta)
        lam = max(lam + dual * np.mean(slope_lam), 0.0)
    return theta, lam


@pytest.mark.parametrize("steps", [1, 3])
def test_two_rounds_by_hand(float64, steps):
    settings = {"inner_lr": 0.2, "outer_lr": 0.3, "damping": 0.7, "num_inner_steps": steps}
    learner = ffml(
        scalar_problem(limit=0.25),
        **settings,
        dual_lr=None,
        num_outer_steps=4,
        optimizer="sgd",
        inner_shrinkage=0.0,
        task_weighting="uniform",
        pooled_constraint=False,
        initial_multiplier=0.4,
        shots=2,
    )
    first = constant_tasks([1.0, 0.0])
    first = first._replace(counts=first.counts * [[1], [0]], totals=first.totals * [[1], [0]])
    state, info = learn(learner, [first])
    assert int(info.iterations) == 0  # Algorithm 1, line 7: nothing is learned in round 1
    assert float(state.params) == 0.0 and float(state.multipliers[0]) == 0.4
    second, third = constant_tasks([1.0, 3.0]), constant_tasks([1.0, 3.0, -1.0])
    state, _ = learn(learner, [first, second])
    expected = by_hand([1.0, 3.0], 0.0, 0.4, 0.2, 0.3, 0.3, 0.7, 0.25, steps, 4)
    np.testing.assert_allclose((state.params, state.multipliers[0]), expected, rtol=1e-12)
    state, _ = learn(learner, [first, second, third])
    expected = by_hand([1.0, 3.0, -1.0], *expected, 0.2, 0.3, 0.3, 0.7, 0.25, steps, 4)
    np.testing.assert_allclose((state.params, state.multipliers[0]), expected, rtol=1e-12)


def test_inverse_schedule_divides_both_steps(float64):
    learner = ffml(
        scalar_problem(0.25),
        inner_lr=0.2,
        outer_lr=0.3,
        dual_lr=None,
        damping=0.0,
        num_inner_steps=1,
        num_outer_steps=1,
        optimizer="sgd",
        outer_schedule="inverse",
        inner_shrinkage=0.0,
        pooled_constraint=False,
        shots=2,
    )
    state, _ = learn(learner, [constant_tasks([2.0])] * 2)
    expected = by_hand([2.0], 0.0, 0.0, 0.2, 0.3 / 3, 0.3 / 3, 0.0, 0.25, 1, 1)  # η₂ = μ/(t+1)
    np.testing.assert_allclose((state.params, state.multipliers[0]), expected, rtol=1e-12)


def of_one_task(model, support, query, steps, first_order, schema, **more):
    notions = combine(demographic_parity(0.01), equalized_odds(0.02))
    # The allowance for noise is a constant in the derivative: leave it out here.
    problem = fair_classification(schema, model, notions, l2=0.01, noise_allowance=0.0)

    def objective(params, multipliers):
        theta, _ = adapt_pair(
            problem,
            params,
            multipliers,
            support,
            step_size=0.3,
            num_steps=steps,
            first_order=first_order,
        )
        one_task = jax.tree.map(lambda leaf: jnp.asarray(leaf)[None], (theta, query))
        weights = jnp.ones(1)
        return outer_objective(
            problem, one_task[0], multipliers, one_task[1], weights, damping=0.1, **more
        )[0]

    return problem, objective


@pytest.fixture
def batches(schema):
    task = bounded(random_task(3, 60, schema), schema, 64, np.random.default_rng(0))
    return draw(jax.random.key(4), padded_rows(task, 64), 10)


@pytest.mark.parametrize("model", [linear(), mlp((5, 4))], ids=["linear", "mlp"])
@pytest.mark.parametrize(
    ("steps", "more"), [(1, {}), (3, {"pooled": True, "gap_penalty": 5.0}), (9, {})]
)
def test_meta_gradient_equals_finite_differences(float64, model, steps, more, schema, batches):
    problem, objective = of_one_task(model, *batches, steps, False, schema, **more)
    params = jax.tree.map(lambda p: p + 0.1, problem.init(jax.random.key(1)))
    multipliers = jnp.array([0.7, 0.2, 1.3])
    gradients = jax.jit(jax.grad(objective, argnums=(0, 1)))(params, multipliers)
    flat, unravel = jax.flatten_util.ravel_pytree((params, multipliers))
    exact = jax.flatten_util.ravel_pytree(gradients)[0]
    values = jax.jit(jax.vmap(lambda point: objective(*unravel(point))))
    step = 1e-6 * jnp.eye(flat.size)
    numeric = (values(flat + step) - values(flat - step)) / 2e-6
    np.testing.assert_allclose(exact, numeric, rtol=1e-5, atol=1e-7)


def test_meta_gradient_changes_with_the_multipliers(float64, schema, batches):
    problem, objective = of_one_task(linear(), *batches, 3, False, schema)
    params = jax.tree.map(lambda p: p + 0.3, problem.init(jax.random.key(1)))
    slope = jax.jit(jax.grad(objective))
    zero, one = (slope(params, jnp.full(3, lam)) for lam in (0.0, 1.0))
    assert np.abs(zero["w"] - one["w"]).max() > 1e-2


def test_second_order_differs_from_first_order(float64, schema, batches):
    problem, second = of_one_task(linear(), *batches, 3, False, schema)
    _, first = of_one_task(linear(), *batches, 3, True, schema)
    params = jax.tree.map(lambda p: p + 0.3, problem.init(jax.random.key(1)))
    lam = jnp.full(3, 0.5)
    second, first = (jax.jit(jax.value_and_grad(f, argnums=(0, 1))) for f in (second, first))
    (value, exact), (same_value, cheap) = second(params, lam), first(params, lam)
    np.testing.assert_allclose(value, same_value)
    assert np.abs(exact[0]["w"] - cheap[0]["w"]).max() > 1e-3
    assert np.abs(exact[1] - cheap[1]).max() > 1e-3  # λ acts through θ'_k only in second order


def test_converges_to_the_exact_kkt_point(float64):
    """min ½‖Aθ - b‖² subject to two linear bounds, one of them active."""
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(6, 3)), rng.normal(size=6)
    c = np.array([[1.0, 1.0, 0.0], [0.0, 0.3, -1.0]])
    unconstrained = np.linalg.lstsq(a, b, rcond=None)[0]
    limits = c @ unconstrained + np.array([-0.5, 10.0])
    problem = Problem(
        init=lambda key: jnp.zeros(3),
        apply=lambda params, x: x @ params,
        loss=lambda params, batch: 0.5 * jnp.sum((a @ params - b) ** 2),
        constraint=lambda params, batch, shift=0.0: c @ params - limits,
        constraint_at=lambda logits, batch: logits,
        gaps=lambda params, batch: c @ params,
        gaps_at=lambda logits, batch: logits,
        judged_gaps=lambda params, batch: c @ params,
        gap_variance=lambda params, batch: jnp.zeros(2),
        bounds=limits,
        evidence=lambda batch: jnp.ones(2),
        sides=lambda batch: Sides(jnp.ones((1, 2)), jnp.ones((1, 2))),
        constraint_names=("active", "idle"),
    )
    exact = minimize(
        lambda theta: 0.5 * np.sum((a @ theta - b) ** 2),
        np.zeros(3),
        constraints={"type": "ineq", "fun": lambda theta: limits - c @ theta},
        options={"ftol": 1e-15},
    ).x
    active = (a.T @ (b - a @ exact)) @ c[0] / (c[0] @ c[0])  # ∇f + λ c₁ = 0
    learner = ffml(
        problem,
        inner_lr=0.02,
        outer_lr=0.05,
        dual_lr=0.05,
        damping=0.0,
        optimizer="sgd",
        num_inner_steps=2,
        num_outer_steps=20_000,
        tolerance=1e-13,
        inner_shrinkage=0.0,
        pooled_constraint=False,
        shots=2,
    )
    tasks = constant_tasks([0.0])
    state, info = learn(learner, [tasks] * 2)
    assert int(info.iterations) < 20_000  # the stopping rule ended it
    one = jax.tree.map(lambda leaf: leaf[0], tasks)
    support, _ = draw(jax.random.key(0), one, 2)
    np.testing.assert_allclose(jax.jit(learner.adapt)(state, support), exact, atol=1e-8)
    np.testing.assert_allclose(state.multipliers, [active, 0.0], atol=1e-8)


def test_augmented_term_keeps_multipliers_smaller(float64):
    def final(**more):
        settings = {"num_inner_steps": 1, "shots": 2, "pooled_constraint": False} | more
        state, _ = learn(ffml(scalar_problem(-5.0), **settings), [constant_tasks([1.0])] * 2)
        return float(state.multipliers[0])

    assert final(damping=5.0) < final(damping=0.0)
    assert final(damping=5.0, augmented_term=False) == final(damping=0.0)


def test_ablations_leave_out_what_they_say(float64, schema):
    problem = fair_classification(schema, linear(), demographic_parity(0.0))
    task = random_task(1, 80, schema)
    kept = bounded(task, schema, 128, np.random.default_rng(0))
    memory = LabelledTask(*(np.stack([leaf, leaf]) for leaf in kept))
    support, _ = draw(jax.random.key(0), kept, 10)

    def built(**more):
        learner = ffml(
            problem, initial_multiplier=2.0, num_inner_steps=1, num_outer_steps=3, shots=10, **more
        )
        return learner, learner.init(jax.random.key(0))

    learner, _ = built(outer_constraints=False)
    assert float(learn(learner, [memory] * 2)[0].multipliers[0]) == 2.0  # λ stays λ₁
    for constrained in (False, True):
        learner, state = built(inner_constraints=constrained)
        adapt = jax.jit(learner.adapt)
        unconstrained = adapt(state._replace(multipliers=jnp.zeros(1)), support)
        moved = np.abs(adapt(state, support)["w"] - unconstrained["w"]).max()
        assert moved > 1e-3 if constrained else moved == 0


def test_multiplier_of_a_group_that_is_never_seen_stays(schema):
    problem = fair_classification(schema, linear(), demographic_parity(0.0))
    task = random_task(1, 80, schema)
    kept = bounded(task._replace(groups=task.groups * 0), schema, 128, np.random.default_rng(0))
    memory = LabelledTask(*(np.stack([leaf, leaf]) for leaf in kept))
    learner = ffml(problem, initial_multiplier=2.0, damping=10.0, num_inner_steps=1, shots=10)
    state, info = learn(learner, [memory] * 2)
    assert float(state.multipliers[0]) == 2.0
    assert float(info.constraint[0]) == 0.0


def test_projection_onto_the_ball(float64):
    point = {"w": jnp.array([3.0, 0.0]), "b": jnp.array(4.0)}
    inside = project_to_ball(point, 5.0)
    np.testing.assert_array_equal(inside["w"], point["w"])
    outside = project_to_ball(point, 1.0)
    np.testing.assert_allclose([*outside["w"], outside["b"]], [0.6, 0.0, 0.8])
    np.testing.assert_array_equal(project_to_ball(jnp.zeros(2), 1.0), jnp.zeros(2))


def test_parameters_stay_in_the_ball(schema):
    problem = fair_classification(schema, linear(), demographic_parity(0.0))
    kept = bounded(random_task(1, 80, schema), schema, 128, np.random.default_rng(0))
    memory = LabelledTask(*(np.stack([leaf, leaf]) for leaf in kept))
    learner = ffml(problem, radius=0.5, outer_lr=1.0, num_inner_steps=1, shots=10)
    state, _ = learn(learner, [memory] * 2)
    norm = np.sqrt(sum((leaf**2).sum() for leaf in jax.tree.leaves(state.params)))
    assert norm <= 0.5 * (1 + 1e-5)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"inner_lr": 0.0}, "inner_lr must be > 0, got 0.0"),
        ({"outer_lr": -1.0}, "outer_lr must be > 0, got -1.0"),
        ({"dual_lr": float("nan")}, "dual_lr must be > 0, got nan"),
        ({"num_inner_steps": 0}, "num_inner_steps must be >= 1, got 0"),
        ({"radius": float("inf")}, "radius must be > 0, got inf"),
        ({"damping": -0.1}, "damping must be >= 0, got -0.1"),
        ({"optimizer": "adm"}, "unknown optimizer 'adm'; did you mean 'adam'? Known: sgd, adam"),
        ({"outer_schedule": "x"}, "unknown outer_schedule 'x'; known: constant, inverse"),
    ],
)
def test_bad_settings_are_refused(settings, message):
    with pytest.raises(FFMLError) as caught:
        ffml(scalar_problem(0.0), **settings)
    assert str(caught.value) == message
