"""Do regret and violation grow as slowly as the papers say, where their assumptions hold?

Logistic regression with l2 = 1 on `convex_stream`: as in the papers, losses change by round and
the constraint does not. The first parameters are far too unequal, so that a learner has to earn
both claims, and one that stands still meets neither.
"""

import math

import jax.numpy as jnp
import numpy as np
import pytest

import ffml
from ffml.base import Info, Model
from ffml.online.memory import MemorySettings
from ffml.problem.models import linear
from ffml.recipe.recipes import Recipe, build_method
from ffml.research import analysis

RADIUS, L2, BOUND = 1.0, 1.0, 0.1
SETTINGS = {"shots": 8, "memory_settings": MemorySettings(4, 32)}
NUMBERS = [32, 125, 250, 360, 500]


@pytest.fixture(scope="module")
def problem():
    unequal = Model(lambda key, n: {"w": jnp.full(n, 0.4), "b": jnp.zeros(())}, linear().apply)
    notion = ffml.constraints.decision_boundary_covariance(BOUND)
    return ffml.fair_classification(analysis.convex_stream().schema, unequal, notion, l2=L2)


@pytest.fixture(scope="module")
def constants():
    return analysis.logistic_constants(analysis.convex_stream(), l2=L2, radius=RADIUS)


def played(problem, learner, num_tasks, numbers):
    game = analysis.record(problem, learner, analysis.convex_stream(num_tasks), **SETTINGS)
    found = analysis.analyse(game, numbers, radius=RADIUS)
    gaps = [comparator.loss - comparator.at_least for comparator in found.comparators]
    assert max(gaps) <= 1e-6  # certified: the problem is convex
    assert found.comparators[-1].multipliers[0] > 0.05  # the constraint binds
    return found


def rates(found):
    """Return the exponents of regret, violation, clipped and squared violation."""
    curves = found.regret, *(sums[:, 0] for sums in found.violation)
    return [analysis.growth_rate(curve, found.rounds) for curve in curves]


def test_ffml_grows_as_theorem_2_says_and_who_does_not_learn_does_not(problem, constants):
    """Theorem 2: regret O(log T), violation O(√(T log T)), with its own step sizes."""
    settings = analysis.theorem_settings(constants, mean_multiplier=0.5)
    assert settings["inner.lr"] > 0.01 and settings["outer_lr"] == L2
    assert settings["inner.lr"] <= analysis.largest_inner_step(constants, 0.5)

    recipe = Recipe("ffml", settings=settings | {"num_outer_steps": 2})
    learner = build_method(recipe, shots=8)(problem)
    frozen = learner._replace(
        update=lambda key, state, task, memory: (state, Info(0.0, np.zeros(1), np.zeros(1), 0))
    )
    learned = played(problem, learner, 500, NUMBERS)
    control = played(problem, frozen, 200, [50, 100, 150, 200])
    assert learned.multipliers.max() < 0.5  # so that Theorem 1 covers the comparator
    assert min(rates(control)) > 0.95  # linear: the measure can tell

    regret, violation, clipped, squared = rates(learned)
    assert regret < 0.5  # log T has 0.17 here, √T has 0.5
    assert violation < 0.6 and clipped < 0.6  # √(T log T) has 0.59
    assert squared < 0.35
    per_round = learned.regret / learned.rounds
    assert per_round[-1] < per_round[0] / 5 and per_round[-1] < 0.02 * control.regret[-1] / 200
    clipped_per_round = learned.violation.clipped[:, 0] / learned.rounds
    assert clipped_per_round[-1] < clipped_per_round[0] / 3
    assert clipped_per_round[-1] < 0.02 * control.violation.clipped[-1, 0] / 200


def two_horizons(problem, make):
    """Play 60 and 240 tasks with steps made for each; return the last sums and the exponents."""
    ends = []
    for num_tasks in (60, 240):
        found = played(problem, make(num_tasks), num_tasks, [num_tasks])
        ends.append([found.regret[-1], *(sums[-1, 0] for sums in found.violation)])
    short, long = np.array(ends)
    assert (short > 0).all()
    return long, np.log(np.maximum(long, 1e-9) / short) / np.log(4)


def test_ogdlc_stays_within_its_papers_bounds(problem, constants):
    """Mahdavi et al. 2012: with η = R²/(a√T) and a = R√((m+1)G² + 2D²),

    regret <= a√T and violation <= √(2(FT + a√T)√T(δR²/a + ma/R²)), which is O(T^{3/4}).
    """
    gradient, size = constants.gradient_bound, constants.constraint_range
    a = RADIUS * math.sqrt(2 * gradient**2 + 2 * size**2)

    def settings(num_tasks):
        eta = RADIUS**2 / (a * math.sqrt(num_tasks))
        square, least = 2 * eta**2, 2 * gradient**2  # δ >= (m+1)G² + 2δ²η²
        return eta, (1 - math.sqrt(1 - 4 * square * least)) / (2 * square)

    def make(num_tasks):
        eta, delta = settings(num_tasks)
        return ffml.methods.ogdlc(
            problem, lr=eta, damping=delta, radius=RADIUS, num_steps=1, shots=8
        )

    (regret, violation, *_), (regret_rate, violation_rate, *_) = two_horizons(problem, make)
    _, delta = settings(240)
    assert regret <= a * math.sqrt(240)
    total = constants.loss_range * 240 + a * math.sqrt(240)
    within = math.sqrt(2 * total * math.sqrt(240) * (delta * RADIUS**2 / a + a / RADIUS**2))
    assert violation <= within
    assert regret_rate < 0.75 and violation_rate < 0.75


def gen_olc(problem, constants, **steps):
    return ffml.methods.gen_olc(
        problem,
        **steps,
        gradient_bound=constants.constraint_lipschitz,
        radius=RADIUS,
        num_steps=1,
        shots=8,
    )


def test_gen_olc_for_convex_losses(problem, constants):
    """Yuan & Lamperski 2018: with η of order 1/√T, regret and Σ([g]₊)² are O(√T)."""
    _, (regret, _, clipped, squared) = two_horizons(
        problem, lambda num_tasks: gen_olc(problem, constants, lr=num_tasks**-0.5)
    )
    assert regret < 0.6 and squared < 0.5
    assert clipped < 0.75  # by Cauchy and Schwarz, Σ[g]₊ <= √(T Σ([g]₊)²)


def test_gen_olc_for_strongly_convex_losses(problem, constants):
    """With η_t = H₁/(t+1), regret and Σ([g]₊)² are O(log T), so Σ[g]₊ is O(√(T log T))."""
    learner = gen_olc(problem, constants, strong_convexity=L2)
    regret, _, clipped, squared = rates(played(problem, learner, 500, NUMBERS))
    assert regret < 0.5 and squared < 0.2 and clipped < 0.6
