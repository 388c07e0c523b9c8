"""FFML against what can be derived by hand, by finite differences, or by another solver."""

import jax
import jax.flatten_util
import jax.numpy as jnp
import numpy as np
import pytest
from closed_forms import SCHEMA, at_most, constant_tasks, learn, scalar_problem
from conftest import random_task
from scipy.optimize import minimize

from ffml.base import FFMLError, LabelledTask, Model, Problem
from ffml.methods import ffml
from ffml.methods._inner import gradient_steps, primal_dual_steps
from ffml.methods._primal_dual import project_to_ball
from ffml.methods.outer import Drawn, loss_only, mean_over_tasks, pooled
from ffml.methods.sampling import draw_support_and_query
from ffml.online.memory import bounded, padded_rows
from ffml.problem.classification import fair_classification
from ffml.problem.models import linear, mlp
from ffml.problem.notions import demographic_parity, equalized_odds, score_constraint

draw = jax.jit(draw_support_and_query, static_argnums=2)
ONE_STEP = primal_dual_steps(0.01, 1)


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


def test_two_rounds_by_hand(float64, steps=3):
    learner = ffml(
        scalar_problem(limit=0.25),
        primal_dual_steps(0.2, steps),
        outer_lr=0.3,
        damping=0.7,
        num_outer_steps=4,
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
        primal_dual_steps(0.2, 1),
        outer_lr=0.3,
        damping=0.0,
        num_outer_steps=1,
        schedule="inverse",
        shots=2,
    )
    state, _ = learn(learner, [constant_tasks([2.0])] * 2)
    expected = by_hand([2.0], 0.0, 0.0, 0.2, 0.3 / 3, 0.3 / 3, 0.0, 0.25, 1, 1)  # η₂ = μ/(t+1)
    np.testing.assert_allclose((state.params, state.multipliers[0]), expected, rtol=1e-12)


def of_one_task(model, support, query, steps, schema, outer=None):
    """Eq. 8 of a single task, as a function of (θ, λ)."""
    notions = demographic_parity(0.01), equalized_odds(0.02)
    problem = fair_classification(schema, model, *notions, l2=0.01)
    inner, outer = primal_dual_steps(0.3, steps), outer or mean_over_tasks()

    def objective(params, multipliers):
        adapted = inner(problem, params, multipliers, support)
        one = jax.tree.map(lambda leaf: jnp.asarray(leaf)[None], (adapted, support, query))
        seen = outer(problem, one[0], Drawn(*one[1:], jnp.ones(1)))
        return seen.loss + seen.share @ (multipliers * seen.constraint) + seen.penalty

    return problem, objective


@pytest.fixture
def batches(schema):
    task = bounded(random_task(3, 60, schema), schema, 64, np.random.default_rng(0))
    return draw(jax.random.key(4), padded_rows(task, 64), 10)


@pytest.mark.parametrize(
    ("steps", "outer", "model"),
    [(1, None, mlp((5, 4))), (3, pooled(5.0), mlp((5, 4))), (9, None, linear())],
    ids=["mlp", "mlp-pooled", "linear"],
)
def test_meta_gradient_equals_finite_differences(float64, model, steps, outer, schema, batches):
    problem, objective = of_one_task(model, *batches, steps, schema, outer)
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
    problem, objective = of_one_task(linear(), *batches, 3, schema)
    params = jax.tree.map(lambda p: p + 0.3, problem.init(jax.random.key(1)))
    slope = jax.jit(jax.grad(objective))
    zero, one = (slope(params, jnp.full(3, lam)) for lam in (0.0, 1.0))
    assert np.abs(zero["w"] - one["w"]).max() > 1e-2


