"""What every entry of every registry must do, alone and wrapped."""

from itertools import islice

import numpy as np
import pytest
from conftest import random_task
from playing import Player

from ffml.base import FFMLError, Schema, SensitiveColumn, Stream
from ffml.checks import check_constraint, check_features, check_learner, check_model
from ffml.datasets import DATASETS, load
from ffml.features import FEATURES
from ffml.methods import DEFAULT_PARTS, METHODS, PARTS
from ffml.online.loop import Loop
from ffml.online.memory import MemorySettings
from ffml.problem.classification import fair_classification
from ffml.problem.models import MODELS, linear
from ffml.problem.notions import CONSTRAINTS, decision_constraint, demographic_parity
from ffml.recipe.recipes import Recipe, build_method, known_settings
from ffml.wrappers import WRAPPERS

QUICK = {"inner.num_steps": 1, "num_outer_steps": 3, "num_steps": 3, "max_iter": 1}
MEMORY = MemorySettings(tasks_per_round=4, rows_per_task=64)
SCHEMA = Schema(("a", "b", "c"), (SensitiveColumn("sex", ("M", "F")),))
PROBLEM = fair_classification(SCHEMA, linear(), demographic_parity(0.02))
# Wrappers are checked in full around one method of each kind: one with constraints, one without,
# one outside JAX. All other pairs must fit together (test_pairs.py).
REPRESENTATIVES = ("twp", "m-ftml", "refit")


def quick(method, *wrappers, **settings):
    """The method with settings that compile and learn fast."""
    recipe = Recipe(method, wrappers, settings)
    known = known_settings(recipe)
    few = {name: value for name, value in QUICK.items() if name in known}
    return build_method(Recipe(method, wrappers, few | settings), shots=10)


def make_loop(method, schema, constraint=None):
    problem = fair_classification(schema, linear(), constraint or demographic_parity(0.02))
    return Player(Loop(problem, method(problem), schema, shots=10, memory_settings=MEMORY))


@pytest.mark.parametrize("method", METHODS)
def test_every_method(method):
    check_learner(quick(method))


@pytest.mark.parametrize("wrapper", WRAPPERS)
@pytest.mark.parametrize("method", REPRESENTATIVES)
def test_every_wrapper(method, wrapper):
    wrapped = quick(method, wrapper)
    try:
        wrapped(PROBLEM)
    except FFMLError:
        return  # which is one line, as is seen below
    check_learner(wrapped)


@pytest.mark.parametrize("name", FEATURES)
def test_every_feature(name):
    check_features(FEATURES[name])


def test_wrappers_compose():
    check_learner(quick("ffml", "corrected", "evened"))


@pytest.mark.parametrize(
    ("slot", "name"), [(slot, name) for slot, parts in PARTS.items() for name in parts]
)
def test_every_part(slot, name):
    if DEFAULT_PARTS["ffml"][slot] != name:  # which is checked above
        check_learner(quick("ffml", **{slot: name}))


@pytest.mark.parametrize("name", CONSTRAINTS)
def test_every_constraint(name):
    check_constraint(CONSTRAINTS[name])


@pytest.mark.parametrize("name", MODELS)
def test_every_model(name):
    check_model(MODELS[name])


def by_age(bound):
    """A notion of a user's own, with three conditions."""
    ages = {
        "young": lambda batch: batch.weight * (batch.x[:, 1] < -0.3),
        "old": lambda batch: batch.weight * (batch.x[:, 1] > 0.3),
        "": lambda batch: batch.weight,
    }
    return decision_constraint("parity-by-age", ages, bound)


@pytest.mark.parametrize("factory", [*CONSTRAINTS.values(), by_age])
def test_every_constraint_runs_with_several_columns_and_groups(factory):
    columns = SensitiveColumn("sex", ("M", "F")), SensitiveColumn("race", ("w", "b", "o"))
    schema, notion = Schema(("a", "b", "c"), columns), factory(0.02)
    loop = make_loop(quick("twp"), schema, notion)
    record = loop.play(random_task(i, 80, schema) for i in range(2))[-1]
    assert record.multipliers.shape == record.constraint.shape == (len(notion.conditions) * 4,)
    assert set(record.tables) == {"sex", "race"}


def test_a_notion_of_ones_own_passes():
    check_constraint(by_age)


@pytest.mark.parametrize("name", [name for name, d in DATASETS.items() if d.shipped])
def test_every_shipped_data_set_can_be_played(name):
    stream = load(name, seed=3)
    loop = make_loop(quick("twp"), stream.schema)
    records = loop.play(islice(stream.tasks(), 2))
    assert all(np.isfinite(r.metrics["loss"]) for r in records)
    assert isinstance(stream, Stream) and stream.num_tasks == DATASETS[name].num_tasks


def test_violations_add_up(make_stream):
    loop = make_loop(quick("twp"), make_stream().schema)
    records = loop.play(make_stream((60, 1, 200, 7)).tasks())
    values = np.nan_to_num([r.constraint[0] for r in records])
    np.testing.assert_allclose([r.violation[0] for r in records], np.cumsum(values))
    np.testing.assert_allclose(
        [r.clipped_violation[0] for r in records], np.cumsum(np.maximum(values, 0))
    )
    assert np.isnan(records[1].constraint[0])  # one row cannot compare groups
    assert records[1].undefined["dp"]
