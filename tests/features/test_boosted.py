"""What gradient boosting says about people, as columns that methods adapt above."""

import sys
from dataclasses import replace
from functools import partial

import jax
import numpy as np
import pytest
from conftest import random_task
from playing import Player
from remembered import remembered

from ffml.base import FFMLError, Schema, SensitiveColumn, Task
from ffml.features import forest
from ffml.features.boosted import LEAST_ROWS, MOST_GROUPS, boosted
from ffml.features.forest import fit_forest, no_forest
from ffml.methods import ffml_exact, refit, twp
from ffml.online.judge import support_batch
from ffml.online.loop import Loop
from ffml.online.memory import MemorySettings
from ffml.problem.classification import fair_classification
from ffml.problem.models import linear, mlp
from ffml.problem.notions import demographic_parity
from ffml.wrappers import evened

LEADER = partial(ffml_exact, shots=20)
TWP = partial(twp, num_steps=5, shots=20)
MODULE = sys.modules["ffml.features.boosted"]  # whose name is that of its function
MEMORY = MemorySettings(tasks_per_round=8, rows_per_task=256)


def problem_of(schema, bound=0.05, model=None):
    return fair_classification(schema, model or linear(), demographic_parity(bound))


def make_loop(schema, method, features=None, **settings):
    problem = problem_of(schema, **settings)
    told = problem if features is None else problem._replace(schema=features.schema)
    loop = Loop(problem, method(told), schema, features, shots=20, memory_settings=MEMORY)
    return Player(loop)


@pytest.fixture
def fits(monkeypatch):
    """Count fits, and replace them by nothing."""
    rows = []

    def nothing(x, target, categories, cuts):
        rows.append((x[:, : target.width], target.y, target.weight))
        return no_forest()

    monkeypatch.setattr(forest, "_fitted", nothing)
    return rows


def test_trees_are_told_which_features_are_one_column(schema, monkeypatch):
    told = []

    def fit(x, targets, categories=None):
        told.append(categories)
        return tuple(no_forest() for _ in targets)

    monkeypatch.setattr(MODULE, "fit_forests", fit)
    for categories in (((1, 2),), ()):
        known = replace(schema, categories=categories)
        make_loop(known, LEADER, boosted(known)).step(random_task(0, 120, known))
    assert told == [((1, 2),), None]  # guessed where nobody knows