def test_converges_to_the_exact_kkt_point(float64):
    """min ½‖Aθ - b‖² subject to two linear bounds, one of them active."""
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(6, 3)), rng.normal(size=6)
    c = np.array([[1.0, 1.0, 0.0], [0.0, 0.3, -1.0]])
    limits = c @ np.linalg.lstsq(a, b, rcond=None)[0] + np.array([-0.5, 10.0])
    # Positives are of group b and negatives of group a, so that gaps go along the difference of
    # their rows; with the sign of group a turned around, along the sum.
    rows = np.repeat([(c[1] - c[0]) / 2, (c[1] + c[0]) / 2], 4, axis=0)
    scores = lambda h, batch: h, lambda h, batch: h * (2 * batch.s[:, 0] - 1)
    problem = Problem(
        model=Model(lambda key, features: jnp.zeros(3), lambda params, x: x @ params),
        cost=lambda params, logits, batch, weight: 0.5 * jnp.sum((a @ params - b) ** 2),
        constraints=tuple(
            score_constraint(name, {"": lambda batch: batch.weight}, 0.0, score)._replace(
                bound=at_most(limit)
            )
            for name, score, limit in zip(("active", "idle"), scores, limits, strict=True)
        ),
        schema=SCHEMA,
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
        primal_dual_steps(0.02, 2),
        outer_lr=0.05,
        damping=0.0,
        num_outer_steps=3000,
        shots=2,
    )
    tasks = constant_tasks([0.0])._replace(x=rows[None])
    state, _ = learn(learner, [tasks] * 2)
    support, _ = draw(jax.random.key(0), jax.tree.map(lambda leaf: leaf[0], tasks), 2)
    adapted = jax.jit(learner.adapt)(learner.knowledge(state), support)
    np.testing.assert_allclose(adapted, exact, atol=1e-8)
    np.testing.assert_allclose(state.multipliers, [active, 0.0], atol=1e-8)


def test_augmented_term_keeps_multipliers_smaller(float64):
    def final(damping):
        learner = ffml(scalar_problem(-5.0), ONE_STEP, damping=damping, num_outer_steps=50, shots=2)
        state, _ = learn(learner, [constant_tasks([1.0])] * 2)
        return float(state.multipliers[0])

    assert final(5.0) < final(0.0)


def remembered_twice(task, schema):
    kept = bounded(task, schema, 128, np.random.default_rng(0))
    return kept, LabelledTask(*(np.stack([leaf, leaf]) for leaf in kept))


def test_ablations_leave_out_what_they_say(float64, schema):
    problem = fair_classification(schema, linear(), demographic_parity(0.0))
    kept, memory = remembered_twice(random_task(1, 80, schema), schema)
    support, _ = draw(jax.random.key(0), kept, 10)

    def built(inner, outer=None):
        learner = ffml(
            problem, inner, outer, initial_multiplier=2.0, num_outer_steps=3, damping=1.0, shots=10
        )
        return learner, learner.init(jax.random.key(0))

    learner, _ = built(ONE_STEP, loss_only())
    assert float(learn(learner, [memory] * 2)[0].multipliers[0]) == 2.0  # λ stays λ₁
    for inner in (gradient_steps, primal_dual_steps):
        learner, state = built(inner(0.1, 1))
        adapt, pair = jax.jit(learner.adapt), learner.knowledge(state)
        unconstrained = adapt(pair._replace(multipliers=jnp.zeros(1)), support)
        moved = np.abs(adapt(pair, support)["w"] - unconstrained["w"]).max()
        assert moved == 0 if inner is gradient_steps else moved > 1e-3


def test_small_tasks_take_smaller_steps(float64, schema, batches):
    """With shrinkage r, a task of n rows takes steps of ``η₁ n/(n + r)``."""
    problem = fair_classification(schema, linear(), demographic_parity(0.0))
    params, lam = problem.init(jax.random.key(0)), jnp.ones(1)
    support, _ = batches
    rows = int(support.pool_size)
    for one, other in (
        (primal_dual_steps(0.3, 2, shrinkage=70.0), primal_dual_steps(0.3 * rows / (rows + 70), 2)),
        (gradient_steps(0.3, 2, shrinkage=70.0), gradient_steps(0.3 * rows / (rows + 70), 2)),
    ):
        found, expected = (jax.jit(inner, static_argnums=0) for inner in (one, other))
        np.testing.assert_allclose(
            found(problem, params, lam, support)["w"],
            expected(problem, params, lam, support)["w"],
            rtol=1e-12,
        )


