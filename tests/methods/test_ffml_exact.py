"""The leader: the fit to all tasks, and how far a task's own rows move it."""

from dataclasses import replace

import jax
import numpy as np
import pytest
from conftest import random_task
from remembered import first, remembered
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from ffml.base import FFMLError, Schema, Task
from ffml.methods import ffml_exact
from ffml.methods._ffml_exact import Labelled, Leader, adapted
from ffml.methods.curvature import WIDE, curvature, solved, times
from ffml.methods.trust import TRUSTS, add_losses, balanced_support, best_trust, halves
from ffml.online.judge import support_batch
from ffml.problem.classification import fair_classification
from ffml.problem.models import linear
from ffml.problem.notions import demographic_parity

KEY = jax.random.key(0)


def build(schema, positive_weight=1.0, **settings):
    problem = fair_classification(
        schema, linear(), demographic_parity(0.05), positive_weight=positive_weight
    )
    return ffml_exact(problem, **({"shots": 20} | settings))


def learned(learner, schema, tasks, rows=2000):
    """Reveal tasks one after the other, all of which stay in memory."""
    state = learner.init(KEY)
    for t, task in enumerate(tasks):
        newest = first(remembered(schema, task, rows=rows))
        memory = remembered(schema, *tasks[: t + 1], rows=rows)
        state, _ = learner.update(jax.random.fold_in(KEY, t), state, newest, memory)
    return state


def trusting(state, trust):
    """Say that one trust has done best."""
    return state._replace(losses=1.0 * (trust != TRUSTS))


def weighed(task):
    """Return weights with which both labels count the same."""
    rate = task.y.mean()
    return np.where(task.y == 1, 0.5 / rate, 0.5 / (1 - rate))


@pytest.mark.parametrize("positive_weight", [1.0, 3.0])
def test_the_leader_is_a_logistic_regression_on_all_rows(schema, positive_weight):
    tasks = [random_task(i, n, schema) for i, n in enumerate((300, 40, 200))]
    state = learned(build(schema, positive_weight, inverse_l2=0.1), schema, tasks)
    x, y = (np.concatenate([getattr(task, name) for task in tasks]) for name in "xy")
    by_label = np.bincount(y)
    cost = np.array([2, 2 * positive_weight]) / (1 + positive_weight) * len(y) / (2 * by_label)
    model = LogisticRegression(C=0.1, tol=1e-10, solver="newton-cholesky")
    model.fit(x.astype(float), y, sample_weight=cost[y])
    np.testing.assert_allclose(state.weights, [*model.coef_[0], *model.intercept_], rtol=2e-3)
    z = np.c_[x, np.ones(len(x))].astype(float)
    p = expit(z @ state.weights)
    bent = z.T @ (z * (cost[y] * p * (1 - p))[:, None]) + np.diag([10.0, 10, 10, 0])
    np.testing.assert_allclose(state.curvature, bent, rtol=1e-5)


def test_kept_rows_stand_for_all_rows_of_their_task(schema):
    """10 rows of each label are kept, of a task in which one is rare and of another."""
    tasks = [random_task(i, 200, schema) for i in range(2)]
    rare = np.flatnonzero(tasks[0].y == 1)[30:]
    tasks[0] = Task("", *(np.delete(part, rare, axis=0) for part in tasks[0][1:4]))
    memory = remembered(schema, *tasks, rows=20)
    learner = build(schema, inverse_l2=1.0)
    state, _ = learner.update(KEY, learner.init(KEY), first(memory), memory)
    x = np.concatenate(memory.x).astype(float)
    y = np.concatenate([np.repeat([0, 1], counts) for counts in memory.counts])
    counted = np.repeat((memory.totals / memory.counts).ravel(), memory.counts.ravel())
    weight = counted * (counted.sum() / 2 / np.bincount(y, counted))[y]
    model = LogisticRegression(tol=1e-10, solver="newton-cholesky").fit(x, y, sample_weight=weight)
    np.testing.assert_allclose(state.weights[:-1], model.coef_[0], rtol=1e-3)


