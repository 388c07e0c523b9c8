"""Every pair of wrappers and features around every method decides, is saved, and decides again."""

from itertools import permutations, product

import jax
import numpy as np
import pytest
from conftest import random_task

from ffml.base import FFMLError, Schema, SensitiveColumn
from ffml.features import FEATURES
from ffml.methods import METHODS
from ffml.online.decide import decided_about, described_by, find_rule
from ffml.online.loop import known, start, step
from ffml.online.trees import leaves_by_name, restored_tree
from ffml.recipe.build import build_for, build_loop
from ffml.recipe.config import RunConfig
from ffml.recipe.recipes import Recipe, known_settings
from ffml.wrappers import WRAPPERS

SCHEMA = Schema(("a", "b", "c"), (SensitiveColumn("sex", ("M", "F")),))
QUICK = {"inner.num_steps": 1, "num_outer_steps": 2, "num_steps": 2, "max_iter": 1}
TASKS = [random_task(i, 60, SCHEMA, bias=1.0) for i in range(4)]
ALONE = [(name,) for name in FEATURES | WRAPPERS]
PAIRS = [*product(FEATURES, WRAPPERS), *permutations(WRAPPERS, 2)]
# One of each kind: those that keep constraints, those that do not, those outside of JAX.
KINDS = ("ffml-exact", "ffml", "m-ftml", "refit")
CASES = [*product(METHODS, PAIRS), *product(KINDS, ALONE)]


def config_of(method, around):
    known = known_settings(Recipe(method, around))
    settings = {name: value for name, value in QUICK.items() if name in known}
    recipe = Recipe(method, around, settings)
    return RunConfig("", recipe=recipe, shots=5, tasks_per_round=3, rows_per_task=32)


def decided(loop, known):
    """Decide about a task of which half of the labels are known."""
    task = TASKS[3]._replace(x=described_by(loop, known.features, TASKS[3].x))
    support, people = np.arange(30), np.arange(30, 60)
    return decided_about(loop, find_rule(loop, known, task, support, people), task, people)


@pytest.mark.parametrize(
    ("method", "around"), CASES, ids=[f"{method}-{'-'.join(around)}" for method, around in CASES]
)
def test_every_pair_around_every_method_runs_and_is_saved(method, around):
    config = config_of(method, around)
    plain = build_for(config_of(method, ()), SCHEMA).learner
    if "corrected" in around and not plain.traits.constrained:
        with pytest.raises(FFMLError, match="leave it out"):
            build_for(config, SCHEMA)
        return
    loop = build_loop(config, build_for(config, SCHEMA), SCHEMA)
    state = fresh = start(loop)
    for task in TASKS[:3]:
        state, record = step(loop, state, task)
    assert record.multipliers.shape == (1,) and len(record.decided.rows) == 30
    # What a model file keeps decides the same, through arrays and back.
    now, before = known(loop, state), known(loop, fresh)
    learner, features = through_arrays(now, before)
    again = decided(loop, now._replace(learner=learner, features=features))
    jax.tree.map(np.testing.assert_array_equal, decided(loop, now), again)
    # And so does what a ledger keeps.
    learner, features = through_arrays(state, fresh)
    assert jax.tree.structure(learner) == jax.tree.structure(state.learner)
    again = known(loop, state._replace(learner=learner, features=features))
    jax.tree.map(np.testing.assert_array_equal, decided(loop, now), decided(loop, again))


def through_arrays(value, like):
    named = leaves_by_name(value.learner, "learner") | leaves_by_name(value.features, "features")
    return (
        restored_tree(like.learner, "learner", named),
        restored_tree(like.features, "features", named),
    )