def test_multiplier_of_a_group_that_is_never_seen_stays(schema):
    problem = fair_classification(schema, linear(), demographic_parity(0.0))
    task = random_task(1, 80, schema)
    _, memory = remembered_twice(task._replace(groups=task.groups * 0), schema)
    for outer in (mean_over_tasks(), pooled()):
        learner = ffml(
            problem, ONE_STEP, outer, initial_multiplier=2.0, num_outer_steps=5, shots=10
        )
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
    for size in (1e10, 1e19, 1e38):  # squares of which overflow
        far = project_to_ball({"w": jnp.array([3.0, -4.0]) * np.float32(size / 4)}, 2.0)
        np.testing.assert_allclose(far["w"], [1.2, -1.6], rtol=1e-6)


def test_parameters_stay_in_the_ball(schema):
    problem = fair_classification(schema, linear(), demographic_parity(0.0))
    _, memory = remembered_twice(random_task(1, 80, schema), schema)
    learner = ffml(problem, ONE_STEP, radius=0.5, outer_lr=1.0, num_outer_steps=20, shots=10)
    state, _ = learn(learner, [memory] * 2)
    norm = np.sqrt(sum((leaf**2).sum() for leaf in jax.tree.leaves(state.params)))
    assert norm <= 0.5 * (1 + 1e-5)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"outer_lr": -1.0}, "outer_lr must be > 0, got -1.0"),
        ({"dual_lr": float("nan")}, "dual_lr must be > 0, got nan"),
        ({"radius": float("inf")}, "radius must be > 0, got inf"),
        ({"damping": -0.1}, "damping must be >= 0, got -0.1"),
        ({"optimizer": "adm"}, "unknown optimizer 'adm'; did you mean 'adam'? Known: sgd, adam"),
        ({"schedule": "x"}, "unknown schedule 'x'; known: constant, inverse"),
    ],
)
def test_bad_settings_are_refused(settings, message):
    with pytest.raises(FFMLError) as caught:
        ffml(scalar_problem(0.0), **settings)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: primal_dual_steps(lr=0.0), "inner.lr must be > 0, got 0.0"),
        (lambda: gradient_steps(num_steps=0), "inner.num_steps must be >= 1, got 0"),
        (lambda: primal_dual_steps(shrinkage=-1), "inner.shrinkage must be >= 0, got -1"),
        (lambda: pooled(penalty=-1), "outer.penalty must be >= 0, got -1"),
    ],
)
def test_bad_settings_of_parts_are_refused_under_their_full_name(build, message):
    with pytest.raises(FFMLError) as caught:
        build()
    assert str(caught.value) == message


def test_an_entry_that_no_query_measures_keeps_its_multiplier(schema):
    """Of three positives two are for support and one for query, which so has a single group."""
    rng = np.random.default_rng(0)
    task = random_task(0, 60, schema)
    labels = np.zeros(60, np.int32)
    labels[:3] = 1
    task = task._replace(y=labels, groups=rng.permutation(np.repeat([[0], [1]], 30, axis=0)))
    task.groups[:3, 0] = [0, 1, 0]
    problem = fair_classification(schema, linear(), equalized_odds(0.0))
    kept = padded_rows(bounded(task, schema, 64, rng), 64)
    memory = jax.tree.map(lambda leaf: np.stack([leaf] * 2), kept)
    for outer in (mean_over_tasks(), pooled()):
        learner = ffml(
            problem,
            primal_dual_steps(1.0, 1),
            outer,
            initial_multiplier=2.0,
            num_outer_steps=9,
            shots=8,
        )
        of_negatives, of_positives = learn(learner, [memory] * 3)[0].multipliers
        assert of_positives == 2.0
        assert of_negatives != 2.0
