"""FairSAOML: intervals and weights by hand, and all of it beside a plain computation."""

import math

import jax
import numpy as np
import pytest
from closed_forms import constant_tasks, scalar_problem

from ffml.base import FFMLError
from ffml.datasets import load
from ffml.methods import fairsaoml
from ffml.methods._fairsaoml import begins, has_begun, weights
from ffml.methods._inner import primal_dual_steps
from ffml.online.loop import play
from ffml.online.memory import MemorySettings
from ffml.problem.classification import fair_classification
from ffml.problem.models import linear
from ffml.problem.notions import demographic_parity
from ffml.recipe.presets import preset
from ffml.recipe.recipes import Recipe, build_method

LIMIT, INNER, LR, DAMPING, STEPS = 0.25, 0.2, 0.3, 0.5, 2


def test_the_intervals_of_a_round():
    """Round t is in one interval [k 2^i, (k+1) 2^i - 1], k >= 1, of each length up to t."""
    intervals = [
        (i, k * 2**i, (k + 1) * 2**i - 1) for i in range(4) for k in range(1, 40 // 2**i + 1)
    ]
    for t in range(1, 40):
        alive = {i for i, first, last in intervals if first <= t <= last}
        new = {i for i, first, _ in intervals if first == t}
        assert set(np.flatnonzero(has_begun(t, 4))) == alive
        assert set(np.flatnonzero(begins(t, 4) & has_begun(t, 4))) == new


def hand_weight(regret, change):
    def potential(r):
        return math.exp(max(r, 0) ** 2 / (3 * (change + 1)))

    return (potential(regret + 1) - potential(regret - 1)) / 2


def test_weights_go_by_regret():
    regrets, changes = np.array([0.0, 0.5, 3.0, -0.5, -1.0]), np.array([0.0, 0.5, 4.0, 2.0, 1.0])
    expected = [hand_weight(*both) for both in zip(regrets, changes, strict=True)]
    np.testing.assert_allclose(weights(regrets, changes), expected, rtol=1e-5)
    assert expected[-1] == 0 and expected[2] > expected[1] > expected[0] > expected[3] > 0


class ByHand:
    """The method for the scalar problem, in plain Python, expert by expert."""

    def __init__(self, experts):
        self.experts = [[0.0, 0.0, 0.0, 0.0] for _ in range(experts)]  # θ, λ, R, C
        self.round = 0
        self.pair = (0.0, 0.0)

    def adapted(self, theta, lam, target):
        return theta - INNER * (theta - target + lam)

    def loss(self, theta, lam, target):
        return 0.5 * (self.adapted(theta, lam, target) - target) ** 2

    def mean(self, t):
        alive = [e for i, e in enumerate(self.experts) if t >= 2**i]
        worth = [hand_weight(e[2], e[3]) for e in alive]
        worth = worth if sum(worth) else [1.0] * len(alive)
        return tuple(
            sum(w * e[j] for w, e in zip(worth, alive, strict=True)) / sum(worth) for j in (0, 1)
        )

    def learn(self, target):
        self.round += 1
        for i, expert in enumerate(self.experts):
            theta, lam = expert[:2]
            if self.round >= 2**i:
                gain = self.loss(*self.pair, target) - self.loss(theta, lam, target)
                gain = min(max(gain, -1), 1)
                expert[2] += gain
                expert[3] += abs(gain)
            eta = LR / math.sqrt(2**i)
            for _ in range(STEPS):
                ahead = self.adapted(theta, lam, target)
                pull = ahead - target + lam  # the slope of f + λg at θ'
                dual = ahead - LIMIT - DAMPING * eta * lam - INNER * pull
                theta, lam = theta - eta * (1 - INNER) * pull, max(lam + eta * dual, 0.0)
            expert[:2] = theta, lam
        pair = self.mean(self.round)
        for i, expert in enumerate(self.experts):
            if (self.round + 1) % 2**i == 0:
                expert[:] = [*pair, 0.0, 0.0]
        self.pair = self.mean(self.round + 1)


def test_seven_rounds_by_hand(float64):
    tasks = constant_tasks([2.0, 1.5, 2.0, -1.0, -0.5, -1.0, 3.0])
    learner = fairsaoml(
        scalar_problem(LIMIT),
        primal_dual_steps(INNER, 1),
        outer_lr=LR,
        damping=DAMPING,
        num_experts=3,
        num_outer_steps=STEPS,
        shots=2,
    )
    update, state, hand = jax.jit(learner.update), learner.init(jax.random.key(0)), ByHand(3)
    largest = 0.0
    for t, target in enumerate([2.0, 1.5, 2.0, -1.0, -0.5, -1.0, 3.0]):
        task = jax.tree.map(lambda leaf, t=t: leaf[t], tasks)
        state, info = update(jax.random.key(t), state, task, None)
        hand.learn(target)
        found = float(state.params), float(state.multipliers[0])
        assert found == pytest.approx(hand.pair, rel=1e-9, abs=1e-12)
        expected = np.array(hand.experts)[:, 2:].T
        found = [state.experts.regret, state.experts.change]
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
        largest = max(largest, np.abs(expected[0]).max())
    assert largest > 0.1  # regrets that tell experts apart
    assert update._cache_size() == 1 and int(info.iterations) == STEPS


def test_it_recovers_from_an_abrupt_change_faster_than_ffml():
    """Labels turn round after 5 of 10 tasks, which FFML's memory is full of."""
    stream = load(
        "synthetic",
        seed=100,
        num_tasks=10,
        num_features=3,
        drift=0.0,
        bias=0.0,
        proxy=1.0,
        change="abrupt",
    )
    problem = fair_classification(stream.schema, linear(), demographic_parity(0.05))
    memory = MemorySettings(tasks_per_round=4, rows_per_task=64)
    accuracy = {}
    for name in ("ffml", "fairsaoml"):
        settings = preset("default", "synthetic", name)
        settings |= {"num_outer_steps": 10, "inner.num_steps": 1}
        settings.pop("wrappers", None)
        recipe = Recipe(name, settings=settings)
        learner = build_method(recipe, shots=10)(problem)
        rounds = play(problem, learner, stream, shots=10, memory_settings=memory)
        accuracy[name] = [record.metrics["accuracy"] for record in rounds]
    before, after = slice(2, 5), slice(7, 10)
    assert min(np.mean(some[before]) for some in accuracy.values()) > 0.75
    assert accuracy["fairsaoml"][5] < 0.4  # nobody knows before the first such task is revealed
    assert np.mean(accuracy["fairsaoml"][after]) > 0.75 > 0.5 > np.mean(accuracy["ffml"][after])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"num_experts": 0}, "num_experts must be >= 1, got 0"),
        ({"outer_lr": 0.0}, "outer_lr must be > 0, got 0.0"),
        ({"loss_range": -1.0}, "loss_range must be > 0, got -1.0"),
        ({"damping": -1.0}, "damping must be >= 0, got -1.0"),
    ],
)
def test_settings_that_cannot_work(settings, message):
    with pytest.raises(FFMLError, match=message):
        fairsaoml(scalar_problem(LIMIT), **settings)