def test_without_trust_the_leader_decides_and_with_trust_1_a_fit_to_all_rows(schema):
    tasks = [random_task(i, 2000, schema) for i in range(2)]
    learner = build(schema, inverse_l2=1.0, shots=30)
    state = learned(learner, schema, tasks)
    own = random_task(9, 400, schema)
    own = own._replace(x=own.x @ np.diag([1, -1, 1]).astype(np.float32))  # elsewhere
    support = support_batch(own, schema, np.arange(400), 30, np.random.default_rng(0))
    stays = learner.adapt(trusting(state, 0.0), support)
    np.testing.assert_array_equal(np.append(stays["w"], stays["b"]), state.weights)
    moved = learner.adapt(trusting(state, 1.0), support)
    x = np.concatenate([*(task.x for task in tasks), support.x]).astype(float)
    y = np.concatenate([*(task.y for task in tasks), support.y])
    before = np.concatenate([task.y for task in tasks])
    weight = np.concatenate([(len(before) / 2 / np.bincount(before))[before], np.ones(60)])
    model = LogisticRegression(tol=1e-10, solver="newton-cholesky").fit(x, y, sample_weight=weight)
    together = np.array([*model.coef_[0], *model.intercept_])
    off = np.abs(np.append(moved["w"], moved["b"]) - together).max()
    assert off < 0.05 * np.abs(state.weights - together).max()  # the loss is nearly quadratic


@pytest.mark.parametrize("trust", TRUSTS)
@pytest.mark.parametrize("wide", [False, True])
def test_newton_ends_where_the_slope_is_zero(trust, wide):
    """The rows are separable, one column is constant, and a row without weight is far away."""
    rng = np.random.default_rng(0)
    x = np.c_[rng.normal(size=(20, 3)), np.zeros(20), np.ones(20)]
    y = (x[:, 0] > 0).astype(int)
    x[0] = 1e6
    weight = np.append(0.0, rng.uniform(0.5, 2, size=19))
    start = np.array([0.3, -0.5, 0, 0.1, -0.2])
    spread = np.diag([40.0, 3, 1, 1, 1e-6]) + 1.0 * (not wide)
    known = Leader(start, np.diag(spread) if wide else spread, np.zeros(len(TRUSTS)))
    offset = rng.normal(size=20)
    theta = adapted(known, trust, Labelled(x, y, weight, offset))
    if trust == 0:
        np.testing.assert_array_equal(theta, start)
        return
    slope = x.T @ (weight * (expit(x @ theta + offset) - y))
    slope += times(known.curvature, theta - start) / trust
    np.testing.assert_allclose(slope, 0, atol=1e-3)
    assert theta[3] == pytest.approx(0.1, abs=1e-6 if wide else 5)


def test_a_diagonal_is_solved_as_the_matrix_is():
    rng = np.random.default_rng(0)
    x, weight, ridge = rng.normal(size=(7, 5)), rng.uniform(size=7), rng.uniform(0.1, 2, size=5)
    weight[2], x[2] = 0, 1e9
    for right_side in (rng.normal(size=5), rng.normal(size=(5, 3))):
        expected = np.linalg.solve(curvature(ridge, x, weight), right_side)
        for prior in (ridge, np.diag(ridge)):
            np.testing.assert_allclose(solved(prior, x, weight, right_side), expected, rtol=1e-8)
    np.testing.assert_allclose(times(ridge, ridge), times(np.diag(ridge), ridge))
    many = curvature(np.ones(WIDE + 1), np.ones((2, WIDE + 1)), np.array([1.0, 2.0]))
    np.testing.assert_array_equal(many, np.full(WIDE + 1, 4.0))


def test_very_many_features(schema):
    wide = Schema(tuple(f"x{i}" for i in range(WIDE + 20)), schema.sensitive)
    learner = build(wide)
    state = learned(learner, wide, [random_task(0, 60, wide)], rows=60)
    assert state.curvature.shape == learner.init(KEY).curvature.shape == (WIDE + 21,)
    task = random_task(5, 100, wide)
    support = support_batch(task, wide, np.arange(50), 20, np.random.default_rng(0))
    params = learner.adapt(trusting(state, 100.0), support)
    assert ((learner.predict(params, support.x).logits > 0) == support.y).mean() > 0.9


