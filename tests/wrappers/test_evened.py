"""The wrapper that keeps bounds among the very people to be decided about."""

from functools import partial

import jax
import numpy as np
import pytest
from conftest import random_task
from playing import Player

from ffml import metrics
from ffml.base import FFMLError, Schema, SensitiveColumn, Task, Unlabelled
from ffml.features import boosted
from ffml.methods import ffml_exact, refit, twp
from ffml.online.decide import crowd_of, find_rule
from ffml.online.judge import support_batch
from ffml.online.loop import Loop
from ffml.online.memory import MemorySettings
from ffml.problem.classification import fair_classification
from ffml.problem.models import linear
from ffml.problem.notions import demographic_parity, gap, ratio
from ffml.wrappers import evened
from ffml.wrappers._label_rate import PRIOR_ROWS

QUICK = partial(twp, num_steps=20, penalty=0.0, shots=20)  # no fairness of its own


def make_loop(schema, method, bound=0.02, features=None, **settings):
    notions = () if bound is None else (demographic_parity(bound),)
    problem = fair_classification(schema, linear(), *notions, **settings)
    memory = MemorySettings(tasks_per_round=4, rows_per_task=256)
    told = problem if features is None else problem._replace(schema=features.schema)
    loop = Loop(problem, method(told), schema, features, shots=20, memory_settings=memory)
    return Player(loop)


def mean_gap(rounds):
    rates = [metrics.selection_rates(r.tables["sex"]) for r in rounds]
    return np.mean([women - men for men, women in rates])


@pytest.mark.parametrize(
    "method", [QUICK, refit, partial(ffml_exact, shots=20)], ids=["twp", "refit", "ffml-exact"]
)
def test_groups_that_features_tell_are_treated_evenly_and_learning_is_the_same(schema, method):
    tasks = [random_task(i, 400, schema, bias=1.5) for i in range(8)]
    plain, wrapped = (make_loop(schema, m) for m in (method, evened(method, shots=20)))
    rounds, evener = ([loop.step(task) for task in tasks] for loop in (plain, wrapped))
    jax.tree.map(np.testing.assert_array_equal, wrapped.state.learner.inner, plain.state.learner)
    assert mean_gap(rounds[3:]) > 0.3
    assert abs(mean_gap(evener[3:])) < 0.08


RACES = Schema(("a", "b", "c"), (SensitiveColumn("race", ("p", "q", "r", "nobody")),))


def task_of_races(seed, rows):
    """Two features know three groups, of which the labels know; a fourth has nobody."""
    rng = np.random.default_rng(seed)
    race = rng.integers(3, size=rows)
    x = np.c_[rng.normal(size=rows), race == 0, race == 1].astype(np.float32)
    y = (x @ [1.0, 1.2, 0.4] + 0.5 * rng.normal(size=rows) > 0.5).astype(np.int32)
    return Task(f"task {seed}", x, y, race[:, None].astype(np.int32))


@pytest.mark.parametrize(
    ("bound", "unlike"),
    [
        (gap(0.05), lambda rates: np.ptp(rates) - 0.05),
        (ratio(0.8), lambda rates: 0.8 * rates.max() - rates.min()),
    ],
    ids=["gap", "ratio"],
)
def test_no_two_of_several_groups_differ_by_more_than_asked(bound, unlike):
    loops = [make_loop(RACES, m, bound) for m in (QUICK, evened(QUICK, shots=20))]
    rates = []
    for loop in loops:
        rounds = [loop.step(task_of_races(i, 600)) for i in range(10)]
        table = sum(record.tables["race"] for record in rounds[3:])[:3]
        rates.append(table[..., 1].sum(1) / table.sum((1, 2)))
    assert unlike(rates[0]) > 0.05
    assert unlike(rates[1]) < 0.02
    assert rounds[-1].extra == {"untold demographic-parity[race=nobody]": 1.0}


def test_expected_gaps_that_are_off_are_corrected_by_what_tasks_show(schema):
    """Somebody who takes all groups for half as certain as they are finds out, task by task."""

    def half_as_certain(state):
        membership = state.known.membership
        weights = membership.weights * np.array([[0.5], [0.5], [0.5], [0.5], [1.0]])
        nothing_tried = membership.losses * 0  # or labelled rows would be trusted instead
        doubting = membership._replace(weights=weights, losses=nothing_tried)
        return state._replace(known=state.known._replace(membership=doubting))

    gaps = {}
    for memory in (0.0, 1.0):
        loop, rounds = make_loop(schema, evened(QUICK, memory=memory, shots=20), 0.05), []
        for i in range(24):
            rounds.append(loop.step(random_task(i, 400, schema, bias=0.8)))
            doubting = half_as_certain(loop.state.learner)
            loop.state = loop.state._replace(learner=doubting)
        gaps[memory] = mean_gap(rounds[12:])
    assert loop.state.learner.known.misses.bias[0] > 0.015
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
    adapt = loop.learner.adapt
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
    people = support._replace(unlabelled=crowd_of(task.x[100:], task.x[:0]))
    params = loop.learner.adapt(loop.knowledge, people)
    assert params.prices.price.any()
    together = loop.learner.predict(params, task.x).logits
    alone = [loop.learner.predict(params, row[None]).logits[0] for row in task.x[:20]]
    np.testing.assert_allclose(together[:20], alone, rtol=1e-4, atol=1e-5)
    assert type(together) is np.ndarray and together.dtype == np.float32


