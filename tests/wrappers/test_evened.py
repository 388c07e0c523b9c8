"""The wrapper that keeps bounds among the very people to be decided about."""

from functools import partial

import jax
import numpy as np
import pytest
from conftest import random_task

from ffml.base import FFMLError, Unlabelled
from ffml.methods import refit, twp
from ffml.online import metrics
from ffml.online.judge import MOST_UNLABELLED, padded_batch, support_batch, with_people
from ffml.online.loop import OnlineLoop
from ffml.online.memory import MemorySettings
from ffml.problem.classification import fair_classification
from ffml.problem.models import linear
from ffml.problem.notions import demographic_parity
from ffml.wrappers import evened
from ffml.wrappers.surprise import expected_shift

QUICK = partial(twp, num_steps=20, penalty=0.0, shots=20)  # no fairness of its own


def make_loop(schema, method, bound=0.02):
    problem = fair_classification(schema, linear(), demographic_parity(bound))
    memory = MemorySettings(tasks_per_round=4, rows_per_task=256)
    return OnlineLoop(problem, method(problem), schema, shots=20, memory_settings=memory)


def mean_gap(rounds):
    rates = [metrics.selection_rates(r.tables["sex"]) for r in rounds]
    return np.mean([women - men for men, women in rates])


@pytest.mark.parametrize("method", [QUICK, refit], ids=["twp", "refit"])
def test_groups_that_features_tell_are_treated_evenly_and_learning_is_the_same(schema, method):
    tasks = [random_task(i, 400, schema, bias=1.5) for i in range(8)]
    plain, wrapped = (make_loop(schema, m) for m in (method, evened(method, shots=20)))
    rounds, evener = ([loop.step(task) for task in tasks] for loop in (plain, wrapped))
    jax.tree.map(np.testing.assert_array_equal, wrapped.state.inner, plain.state)
    assert rounds[0].metrics["loss"] == pytest.approx(evener[0].metrics["loss"], rel=1e-3)
    assert mean_gap(rounds[3:]) > 0.3
    assert abs(mean_gap(evener[3:])) < 0.08


def test_expected_gaps_that_are_off_are_corrected_by_what_tasks_show(schema):
    """Somebody who takes all groups for half as certain as they are finds out, task by task."""

    def half_as_certain(state):
        weights = state.membership.weights * np.float32([[0.5], [0.5], [0.5], [1.0]])
        return state._replace(membership=state.membership._replace(weights=weights))

    gaps = {}
    for memory in (0.0, 1.0):
        loop, rounds = make_loop(schema, evened(QUICK, memory=memory, shots=20), 0.05), []
        for i in range(24):
            rounds.append(loop.step(random_task(i, 400, schema, bias=0.8)))
            loop.state = half_as_certain(loop.state)
        gaps[memory] = mean_gap(rounds[12:])
    assert expected_shift(loop.state.bias)[0] > 0.02
    assert gaps[1.0] < gaps[0.0] - 0.02


@pytest.fixture
def learned(schema):
    """A learner that knows the groups, and one more task."""
    loop = make_loop(schema, evened(QUICK, shots=20))
    for i in range(3):
        loop.step(random_task(i, 300, schema, bias=1.5))
    return loop, random_task(9, 400, schema, bias=1.5)


def test_without_people_the_support_rows_stand_for_them(schema, learned):
    loop, task = learned
    support = support_batch(task, schema, np.arange(300), 20, np.random.default_rng(0))
    adapt = jax.jit(loop.learner.adapt)
    same = support._replace(unlabelled=Unlabelled(support.x, support.weight))
    jax.tree.map(
        partial(np.testing.assert_allclose, rtol=1e-5),
        adapt(loop.knowledge, support),
        adapt(loop.knowledge, same),
    )
    nobody = support_batch(task, schema, np.arange(0), 20, np.random.default_rng(0))
    assert not adapt(loop.knowledge, nobody).prices.price.any()


def test_decisions_go_by_features_and_never_look_at_groups(schema, learned):
    """A person's decision is the same whoever else is asked about, once prices are found."""
    loop, task = learned
    support = support_batch(task, schema, np.arange(100), 20, np.random.default_rng(0))
    people = with_people(support, loop.learner, task.x[100:], np.random.default_rng(0))
    params = jax.device_get(jax.jit(loop.learner.adapt)(loop.knowledge, people))
    assert params.prices.price.any()
    together = loop.learner.predict(params, task.x)
    alone = np.concatenate([loop.learner.predict(params, row[None]) for row in task.x[:20]])
    np.testing.assert_allclose(together[:20], alone, rtol=1e-4, atol=1e-5)
    traced = jax.jit(loop.learner.predict)(params, task.x)
    np.testing.assert_allclose(together, traced, rtol=1e-3, atol=1e-3)
    assert type(together) is np.ndarray


def test_of_very_many_people_some_are_looked_at(schema, learned):
    learner = learned[0].learner
    task = random_task(0, MOST_UNLABELLED + 500, schema)
    support = support_batch(task, schema, np.arange(20), 10, np.random.default_rng(0))
    people = with_people(support, learner, task.x, np.random.default_rng(0)).unlabelled
    assert people.x.shape == (MOST_UNLABELLED, 3) and people.weight.sum() == MOST_UNLABELLED
    few = with_people(support, learner, task.x[:300], np.random.default_rng(0)).unlabelled
    assert few.x.shape == padded_batch(task, schema, np.arange(300)).x.shape
    assert few.weight.sum() == 300
    plain = learner._replace(uses_unlabelled=False)
    assert with_people(support, plain, task.x, np.random.default_rng(0)) is support


def test_what_cannot_be_kept_is_refused(schema):
    with pytest.raises(FFMLError) as caught:
        evened(QUICK)(fair_classification(schema, linear()))
    assert str(caught.value) == (
        "the wrapper 'evened' keeps bounds, and nothing is bounded; give one"
    )
    with pytest.raises(FFMLError, match=r"^evened\.memory must be <= 1, got 2$"):
        evened(QUICK, memory=2)
