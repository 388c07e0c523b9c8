"""Evening out by the features of people to be decided about, in the method and its loop."""

import jax
import numpy as np
import pytest
from conftest import random_task

from ffml import metrics
from ffml.base import FFMLError, Stream
from ffml.constraints import demographic_parity
from ffml.evaluation import LARGEST_CROWD, padded_batch, split_rows, support_batch, with_people
from ffml.memory import MemorySettings
from ffml.methods import ffml
from ffml.models import linear
from ffml.online import SPLIT, OnlineLoop
from ffml.problem import fair_classification
from ffml.surprise import shift


def make_loop(schema, bound=0.02, **settings):
    problem = fair_classification(schema, linear(), demographic_parity(bound, 0.5, True))
    learner = ffml(problem, num_inner_steps=1, num_outer_steps=5, shots=20, **settings)
    memory = MemorySettings(tasks_per_round=4, rows_per_task=64)
    return OnlineLoop(problem, learner, schema, shots=20, memory_settings=memory)


def test_nothing_is_learned_through_it(make_stream):
    """With and without, the pair and all else of the state are the same."""
    stream = make_stream((60, 200, 90, 500))
    loops = [make_loop(stream.schema, predict_gaps=flag) for flag in (False, True)]
    plain, evened = ([loop.step(task) for task in stream.tasks()] for loop in loops)
    one, other = (loop.state._replace(membership=0, missed=0) for loop in loops)
    for here, there in zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True):
        np.testing.assert_allclose(here, there, rtol=1e-4, atol=1e-6)  # two compiled programs
    assert [np.any(loop.state.membership.weights) for loop in loops] == [False, True]
    first, *_, last = zip(plain, evened, strict=True)
    assert first[0].metrics == pytest.approx(first[1].metrics, nan_ok=True)  # no groups seen yet
    assert last[0].metrics["loss"] != last[1].metrics["loss"]
    assert last[1].metrics["disc"] < last[0].metrics["disc"]


def test_what_is_expected_too_small_is_corrected_by_what_tasks_have_shown(schema):
    """Somebody who takes all groups for half as certain as they are finds out, task by task."""

    def half_as_certain(state):
        weights = state.membership.weights * np.float32([[0.5], [0.5], [0.5], [1.0]])
        return state._replace(membership=state.membership._replace(weights=weights))

    gaps = {}
    for memory in (0.0, 1.0):
        loop = make_loop(
            schema,
            predict_gaps=True,
            parity_goal=0.8,
            outer_constraints=False,
            surprise_memory=memory,
        )
        rounds = []
        for i in range(36):
            rounds.append(loop.step(random_task(i, 400, schema, bias=0.8)))
            loop.state = half_as_certain(loop.state)
        rates = [metrics.selection_rates(r.tables["sex"]) for r in rounds[18:]]
        gaps[memory] = np.mean([women - men for men, women in rates])
    assert shift(loop.state.missed)[0] > 0.02
    assert gaps[1.0] < 0.7 * gaps[0.0]


def test_labels_and_groups_of_the_people_never_reach_the_decision(make_stream):
    tasks = list(make_stream((60, 200, 120)).tasks())

    def parameters_of_the_last_round(scramble):
        loop, seen = make_loop(make_stream().schema, predict_gaps=True), []
        adapt = loop._adapt
        loop._adapt = lambda state, support: seen.append(adapt(state, support)) or seen[-1]
        for task in tasks[:-1]:
            loop.step(task)
        task = tasks[-1]
        if scramble:
            judges = split_rows(120, 0.5, np.random.default_rng([0, 3, SPLIT])).validation
            y, groups = task.y.copy(), task.groups.copy()
            y[judges], groups[judges] = 1 - y[judges], 1 - groups[judges]
            task = task._replace(y=y, groups=groups)
        loop.step(task)
        return seen[-1]

    jax.tree.map(
        np.testing.assert_array_equal,
        parameters_of_the_last_round(False),
        parameters_of_the_last_round(True),
    )


def test_ablations_and_methods_that_do_not_look_get_no_people(schema):
    problem = fair_classification(schema, linear(), demographic_parity(0.02))
    task = random_task(0, 50, schema)
    support = support_batch(task, schema, np.arange(20), 10, np.random.default_rng(0))
    for settings in ({}, {"predict_gaps": True, "inner_constraints": False}):
        learner = ffml(problem, **settings)
        assert not learner.uses_unlabelled
        assert with_people(support, learner, task.x, np.random.default_rng(0)) is support


@pytest.mark.parametrize("goal", [-0.1, float("nan")])
def test_a_goal_is_not_negative(schema, goal):
    problem = fair_classification(schema, linear(), demographic_parity(0.02))
    with pytest.raises(FFMLError, match="parity_goal must be"):
        ffml(problem, predict_gaps=True, parity_goal=goal)


def test_of_very_many_people_some_are_looked_at(schema):
    learner = ffml(
        fair_classification(schema, linear(), demographic_parity(0.02)), predict_gaps=True
    )
    task = random_task(0, LARGEST_CROWD + 500, schema)
    support = support_batch(task, schema, np.arange(20), 10, np.random.default_rng(0))
    people = with_people(support, learner, task.x, np.random.default_rng(0)).unlabelled
    assert people.x.shape == (LARGEST_CROWD, 3) and people.weight.sum() == LARGEST_CROWD
    few = with_people(support, learner, task.x[:300], np.random.default_rng(0)).unlabelled
    assert few.x.shape == padded_batch(task, schema, np.arange(300)).x.shape
    assert few.weight.sum() == 300


def test_groups_that_features_tell_are_treated_evenly_on_a_stream(schema):
    """The ratio of positive decisions over a stream's later rounds, with and without."""
    tasks = [random_task(i, 400, schema, bias=1.5) for i in range(8)]
    ratios = {}
    for flag in (False, True):
        loop = make_loop(schema, predict_gaps=flag, outer_constraints=False)
        rounds = [loop.step(task) for task in Stream("toy", schema, lambda: iter(tasks), 8).tasks()]
        ratios[flag] = np.mean([r.metrics["dp"] / r.metrics["dp_ceiling"] for r in rounds[4:]])
    assert ratios[True] > 0.9 > 0.7 > ratios[False]