def test_without_bounds_the_threshold_decides_alone(schema):
    """Logits of balanced decisions are the method's own, whatever positives cost."""
    tasks = [random_task(i, 200, schema) for i in range(3)]
    method = partial(ffml_exact, shots=20)
    for weight in (1.0, 3.0):
        plain, wrapped = (
            make_loop(schema, m, bound=None, positive_weight=weight)
            for m in (method, evened(method, policy="balanced", shots=20))
        )
        for task in tasks:
            one, other = plain.step(task), wrapped.step(task)
        np.testing.assert_array_equal(one.tables["sex"], other.tables["sex"])
        assert other.metrics["loss"] == pytest.approx(one.metrics["loss"], rel=1e-4)


def few_positives(seed, rows, schema):
    """A task in which one in five or so has label 1."""
    task = random_task(seed, rows, schema)
    return task._replace(y=task.y * (np.random.default_rng(seed).random(rows) < 0.4))


def played(schema, threshold, bound=None):
    loop = make_loop(schema, evened(partial(ffml_exact, shots=20), policy=threshold), bound)
    rounds = [loop.step(few_positives(i, 600, schema)) for i in range(6)]
    return loop, sum(record.tables["sex"].sum(0)[:2] for record in rounds[2:])  # [label, decision]


@pytest.mark.parametrize("bound", [None, 0.02])
def test_a_policy_decides_who_is_favoured(schema, bound):
    policies = ("balanced", "accuracy", "cost=20", "approve=0.1", "labels")
    balanced, accurate, costly, chosen, alike = (
        played(schema, policy, bound)[1] for policy in policies
    )

    def accuracy(table):
        return np.trace(table) / table.sum()

    def balanced_accuracy(table):
        return (np.diag(table) / table.sum(1)).mean()

    assert accuracy(accurate) > accuracy(balanced) + 0.01
    assert balanced_accuracy(balanced) > balanced_accuracy(accurate) + 0.01
    assert costly[1, 0] < 0.1 * costly[1].sum()  # few positives are missed
    assert chosen[:, 1].sum() / chosen.sum() == pytest.approx(0.1, abs=0.01)
    assert alike[:, 1].sum() / alike.sum() == pytest.approx(alike[1].sum() / alike.sum(), abs=0.03)


def test_chances_are_those_of_the_label_at_its_own_rate(schema):
    loop, _ = played(schema, "balanced", 0.02)
    task = few_positives(99, 3000, schema)
    params = find_rule(loop.loop, loop.known, task, np.arange(500), np.arange(3000)).params
    rate = (500 * task.y[:500].mean() + PRIOR_ROWS * 0.22) / (500 + PRIOR_ROWS)
    assert float(params.label_rate) == pytest.approx(rate, abs=0.01)
    chances = loop.learner.predict(params, task.x).probability
    assert chances.mean() == pytest.approx(task.y.mean(), abs=0.03)


def test_logits_are_positive_where_scores_exceed_the_threshold_wherever_that_is(schema, learned):
    """Prices move scores, and with them a threshold by rate, beyond probabilities."""
    loop, task = learned
    params = find_rule(loop.loop, loop.known, task, np.arange(200), np.arange(400)).params
    for moved in (-3.0, -1.0, 0.0, 0.9999999, 1.0, 2.0):
        prices = params.prices._replace(price=np.array([-5.0, 5.0]), threshold=np.asarray(moved))
        logits = loop.learner.predict(params._replace(prices=prices), task.x).logits
        share = (logits > 0).mean()
        assert 0 < share < 1 and np.isfinite(logits).all()


def test_labels_of_one_kind_and_missing_groups_are_survived(schema):
    loop = make_loop(schema, evened(partial(ffml_exact, shots=5), shots=5))
    for i, rows in enumerate((30, 1, 2, 30, 40)):
        task = random_task(i, rows, schema)
        task = task._replace(groups=task.groups * 0) if i < 3 else task._replace(y=task.y * 0)
        record = loop.step(task)
        assert np.isfinite(record.metrics["loss"])
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(loop.state.learner))


def test_it_looks_at_the_columns_that_features_add(schema):
    loop = make_loop(schema, evened(partial(ffml_exact, shots=20), shots=20), 0.05, boosted(schema))
    rounds = [loop.step(random_task(i, 300, schema, bias=1.5)) for i in range(6)]
    assert loop.memory.tasks[0].x.shape[1] == 6 and loop.state.features.labels.known
    assert loop.state.learner.known.membership.weights.shape == (7, 1)
    assert abs(mean_gap(rounds[3:])) < 0.12


def test_settings_that_cannot_work_are_refused():
    with pytest.raises(FFMLError, match=r"^evened\.memory must be <= 1, got 2$"):
        evened(QUICK, memory=2)
    with pytest.raises(FFMLError, match=r"^unknown policy 'high'; use labels, [^\n]*$"):
        evened(QUICK, policy="high")
