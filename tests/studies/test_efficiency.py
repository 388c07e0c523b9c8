"""Task learning efficiency: curves over nested supports, and what is read off them."""

import math
from itertools import pairwise

import jax
import numpy as np
import pytest
from conftest import random_task
from hypothesis import given
from hypothesis import strategies as st
from playing import Player

from ffml.base import LabelledTask, Learner, Pair, Traits, plain
from ffml.draws import SPLIT, SUPPORT
from ffml.methods import m_ftml, twp
from ffml.methods._inner import gradient_steps
from ffml.online.judge import split_rows
from ffml.online.loop import Loop, arrive
from ffml.online.memory import MemorySettings, bounded, padded_rows
from ffml.problem.classification import fair_classification
from ffml.problem.models import linear
from ffml.problem.notions import demographic_parity
from ffml.studies.efficiency import (
    SUPPORT_SIZES,
    Point,
    by_adapting,
    by_updating,
    learning_curve,
    rows_needed,
)

SMALL = MemorySettings(tasks_per_round=2, rows_per_task=32)


@pytest.fixture
def problem(schema):
    return fair_classification(schema, linear(), demographic_parity(0.02))


def loop_of(problem, learner, schema, **more):
    settings = {"seed": 3, "shots": 4, "memory_settings": SMALL} | more
    return Player(Loop(problem, learner, schema, **settings))


def counting_learner():
    """Decides by the number of rows it was given: logits are rows/100 times the first feature."""
    return Learner(
        init=lambda key: Pair(np.float32(0), np.zeros(1)),
        adapt=lambda pair, support: np.float32(support.pool_size / 100),
        predict=lambda params, x: plain(params * x[:, 0]),
        update=None,
        knowledge=lambda pair: pair,
        traits=Traits(pure=False),
    )


def test_curve_in_closed_form(problem, schema):
    loop, task = loop_of(problem, counting_learner(), schema), random_task(1, 120, schema)
    points = learning_curve(loop.loop, loop.state, task, by_adapting(loop.loop), (0, 10, 40, 1000))
    judges = split_rows(120, 0.5, np.random.default_rng([3, 1, SPLIT])).validation
    assert [p.rows for p in points] == [0, 10, 40, 60]  # all there are, where there are fewer
    x, y, member = task.x[judges, 0], task.y[judges], task.groups[judges, 0] == 1
    for rows, loss, dbc in points:
        probability = 1 / (1 + np.exp(-rows / 100 * x.astype(float)))
        expected = -np.log(np.where(y == 1, probability, 1 - probability)).mean()
        assert loss == pytest.approx(expected, rel=1e-5)
        assert dbc == pytest.approx(rows / 100 * (x[member].mean() - x[~member].mean()), rel=1e-4)
    assert points[0].loss == pytest.approx(math.log(2))


def test_supports_are_nested_and_judge_nobody(problem, schema):
    loop, task = loop_of(problem, counting_learner(), schema), random_task(1, 90, schema)
    loop.state = loop.state._replace(round=4)
    given_rows = []

    def learn(state, arrived, rows):
        given_rows.append(set(rows.tolist()))
        return np.float32(0)

    learning_curve(loop.loop, loop.state, task, learn)
    split = split_rows(90, 0.5, np.random.default_rng([3, 5, SPLIT]))  # that of round 5
    assert [len(rows) for rows in given_rows] == [0, 5, 10, 25, 45]
    assert all(a < b for a, b in pairwise(given_rows))
    assert given_rows[-1] == set(split.support)
    assert not given_rows[-1] & set(split.validation)