def crossed(seed, schema, rows=300):
    """Labels that no line tells: whether two features have the same sign."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(rows, 3)).astype(np.float32)
    groups = rng.integers(2, size=(rows, 1)).astype(np.int32)
    return Task(f"{seed}", x, (x[:, 0] * x[:, 1] > 0).astype(np.int32), groups)


@pytest.mark.parametrize("method", [LEADER, TWP], ids=["ffml-exact", "twp"])
def test_what_no_line_tells_is_learned(schema, method):
    accuracy = {}
    for name, features in (("plain", None), ("boosted", boosted(schema))):
        loop = make_loop(schema, method, features)
        rounds = [loop.step(crossed(i, schema)) for i in range(6)]
        accuracy[name] = np.mean([r.metrics["balanced_accuracy"] for r in rounds[3:]])
    assert accuracy["plain"] < 0.6 and accuracy["boosted"] > 0.85


def sorted_rows(task):
    return task.x[np.lexsort(task.x.T)]


def test_columns_know_neither_the_labels_of_their_task_nor_later_tasks(schema):
    tasks = [random_task(i, 120, schema) for i in range(4)]
    one = make_loop(schema, LEADER, boosted(schema, growth=1.0))
    for task in tasks[:3]:
        one.step(task)
    other = make_loop(schema, LEADER, boosted(schema, growth=1.0))
    odd = tasks[2]._replace(y=1 - tasks[2].y, groups=1 - tasks[2].groups)
    for task in (*tasks[:2], odd, tasks[3]):
        other.step(task)
    assert one.memory.tasks[1].x[:, 3].any()  # boosting has something to say
    for kept, again in zip(one.memory.tasks, other.memory.tasks[:3], strict=True):
        np.testing.assert_array_equal(sorted_rows(kept), sorted_rows(again))


def test_people_get_one_feature_and_a_hint_for_each_comparison(schema):
    columns = SensitiveColumn("sex", ("M", "F")), SensitiveColumn("race", ("a", "b", "c"))
    schema = Schema(schema.features, columns)
    features = boosted(schema)
    loop = make_loop(schema, LEADER, features)
    task = random_task(0, 400, schema, bias=2.0)
    x = features.describe(loop.state.features, task.x)
    np.testing.assert_array_equal(x[:, 3:], 0)  # nothing is known yet
    loop.step(task)
    x = features.describe(loop.state.features, task.x)
    assert x.shape == (400, 3 + 1 + 4 + 1) and x.dtype == np.float32
    np.testing.assert_array_equal(x[:, :3], task.x)
    assert ((x[:, 3] > 0) == task.y).mean() > 0.8
    assert ((x[:, 4] > 0.5) == (task.groups[:, 0] == 1)).mean() > 0.7
    assert x[:, 4:-1].min() >= 0 and x[:, 4:-1].max() <= 1
    assert ((x[:, -1] > 0) == task.y).mean() > 0.8


@pytest.mark.parametrize(
    ("method", "model"),
    [(LEADER, linear()), (TWP, linear()), (TWP, mlp((4,))), (refit, linear())],
    ids=["ffml-exact", "twp", "twp-mlp", "refit"],
)
def test_no_model_sees_hints(schema, method, model):
    """Changed hints change neither what is learned nor an adaptation nor a decision."""
    features = boosted(schema)
    learner = method(problem_of(features.schema, model=model))
    rng = np.random.default_rng(0)
    task = random_task(0, 60, schema)
    told = features.describe(features.init(), task.x)
    told[:, 3] = rng.normal(size=60)
    outcomes = []
    for hint in (0.0, 7.0):
        told[:, 4] = hint
        described = task._replace(x=told.copy())
        memory = remembered(schema, described, rows=60)
        newest = jax.tree.map(lambda leaf: leaf[0], memory)
        state = learner.init(jax.random.key(0))
        state, _ = learner.update(jax.random.key(1), state, newest, memory)
        support = support_batch(described, schema, np.arange(40), 20, np.random.default_rng(0))
        params = learner.adapt(learner.knowledge(state), support)
        outcomes.append((state, params, np.asarray(learner.predict(params, told).logits)))
    jax.tree.map(np.testing.assert_array_equal, *outcomes)
    told[:, 3] += 1
    assert (
        np.asarray(learner.predict(params, told).logits) != outcomes[1][2]
    ).any()  # but the logit


def test_hints_tell_groups_to_the_wrapper_inside(schema):
    """Groups that no line tells: women have a feature near 0, men far from it."""
    rng = np.random.default_rng(0)

    def task(rows=400):
        groups = rng.integers(2, size=(rows, 1)).astype(np.int32)
        x = rng.normal(size=(rows, 3)).astype(np.float32)
        x[:, 0] = np.where(groups[:, 0] == 1, 0.2, 2.0) * x[:, 0]
        y = (np.abs(x[:, 0]) + 0.5 * rng.normal(size=rows) < 0.8).astype(np.int32)
        return Task("", x, y, groups)

    loop = make_loop(schema, evened(LEADER, shots=20), boosted(schema))
    gaps = []
    for _ in range(5):
        table = loop.step(task()).tables["sex"].sum(1)  # [group, decision]
        gaps.append(np.diff(table[:, 1] / table.sum(1))[0])
    weights = loop.state.learner.known.membership.weights
    assert weights.shape == (3 + 1 + 1 + 2, 1) and weights[4, 0] > 0.2
    assert abs(np.mean(gaps[2:])) < 0.25


def test_it_fits_anew_only_once_rows_have_grown(schema, fits):
    loop = make_loop(schema, LEADER, boosted(schema, growth=2.0))
    seen = []
    for i, rows in enumerate((LEAST_ROWS - 10, 20, 30, 50, 60, 300)):
        loop.step(random_task(i, rows, schema))
        seen.append(len(fits) // 3)  # labels, one group and the score
    assert seen == [0, 1, 1, 2, 2, 3]
    assert float(loop.state.features.fitted_rows) == float(loop.state.features.seen_rows) == 500
    widths = sorted(x.shape[1] for x, _, _ in fits[-3:])
    assert widths == [3, 3, 4]  # above the first two, the score sees what the first says
    x, y, weight = next(fit for fit in fits[-3:] if fit[0].shape[1] == 3)
    assert len(x) == len(y) == 456  # of the largest task, 256 are kept
    assert weight.sum() == pytest.approx(500)


def test_of_very_many_rows_and_comparisons_some_are_boosted(schema, fits, monkeypatch):
    monkeypatch.setattr(MODULE, "MOST_ROWS", 70)
    many = SensitiveColumn("town", tuple(map(str, range(MOST_GROUPS + 3))))
    schema = Schema(schema.features, (many,))
    loop = make_loop(schema, LEADER, boosted(schema))
    loop.step(random_task(0, 200, schema))
    assert len(fits) == 2 + MOST_GROUPS and all(len(y) == 70 for _, y, _ in fits)
    assert loop.memory.tasks[0].x.shape[1] == 3 + 1 + MOST_GROUPS + 1


def test_padding_and_empty_places_are_not_fitted_to(schema, fits):
    features = boosted(schema)
    state = features.init()._replace(seen_rows=np.asarray(100.0))
    memory = remembered(schema, random_task(0, 60, schema), random_task(1, 40, schema), rows=80)
    memory.counts[1] = memory.totals[1] = 0
    memory.x[0, 60:] = memory.x[1] = np.nan
    nobody = jax.tree.map(lambda leaf: np.zeros_like(leaf[0]), memory)
    features.fit(jax.random.key(0), state, nobody, memory)
    assert all(len(y) == 60 and np.isfinite(x).all() for x, y, _ in fits)
    empty = jax.tree.map(np.zeros_like, memory)
    after = features.fit(jax.random.key(0), state, nobody, empty)
    assert not after.labels.known
    assert not len(fit_forest(np.zeros((0, 3)), np.zeros(0), np.zeros(0)).sizes)


def test_settings_that_cannot_work_are_refused():
    with pytest.raises(FFMLError, match=r"^boosted\.growth must be >= 1, got 0\.5$"):
        boosted(Schema((), ()), growth=0.5)
