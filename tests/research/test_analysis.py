"""Regret against oracles that know the answer; constants and steps against their definitions."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from closed_forms import FAR, scalar_problem
from conftest import random_task
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

import ffml
from ffml.base import Band, FFMLError, Info, Model, Schema, SensitiveColumn, Stream, Task
from ffml.methods import gen_olc, m_ftml, refit, twp
from ffml.methods._inner import gradient_steps, primal_dual_steps
from ffml.online.judge import padded_batch, support_batch
from ffml.online.memory import MemorySettings
from ffml.problem.gaps import constraint
from ffml.problem.models import linear
from ffml.problem.notions import decision_boundary_covariance
from ffml.recipe.recipes import Recipe, check_recipe
from ffml.research import analysis
from ffml.research.analysis._hindsight import l1_threshold
from ffml.wrappers import corrected

SMALL = {"shots": 4, "memory_settings": MemorySettings(2, 16)}


def stands_still(learner):
    """The same decisions without any learning."""
    return learner._replace(
        update=lambda key, state, task, memory: (state, Info(0.0, np.zeros(1), np.zeros(1), 0))
    )


# -- a game on a line ----------------------------------------------------------------------------

TARGETS = np.array([1.0, 3.0, 2.0, 0.5, 4.0, 1.5])
LIMIT = 1.25


def limited():
    """f_t(θ) = ½(θ - a_t)², g(θ) = θ - 1.25: the upper end of a wide band."""
    problem = scalar_problem(LIMIT)
    [notion] = problem.constraints
    return problem._replace(constraints=(notion._replace(bound=Band((LIMIT - FAR,), (FAR,))),))


@pytest.fixture(scope="module")
def line():
    """Tasks whose rows all hold one number."""
    schema = Schema(("a",), (SensitiveColumn("s", ("0", "1")),))
    rows = np.tile([0, 1], 4)
    tasks = [
        Task(str(a), np.full((8, 1), a, np.float32), rows.astype(np.int32), rows[:, None])
        for a in TARGETS
    ]
    return Stream("line", schema, lambda: iter(tasks), len(tasks))


def test_regret_and_comparator_on_a_line(line):
    problem = limited()
    game = analysis.record(problem, twp(problem, penalty=0.0), line)
    theta = game.params  # as played
    assert theta[0] == 0 and theta[-1] > 1
    np.testing.assert_allclose(game.loss, (theta - TARGETS) ** 2 / 2, rtol=1e-12)
    np.testing.assert_allclose(game.constraint[:, 0], theta - LIMIT, rtol=1e-12)
    numbers = np.arange(1, 7)
    found = analysis.analyse(game, tolerance=1e-9)
    np.testing.assert_array_equal(found.rounds, numbers)  # all, as they are few
    means = TARGETS.cumsum() / numbers
    best = np.minimum(means, LIMIT)
    for n, comparator in enumerate(found.comparators, start=1):
        assert float(comparator.params) == pytest.approx(best[n - 1], abs=1e-8)
        assert comparator.multipliers[0] == pytest.approx(max(means[n - 1] - LIMIT, 0), abs=1e-6)
        loss = ((best[n - 1] - TARGETS[:n]) ** 2).mean() / 2
        assert comparator.loss == pytest.approx(loss, abs=1e-8)
        assert loss - 1e-8 <= comparator.at_least + 2e-8 <= loss + 4e-8
        assert found.regret[n - 1] == pytest.approx(game.loss[:n].sum() - n * loss, abs=1e-7)
    assert (found.regret <= found.regret_at_most + numbers * 1e-9).all()
    np.testing.assert_allclose(found.violation.total[:, 0], np.cumsum(theta - LIMIT), rtol=1e-12)


def test_the_comparator_adapts_as_the_learner_does(line):
    """θ'_t = κθ + (1-κ)a_t with κ = (1-η₁)³, so mean θ'_t <= limit binds at a known θ."""
    problem = limited()
    learner = m_ftml(problem, gradient_steps(lr=0.1, num_steps=3), num_outer_steps=1)
    kept = 0.9**3
    game = analysis.record(problem, learner, line, memory_settings=MemorySettings(1, 8))
    np.testing.assert_allclose(game.loss, kept**2 * (game.params - TARGETS) ** 2 / 2)
    [comparator] = analysis.best_in_hindsight(game, tolerance=1e-9)
    theta = (LIMIT - (1 - kept) * TARGETS.mean()) / kept
    assert float(comparator.params) == pytest.approx(theta, abs=1e-8)
    assert comparator.loss == pytest.approx(kept**2 * ((theta - TARGETS) ** 2).mean() / 2)
    # Stationary in θ: κ²(θ - mean a) + λκ = 0.
    assert comparator.multipliers[0] == pytest.approx(kept * (TARGETS.mean() - theta), abs=1e-6)


def test_a_small_ball_holds_the_comparator(line):
    problem = limited()
    game = analysis.record(problem, twp(problem, penalty=0.0), line)
    [comparator] = analysis.best_in_hindsight(game, radius=0.5, tolerance=1e-8)
    assert float(comparator.params) == pytest.approx(0.5, abs=1e-7)
    assert comparator.multipliers[0] == 0
    assert comparator.loss - comparator.at_least <= 1e-8


# -- logistic regression -------------------------------------------------------------------------

L2, BOUNDS = 0.1, (0.33, 0.13)
SIZES = (40, 24, 60, 33, 50, 28, 1, 70)


def logistic(schema, model=None, bound=BOUNDS):
    return ffml.fair_classification(
        schema, model or linear(), decision_boundary_covariance(bound), l2=L2
    )


@pytest.fixture(scope="module")
def logistic_game():
    """Two constraints; ragged tasks, one of a single row, so that it can measure neither."""
    columns = SensitiveColumn("sex", ("M", "F")), SensitiveColumn("age", ("old", "young"))
    schema = Schema(("a", "b", "c"), columns)
    tasks = [random_task(i, n, schema) for i, n in enumerate(SIZES)]
    stream = Stream("toy", schema, lambda: iter(tasks), len(tasks))
    problem = logistic(schema)
    return analysis.record(problem, gen_olc(problem, num_steps=3, shots=4), stream, **SMALL), stream


def judged_rows(game):
    """The validation rows of each round: x with a column of ones, y, s."""
    [bucket] = game.buckets
    for t in range(game.num_rounds):
        rows = jax.tree.map(lambda leaf, t=t: leaf[t], bucket.validation)
        real = rows.mask > 0
        yield np.column_stack([np.ones(real.sum()), rows.x[real]]), rows.y[real], rows.s[real]


def test_best_in_hindsight_is_what_another_solver_finds(logistic_game):
    """SLSQP on the epigraph: -u_ti <= gap_ti(θ) <= u_ti, mean_t u_ti <= ε_i."""
    game, _ = logistic_game
    rounds = list(judged_rows(game))
    gaps = np.array(
        [
            [x[s[:, i] == 1].mean(0) - x[s[:, i] == 0].mean(0) for i in range(2)]
            for x, _, s in rounds
            if 0 < s[:, 0].sum() < len(s)
        ]
    )  # (7, 2, 4)
    np.testing.assert_array_equal(np.isnan(game.constraint[:, 0]), np.array(SIZES) == 1)

    def loss(theta):
        return np.mean(
            [np.mean(np.logaddexp(0, x @ theta) - y * (x @ theta)) for x, y, _ in rounds]
        ) + L2 / 2 * (theta @ theta)

    def slope(theta):
        residuals = [x.T @ (1 / (1 + np.exp(-x @ theta)) - y) / len(y) for x, y, _ in rounds]
        return np.mean(residuals, axis=0) + L2 * theta

    flat = gaps.reshape(14, 4)
    sides = np.block([[-flat, np.eye(14)], [flat, np.eye(14)]])
    means = np.block([np.zeros((2, 4)), np.tile(np.eye(2), 7) / 7])
    oracle = minimize(
        lambda v: (loss(v[:4]), np.r_[slope(v[:4]), np.zeros(14)]),
        np.zeros(18),
        jac=True,
        method="SLSQP",
        constraints=[
            {"type": "ineq", "fun": lambda v: sides @ v, "jac": lambda v: sides},
            {"type": "ineq", "fun": lambda v: BOUNDS - means @ v, "jac": lambda v: -means},
        ],
        options={"ftol": 1e-12, "maxiter": 500},
    )
    assert oracle.success, oracle.message
    [found] = analysis.best_in_hindsight(game, tolerance=1e-8)
    theta = np.array([found.params["b"], *found.params["w"]])
    assert found.loss == pytest.approx(oracle.fun, abs=1e-6)
    np.testing.assert_allclose(theta, oracle.x[:4], atol=1e-3)
    assert (found.multipliers > 0.01).all()  # both bind
    assert (np.abs(found.constraint) <= 1e-8).all()
    # No feasible parameters are below the certificate.
    rng, feasible = np.random.default_rng(0), 0
    for _ in range(300):
        other = theta + rng.normal(size=4) * rng.choice([1e-3, 0.1, 1.0])
        if (np.abs(gaps @ other).mean(0) <= BOUNDS).all():
            feasible += 1
            assert loss(other) >= found.at_least
    assert feasible > 20


def test_whoever_plays_the_comparator_has_no_regret(logistic_game):
    game, stream = logistic_game
    [best] = analysis.best_in_hindsight(game, tolerance=1e-7)
    start = jax.tree.map(np.float32, best.params)
    problem = logistic(
        stream.schema, Model(lambda key, n: jax.tree.map(jnp.asarray, start), linear().apply)
    )
    learner = stands_still(gen_olc(problem, num_steps=3, shots=4))
    game = analysis.record(problem, learner, stream, **SMALL)
    again = analysis.analyse(game, [8], tolerance=1e-7)
    assert again.regret[-1] == pytest.approx(0, abs=2e-6)
    np.testing.assert_allclose(again.violation.total[-1], 0, atol=2e-6)


def test_a_recorded_game_is_the_one_that_is_played(schema, make_stream):
    """Also with adaptation."""
    problem = ffml.fair_classification(schema, linear(), decision_boundary_covariance(0.05))
    inner = primal_dual_steps(num_steps=1)
    learner = ffml.methods.ffml(problem, inner, num_outer_steps=2, shots=4)
    stream = make_stream((60, 1, 600, 7, 40))
    chosen = SMALL | {"seed": 3}
    game = analysis.record(problem, learner, stream, **chosen)
    rounds = list(ffml.play(problem, learner, stream, **chosen))
    assert [bucket.rounds.tolist() for bucket in game.buckets] == [[0, 1, 3, 4], [2]]
    np.testing.assert_allclose(game.loss, [r.metrics["loss"] for r in rounds], atol=1e-5)
    np.testing.assert_allclose(game.constraint, [r.constraint for r in rounds], atol=1e-5)
    np.testing.assert_array_equal(game.multipliers, [r.multipliers for r in rounds])
    sums = analysis.violations(game.constraint)
    np.testing.assert_allclose(sums.total[-1], rounds[-1].violation, atol=1e-4)
    np.testing.assert_allclose(sums.clipped[-1], rounds[-1].clipped_violation, atol=1e-4)
    assert np.isnan(game.constraint[1]).all() and game.num_rounds == 5


def test_violations_by_hand():
    constraint = np.array([[0.5, -1.0], [np.nan, 0.25], [-0.25, 0.5]])
    sums = analysis.violations(constraint)
    np.testing.assert_array_equal(sums.total, [[0.5, -1.0], [0.5, -0.75], [0.25, -0.25]])
    np.testing.assert_array_equal(sums.clipped, [[0.5, 0.0], [0.5, 0.25], [0.5, 0.75]])
    np.testing.assert_array_equal(sums.squared, [[0.25, 0.0], [0.25, 0.0625], [0.25, 0.3125]])


@settings(deadline=None)
@given(
    st.lists(st.floats(-5, 5), min_size=1, max_size=12),
    st.lists(st.sampled_from([0.0, 0.25, 1.0]), min_size=12, max_size=12),
    st.floats(0, 3),
)
def test_the_threshold_of_an_l1_ball(points, weights, room):
    points, weights = np.array(points), np.array(weights[: len(points)])
    threshold = l1_threshold(points, weights, room)
    used = weights @ np.maximum(np.abs(points) - threshold, 0)
    assert threshold >= 0 and used <= room + 1e-9
    assert threshold == 0 or used == pytest.approx(room, abs=1e-9)


# -- constants and steps -------------------------------------------------------------------------


@pytest.fixture(scope="module")
def bounded():
    """Data, their constants on a ball of radius 2, and draws of their rows."""
    stream = ffml.load("synthetic", num_tasks=4, rows_per_task=40, num_features=2)
    constants = analysis.logistic_constants(stream, l2=0.5, radius=2.0)
    rng = np.random.default_rng(0)
    draws = [
        batch
        for task in stream.tasks()
        for batch in (
            support_batch(task, stream.schema, rng.permutation(40)[:20], 4, rng),
            jax.tree.map(
                lambda leaf: leaf[:40] if np.ndim(leaf) else leaf,
                padded_batch(task, stream.schema, np.arange(40)),
            ),
        )
    ]
    sizes = {len(batch.y) for batch in draws}
    return stream, constants, [[b for b in draws if len(b.y) == size] for size in sizes]


def sampled_constants(function, points, batches):
    """L, β, ρ and μ of a function with several values, over these points and batches."""
    first = jax.jit(jax.vmap(jax.jacrev(function), (0, None)))
    second = jax.jit(jax.vmap(jax.hessian(function), (0, None)))
    one, other = np.triu_indices(len(points), 1)
    apart = np.linalg.norm(points[one] - points[other], axis=-1)[:, None]
    found = []
    for batch in batches:
        slopes, hessians = np.asarray(first(points, batch)), np.asarray(second(points, batch))
        eigenvalues = np.linalg.eigvalsh(hessians)
        changes = np.linalg.norm(hessians[one] - hessians[other], ord=2, axis=(-2, -1))
        values = (np.linalg.norm(slopes, axis=-1), np.abs(eigenvalues), changes / apart)
        found.append([*(value.max() for value in values), -eigenvalues.min()])
    *largest, concavity = np.max(found, axis=0)
    return *largest, -concavity


def test_bounds_are_above_what_is_found_by_sampling(bounded, float64):
    stream, bounds, draws = bounded
    problem = ffml.fair_classification(
        stream.schema, linear(), decision_boundary_covariance(0.1), l2=0.5
    )
    rng = np.random.default_rng(0)
    points = rng.normal(size=(24, 3))
    points *= 2 * rng.random((24, 1)) ** (1 / 3) / np.linalg.norm(points, axis=1, keepdims=True)

    def params(theta):
        return {"w": theta[:2], "b": theta[2]}

    functions = {
        "loss": lambda theta, rows: problem.loss(params(theta), rows)[None],
        "constraint": lambda theta, rows: constraint(problem, params(theta), rows),
    }
    steepest = curved = 0.0
    for what, function in functions.items():
        for batches in draws:
            found = sampled_constants(function, points, batches)
            names = ("lipschitz", "smoothness", "hessian_lipschitz")
            for name, sampled in zip(names, found, strict=False):
                largest = getattr(bounds, f"{what}_{name}")
                assert sampled <= largest * (1 + 1e-9) + 1e-9, (what, name)
            steepest, curved = max(steepest, found[0]), max(curved, found[1])
            if what == "loss":
                assert found[3] >= bounds.loss_strong_convexity == 0.5
            else:
                assert abs(found[3]) <= 1e-9
    assert steepest > bounds.gradient_bound / 6 and curved > bounds.smoothness / 6  # not loose
    assert (bounds.num_constraints, bounds.radius) == (1, 2.0)
    assert bounds.loss_range == 4 * bounds.loss_lipschitz
    assert bounds.constraint_range == 2 * bounds.constraint_lipschitz


def test_bounds_of_rows_that_can_be_counted_by_hand():
    schema = Schema(("a", "b"), (SensitiveColumn("s", ("0", "1")),))
    x = np.array([[3.0, 0.0], [0.0, 0.0], [0.0, 4.0]], np.float32)
    task = Task("t", x, np.array([0, 1, 1]), np.array([[0], [0], [1]]))
    one_group = Task("u", x[:1], np.array([1]), np.array([[1]]))
    stream = Stream("s", schema, lambda: iter([task, one_group]), 2)
    found = analysis.logistic_constants(stream, l2=2.0, radius=3.0)
    assert found.loss_lipschitz == pytest.approx(np.sqrt(17) + 6)
    assert found.loss_smoothness == pytest.approx(17 / 4 + 2)
    assert found.loss_hessian_lipschitz == pytest.approx(17**1.5 / (6 * np.sqrt(3)))
    # Sides (1.5, 0) and (0, 4), centre (0.75, 2); (3, 0) is the furthest from it.
    assert found.constraint_lipschitz == pytest.approx(2 * np.hypot(2.25, 2))


def test_theorem_1_promises_the_curvature_that_is_there(bounded, float64):
    """Eigenvalues of the Hessian of L(·, λ) through one inner step (Eq. 6 and 8)."""
    stream, constants, draws = bounded
    problem = ffml.fair_classification(
        stream.schema, linear(), decision_boundary_covariance(0.1), l2=0.5
    )
    supports = draws[0] if len(draws[0][0].y) == 8 else draws[1]
    stacked = jax.tree.map(lambda *leaves: jnp.stack(leaves) * 1.0, *supports)
    others = jax.tree.map(lambda leaf: leaf[::-1], stacked)  # queries of other tasks
    lam = jnp.array([0.8])

    def outer(vector, step):
        params = {"w": vector[:2], "b": vector[2]}

        def adapted(support):
            return primal_dual_steps(step, num_steps=1)(problem, params, lam, support)

        def lagrangian(support, query):
            theta = adapted(support)
            return problem.loss(theta, query) + lam @ constraint(problem, theta, query)

        return jax.vmap(lagrangian)(stacked, others).mean()

    hessians = jax.jit(jax.vmap(jax.hessian(outer), (0, None)))
    rng = np.random.default_rng(0)
    points = rng.normal(size=(200, 3))
    points *= 2 * rng.random((200, 1)) ** (1 / 3) / np.linalg.norm(points, axis=1, keepdims=True)
    low, high = analysis.guaranteed_curvature(constants, 0.8)
    assert low == pytest.approx(0.5 / 8) and high == pytest.approx(9 / 8 * constants.smoothness)
    step = analysis.largest_inner_step(constants, 0.8)
    values = np.linalg.eigvalsh(hessians(points, step))
    assert low <= values.min() and values.max() <= high
    # A step far beyond the bound makes flat directions: the promise is about the step.
    assert step < 1.7
    assert np.linalg.eigvalsh(hessians(points, 1.7)).min() < low


CONSTANTS = analysis.Constants(
    loss_lipschitz=3.0,
    constraint_lipschitz=2.0,
    loss_smoothness=1.5,
    constraint_smoothness=0.5,
    loss_hessian_lipschitz=0.25,
    constraint_hessian_lipschitz=0.125,
    loss_strong_convexity=1.0,
    constraint_strong_convexity=0.5,
    radius=1.0,
    num_constraints=2,
)


def test_theorem_1_by_hand():
    # λ̄m = 1: μ = 1.5, L = 5, ρ = 0.375, β = 2.
    assert analysis.largest_inner_step(CONSTANTS, 0.5) == pytest.approx(1.5 / (8 * 5 * 0.375))
    smooth = CONSTANTS._replace(loss_hessian_lipschitz=0.0, constraint_hessian_lipschitz=0.0)
    assert analysis.largest_inner_step(smooth, 0.5) == pytest.approx(1 / 4)
    assert analysis.guaranteed_curvature(CONSTANTS, 0.5) == pytest.approx((1.5 / 8, 9 / 4))
    assert analysis.outer_step(CONSTANTS, 1) == 0.5 and analysis.outer_step(CONSTANTS, 9) == 0.1


def test_theorem_2s_damping_satisfies_its_condition_and_nothing_else_does():
    def holds(delta, eta_1, t):
        m, g, h, eta_2 = 2, 3.0, 1.5, 1 / (t + 1)
        return (
            delta
            >= max(
                4 * m * (g**4 * eta_1**2 * m**2 + delta**2 * eta_2**2),
                4 * g**2 * eta_1**2 * h**2 * (m + 1) ** 2,
            )
            - 1e-12
        )

    for eta_1, t in ((0.005, 1), (0.001, 1), (0.02, 20)):
        low, high = analysis.damping_range(CONSTANTS, eta_1, t)
        assert 0 < low < high
        for delta in np.geomspace(low, high, 9):
            assert holds(delta, eta_1, t)
        assert not holds(0.99 * low, eta_1, t) and not holds(1.01 * high, eta_1, t)
    with pytest.raises(FFMLError, match=r"no damping satisfies Theorem 2 with inner_lr=0\.02"):
        analysis.damping_range(CONSTANTS, 0.02)
    assert not any(holds(delta, 0.02, 1) for delta in np.geomspace(1e-6, 1e6, 1000))
    steps = analysis.theorem_settings(CONSTANTS)
    assert steps["inner.lr"] <= analysis.largest_inner_step(CONSTANTS, 1.0)
    assert all(holds(steps["damping"], steps["inner.lr"], t) for t in (1, 2, 10, 1000))
    check_recipe(Recipe("ffml", settings=steps))
    with pytest.raises(FFMLError, match="the theorems need a strongly convex loss: set l2 > 0"):
        analysis.theorem_settings(CONSTANTS._replace(loss_strong_convexity=0.0))


# -- growth --------------------------------------------------------------------------------------


def test_growth_rates_of_known_curves():
    t = np.arange(1, 1001)
    for power in (0.25, 0.5, 0.75, 1.0, 1.3):
        assert analysis.growth_rate(7 * t**power) == pytest.approx(power)
    log_rate = analysis.growth_rate(np.log(t))
    assert 1 / np.log(1000) < log_rate < 1 / np.log(500)
    assert 0.5 + log_rate / 2 == pytest.approx(analysis.growth_rate(np.sqrt(t * np.log(t))))
    rng = np.random.default_rng(0)
    noisy = np.sqrt(t) + rng.normal(size=1000)
    assert analysis.growth_rate(noisy) == pytest.approx(0.5, abs=0.1)
    some = np.array([10, 50, 500, 800, 1000])
    assert analysis.growth_rate(some**0.5, some) == pytest.approx(0.5)
    both = np.where(t < 500, t, 500 * (t / 500) ** 0.5)  # the first half does not count
    assert analysis.growth_rate(both) == pytest.approx(0.5)
    assert analysis.growth_rate(both, start=0.0) > 0.7


def test_growth_rates_of_curves_that_are_not_positive():
    t = np.arange(1, 101)
    assert analysis.growth_rate(-1.0 * t) == -np.inf
    assert analysis.growth_rate(np.zeros(10)) == -np.inf
    assert analysis.growth_rate(50.0 - t) == 0  # falls below 0: its maximum stays
    assert analysis.growth_rate(np.where(t == 2, 1.0, -t)) == 0
    assert analysis.growth_rate(np.maximum(t - 60.0, -5)) > 1  # as if negative regret ended
    assert np.isnan(analysis.growth_rate(np.where(t == 100, 1.0, -1.0)))


@settings(deadline=None)
@given(st.floats(0.01, 100), st.floats(0.1, 2))
def test_growth_does_not_depend_on_the_scale(scale, power):
    t = np.arange(1, 60)
    assert analysis.growth_rate(scale * t**power) == pytest.approx(power)


# -- bad input -----------------------------------------------------------------------------------


def test_games_that_cannot_be_recorded(line, schema, make_stream):
    stream = make_stream((20, 20))
    problem = logistic(schema, bound=0.1)
    with pytest.raises(FFMLError, match="this method decides by something else than θ and λ"):
        analysis.record(problem, refit(problem), stream)
    with pytest.raises(FFMLError, match="take another, without wrappers"):
        analysis.record(problem, corrected(twp)(problem), stream)
    empty = Stream("nothing", schema, lambda: iter([]), 0)
    with pytest.raises(FFMLError, match="stream 'nothing' has no tasks"):
        analysis.record(problem, twp(problem), empty)
    with pytest.raises(FFMLError, match="'nothing' has no rows"):
        analysis.logistic_constants(empty, l2=1.0, radius=1.0)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda game: analysis.analyse(game, [0]), "rounds must be between 1 and 8, got [0]"),
        (lambda game: analysis.analyse(game, [9]), "rounds must be between 1 and 8, got [9]"),
        (lambda game: analysis.analyse(game, []), "rounds must be between 1 and 8, got []"),
        (lambda game: analysis.analyse(game, [5, 5]), "rounds must be ascending, got [5, 5]"),
        (lambda game: analysis.analyse(game, radius=0.0), "radius must be > 0, got 0.0"),
        (lambda game: analysis.analyse(game, tolerance=-1), "tolerance must be > 0, got -1"),
        (lambda game: analysis.violations(game.loss), "a row for each round, got shape (8,)"),
        (lambda game: analysis.growth_rate([1.0]), "a curve is two or more finite numbers"),
        (lambda game: analysis.growth_rate([1.0, np.nan]), "a curve is two or more finite"),
        (lambda game: analysis.growth_rate([1.0, 2.0], [3, 2]), "one ascending number"),
        (lambda game: analysis.growth_rate([1.0, 2.0], start=1.0), "below 1, got 1.0"),
        (lambda game: analysis.largest_inner_step(CONSTANTS, -1.0), "mean_multiplier must be"),
        (lambda game: analysis.damping_range(CONSTANTS, 0.0), "inner_lr must be > 0, got 0.0"),
        (lambda game: analysis.outer_step(CONSTANTS, 0), "round must be >= 1, got 0"),
    ],
)
def test_bad_input_is_refused_in_one_line(logistic_game, call, message):
    with pytest.raises(FFMLError) as caught:
        call(logistic_game[0])
    assert message in str(caught.value) and "\n" not in str(caught.value)


def test_a_tolerance_out_of_reach_is_not_passed_off_as_reached(logistic_game):
    with pytest.raises(FFMLError, match=r"of 3 rounds are certain to .*: raise tolerance"):
        analysis.best_in_hindsight(logistic_game[0], [3], tolerance=1e-30)