def turned(seed, schema, rows=300):
    """A task in which another direction of two tells the label."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(rows, 3)).astype(np.float32)
    angle = rng.uniform(0, 2 * np.pi)
    y = (np.cos(angle) * x[:, 0] + np.sin(angle) * x[:, 1] > 0).astype(np.int32)
    return Task("", x, y, rng.integers(2, size=(rows, 1)).astype(np.int32))


def test_trust_is_found(schema):
    alike = learned(build(schema), schema, [random_task(i, 200, schema) for i in range(12)])
    assert best_trust(alike.losses) <= 3
    different = learned(build(schema), schema, [turned(i, schema) for i in range(12)])
    assert best_trust(different.losses) >= 100


def test_trust_is_1_until_a_task_was_tried():
    nothing = np.zeros((len(TRUSTS), 2))
    np.testing.assert_array_equal(best_trust(nothing), [1.0, 1.0])
    once = add_losses(nothing, np.c_[np.arange(8.0), np.zeros(8)], rows=50.0)
    np.testing.assert_array_equal(best_trust(once), [0.0, 1.0])
    np.testing.assert_array_equal(once[:, 0], np.arange(8.0) / 2)
    np.testing.assert_allclose(add_losses(once, nothing, 10.0), 0.95 * once)


def test_a_task_is_not_tried_before_anything_is_known_nor_without_both_labels(schema):
    learner = build(schema)
    task = random_task(0, 100, schema)
    state = learned(learner, schema, [task])
    assert not state.losses.any()
    for odd in (task._replace(y=task.y * 0), task._replace(y=np.append(1, task.y[1:] * 0))):
        memory = remembered(schema, task, odd)
        newest = first(remembered(schema, odd))
        assert not learner.update(KEY, state, newest, memory)[0].losses.any()
    newest = first(remembered(schema, random_task(1, 100, schema)))
    assert learner.update(KEY, state, newest, memory)[0].losses.any()


@pytest.mark.parametrize("label", [0, 1])
def test_tasks_of_one_label_are_decided_like_it(schema, label):
    learner = build(schema)
    task = random_task(0, 50, schema)
    task = task._replace(y=task.y * 0 + label)
    state = learned(learner, schema, [task, task])
    assert not state.weights.any() and np.isfinite(state.curvature).all()
    support = support_batch(task, schema, np.arange(50), 20, np.random.default_rng(0))
    logits = learner.predict(learner.adapt(state, support), task.x).logits
    assert ((logits > 0) == label).all()
    nobody = support_batch(task, schema, np.arange(0), 20, np.random.default_rng(0))
    assert not learner.predict(learner.adapt(state, nobody), task.x).logits.any()


def test_halves_share_no_row_and_lose_none(schema):
    task = random_task(0, 75, schema)
    kept = first(remembered(schema, task, rows=64))
    support, query, rows = halves(np.random.default_rng(0), kept, 40)
    np.testing.assert_array_equal(kept.x[rows], query.x)
    judging = {row.tobytes() for row in query.x}
    adapting = {row.tobytes() for row in support.x}
    assert len(judging) == len(query.x) == (kept.counts // 2).sum()
    assert len(adapting) == ((kept.counts + 1) // 2).sum() and not judging & adapting
    assert (support.mask * support.distinct_share).sum() == pytest.approx(len(adapting))
    for part in (support, query):  # at the task's own label rate
        assert part.weight @ part.y / part.weight.sum() == pytest.approx(task.y.mean())
    nobody = halves(np.random.default_rng(0), kept._replace(counts=[0, 0], totals=[0, 0]), 5)
    assert not nobody.support.mask.any() and not len(nobody.query.y)


def test_a_label_without_rows_is_masked():
    x = np.arange(6.0)[:, None]
    batch = balanced_support(x, x, [np.array([4, 2]), np.zeros(0, int)], 3, np.array([1.0, 0.0]))
    np.testing.assert_array_equal(batch.x[:3, 0], [4, 2, 4])
    np.testing.assert_array_equal(batch.mask, [1, 1, 1, 0, 0, 0])
    np.testing.assert_array_equal(batch.weight, batch.mask)
    np.testing.assert_allclose(batch.distinct_share[:3], 2 / 3)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"inverse_l2": 0.0}, "inverse_l2 must be > 0, got 0.0"),
        ({"shots": 0}, "shots must be >= 1"),
    ],
)
def test_settings_that_cannot_work_are_refused(schema, settings, message):
    with pytest.raises(FFMLError, match=message):
        build(schema, **settings)


def test_a_trust_that_is_given_is_not_learned(schema):
    problem = fair_classification(schema, linear())
    never = ffml_exact(problem, trust=0.0)
    state, support = never.init(None), random_task(0, 60, schema)
    known = state._replace(weights=np.arange(4.0))
    batch = support_batch(support, schema, np.arange(60), 10, np.random.default_rng(0))
    np.testing.assert_array_equal(never.adapt(known, batch)["w"], [0.0, 1.0, 2.0])
    tried = known._replace(losses=np.arange(8.0))
    memory = remembered(schema, support, rows=60)
    newest = jax.tree.map(lambda leaf: leaf[0], memory)

    def shown(learner, state):
        return learner.update(jax.random.key(0), state, newest, memory)[1].extra

    assert shown(never, tried) is None and shown(ffml_exact(problem), tried)["trust"] in TRUSTS
    assert shown(ffml_exact(problem), state) is None  # nothing was tried yet
    with pytest.raises(FFMLError, match="trust must be >= 0, got -1"):
        ffml_exact(problem, trust=-1)


def test_the_more_features_the_less_is_expected_of_each(schema):
    tasks = [random_task(i, 200, schema) for i in range(2)]
    stated, by_default = (
        learned(build(schema, inverse_l2=given), schema, tasks).weights for given in (1 / 3, None)
    )
    np.testing.assert_array_equal(by_default, stated)


def test_a_decision_starts_from_the_mean_of_leader_and_score(schema):
    told = replace(schema, scores=("trees",))
    learner = build(told, positive_weight=3.0, trust=0.0)
    rng = np.random.default_rng(0)
    tasks = [random_task(i, 100, schema) for i in range(2)]
    scored = [t._replace(x=np.c_[t.x, rng.normal(size=100)].astype(np.float32)) for t in tasks]
    state = learned(learner, told, scored)
    alone = learned(build(schema, 3.0, trust=0.0), schema, tasks)
    np.testing.assert_array_equal(state.weights, alone.weights)  # not fitted to the score
    x = scored[0].x
    params = learner.adapt(state, support_batch(scored[0], told, np.arange(100), 20, rng))
    by_hand = x[:, :3] @ alone.weights[:-1] + alone.weights[-1] + x[:, 3] + np.log(3.0)
    np.testing.assert_allclose(learner.predict(params, x).logits, by_hand / 2, rtol=1e-4, atol=1e-5)


def test_the_linear_part_makes_up_for_what_a_score_says_wrongly(schema):
    """A score that is off by a line is mended by adapting; without trust it stays."""
    told = replace(schema, scores=("trees",))
    rng, task = np.random.default_rng(0), random_task(0, 2000, schema)
    wrong = task._replace(x=np.c_[task.x, 4 - 3 * task.x[:, 0]].astype(np.float32))
    accuracy = {}
    for trust in (0.0, 1000.0):
        learner = build(told, trust=trust, score=1.0, shots=None)
        state = learned(learner, told, [wrong])
        support = support_batch(wrong, told, np.arange(1000), None, rng)
        logits = learner.predict(learner.adapt(state, support), wrong.x[1000:]).logits
        accuracy[trust] = np.mean((logits > 0) == wrong.y[1000:])
    plain = build(schema, trust=1000.0, shots=None)
    state = learned(plain, schema, [task])
    support = support_batch(task, schema, np.arange(1000), None, rng)
    logits = plain.predict(plain.adapt(state, support), task.x[1000:]).logits
    assert accuracy[0.0] < accuracy[1000.0] - 0.1
    assert accuracy[1000.0] == pytest.approx(np.mean((logits > 0) == task.y[1000:]), abs=0.02)
