"""Sinha & Vaze: regret and cumulative violation stay within what their theorem promises.

min ½(θ - a_t)² with θ <= limit and targets a_t that change by round: convex, online, with a
feasible point. The price has to grow by e^{λQ} from 1/(2√T), so it takes 10,000 steps before the
bounds say more than that violation is at most linear.
"""

import math

import jax
import numpy as np
import pytest
from closed_forms import constant_tasks, scalar_problem

from ffml.methods import sinha_vaze

RADIUS, GRADIENT = 0.5, 1.1  # |θ - a_t| <= 0.5 + 0.6
STEPS = 100_000


def played(limit, horizon=None):
    """Return the regret and the clipped violation so far, by step."""
    learner = sinha_vaze(
        scalar_problem(limit),
        radius=RADIUS,
        gradient_bound=GRADIENT,
        horizon=horizon,
        num_steps=1,
        shots=1,
    )
    targets = np.random.default_rng(0).choice([0.4, 0.6], STEPS)

    def step(state, task):
        state, info = learner.update(jax.random.key(0), state, task, None)
        return state, (info.loss, info.constraint[0])

    start = learner.init(jax.random.key(0))
    _, (loss, g) = jax.jit(lambda tasks: jax.lax.scan(step, start, tasks))(constant_tasks(targets))
    best = 0.5 * (targets - min(limit, 0.5)) ** 2
    return (np.asarray(loss, float) - best).cumsum(), np.maximum(np.asarray(g, float), 0).cumsum()


def rate(curve, start=STEPS // 10):
    """Return the exponent between a tenth of the steps and all of them."""
    return math.log(curve[-1] / curve[start - 1]) / math.log(STEPS / start)


def bounds(steps):
    """Return what follows from Φ(Q) + αR <= (1 + Φ'(Q))√(T/2), and from R >= -GDT."""
    size = 2 * GRADIENT * 2 * RADIUS  # 1/α
    regret = size * (1 + math.sqrt(steps / 2))
    most = (steps / 2 + math.sqrt(steps / 2) + 1) / (1 - math.sqrt(1 / 8))
    return regret, size * 2 * math.sqrt(steps) * math.log(most)


@pytest.mark.parametrize("horizon", [None, STEPS])
def test_violation_of_a_constraint_that_binds_grows_like_the_root(horizon):
    regret, clipped = played(limit=0.25, horizon=horizon)
    most_regret, most_clipped = bounds(STEPS)
    assert regret[-1] <= most_regret
    assert 0 < clipped[-1] <= most_clipped < 0.25 * STEPS  # who never learns of it pays 0.25 a step
    assert rate(clipped) < 0.72  # √T log T has 0.60 here, and a linear curve 1


def test_regret_where_the_constraint_has_slack_grows_like_the_root():
    regret, _ = played(limit=0.6)
    assert 0 < regret[-1] <= bounds(STEPS)[0]
    assert rate(regret) < 0.6