def test_all_rows_give_the_decision_of_the_round_and_change_nothing(problem, schema):
    learner = m_ftml(problem, gradient_steps(num_steps=1), num_outer_steps=2, shots=4)
    loops = [loop_of(problem, learner, schema) for _ in range(2)]
    learn = by_adapting(loops[0].loop)
    for seed in range(3):
        task = random_task(seed, 60, schema)
        points = learning_curve(loops[0].loop, loops[0].state, task, learn)
        measured, undisturbed = (loop.step(task) for loop in loops)
        assert points[-1].rows == 30
        assert (points[-1].loss, points[-1].dbc) == (
            measured.metrics["loss"],
            measured.metrics["dbc"],
        )
        np.testing.assert_array_equal(
            list(measured.metrics.values()), list(undisturbed.metrics.values())
        )
    for one, other in zip(*(jax.tree.leaves(loop.state.learner) for loop in loops), strict=True):
        np.testing.assert_array_equal(one, other)
    assert points[0].loss != points[-1].loss


def test_methods_that_never_adapt_take_their_own_steps(problem, schema):
    learner = twp(problem, num_steps=3, shots=4)
    loop = loop_of(problem, learner, schema)
    loop.step(random_task(0, 40, schema))
    task, rows, learn = random_task(1, 40, schema), np.arange(3, 21), by_updating(loop.loop)
    part = task._replace(x=task.x[rows], y=task.y[rows], groups=task.groups[rows])
    kept = padded_rows(bounded(part, schema, 32, np.random.default_rng([3, 2, SUPPORT])), 32)
    key = jax.random.fold_in(jax.random.key(3), 2)
    memory = LabelledTask(*(np.stack([leaf, leaf]) for leaf in kept))
    expected, _ = learner.update(key, loop.state.learner, kept, memory)
    arrived = arrive(loop.loop, loop.state, task)[1]
    found = learn(loop.state, arrived, rows)
    for one, other in zip(
        *map(jax.tree.leaves, (found, learner.knowledge(expected).params)),
        strict=True,
    ):
        np.testing.assert_allclose(one, other, rtol=1e-5)
    for one, other in zip(
        *map(jax.tree.leaves, (learn(loop.state, arrived, rows[:0]), loop.pair.params)), strict=True
    ):
        np.testing.assert_array_equal(one, other)


def test_tasks_that_cannot_be_measured(problem, schema):
    """One group: no DBC, so no number of rows is enough. One row: it judges, and none supports."""
    loop = loop_of(problem, counting_learner(), schema)
    task = random_task(1, 50, schema)
    points = learning_curve(
        loop.loop,
        loop.state,
        task._replace(groups=np.zeros_like(task.groups)),
        by_adapting(loop.loop),
    )
    assert all(math.isnan(p.dbc) and math.isfinite(p.loss) for p in points)
    assert math.isnan(rows_needed(points, 10, 10))
    [only] = learning_curve(
        loop.loop, loop.state, random_task(2, 1, schema), by_adapting(loop.loop)
    )
    assert only.rows == 0


def test_thresholds_hold_at_the_same_time():
    curve = [Point(0, 0.2, 0.9), Point(10, 0.9, 0.0), Point(20, 0.3, -0.1), Point(30, 0.1, 0.1)]
    assert rows_needed(curve, 0.3, 0.1) == 20
    assert rows_needed(curve, 0.2, 0.1) == 30
    assert rows_needed(curve, 0.2, 1.0) == 0
    assert math.isnan(rows_needed(curve, 0.3, 0.05))
    assert math.isnan(rows_needed([], 1, 1))


@given(
    st.lists(st.tuples(st.floats(0, 2), st.floats(-2, 2)), max_size=len(SUPPORT_SIZES)),
    st.floats(0, 2),
    st.floats(0, 2),
)
def test_looser_thresholds_never_need_more_rows(values, max_loss, max_dbc):
    curve = [Point(n, *value) for n, value in zip(SUPPORT_SIZES, values, strict=False)]
    strict, loose = (rows_needed(curve, max_loss + d, max_dbc + d) for d in (0, 0.5))
    assert math.isnan(strict) or loose <= strict
    assert rows_needed(curve[::-1], max_loss, max_dbc) == pytest.approx(strict, nan_ok=True)
