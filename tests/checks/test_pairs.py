"""Every pair of wrappers and features around every method decides, is saved, and decides again."""

from itertools import permutations, product

import jax
import numpy as np
import pytest
from conftest import random_task

from ffml.base import FFMLError, Schema, SensitiveColumn
from ffml.features import FEATURES
from ffml.methods import METHODS
from ffml.online.decide import adapt_to, asked
from ffml.online.loop import knowledge, prepared, start, step
from ffml.online.trees import both_by_name, both_restored
from ffml.recipe.build import build_for, build_loop
from ffml.recipe.config import RunConfig
from ffml.recipe.recipes import Recipe, known_settings
from ffml.wrappers import WRAPPERS

SCHEMA = Schema(("a", "b", "c"), (SensitiveColumn("sex", ("M", "F")),))
QUICK = {"inner.num_steps": 1, "num_outer_steps": 2, "num_steps": 2, "max_iter": 1}
TASKS = [random_task(i, 60, SCHEMA, bias=1.0) for i in range(4)]
ALONE = [(name,) for name in FEATURES | WRAPPERS]
PAIRS = [*ALONE, *product(FEATURES, WRAPPERS), *permutations(WRAPPERS, 2)]


def config_of(method, around):
    known = known_settings(Recipe(method, around))
    settings = {name: value for name, value in QUICK.items() if name in known}
    recipe = Recipe(method, around, settings)
    return RunConfig("", recipe=recipe, shots=5, tasks_per_round=3, rows_per_task=32)


def logits(loop, state, known=None):
    """Decide about a task of which half of the labels are known."""
    known = knowledge(loop, state) if known is None else known
    task = TASKS[3]._replace(x=prepared(loop, state, TASKS[3].x))
    drawn = {"shots": 5, "seed": 0, "round_": 4, "rows": np.arange(30), "people": task.x[30:]}
    support = asked(loop.learner, SCHEMA, task, **drawn)
    params = adapt_to(loop.learner, known, support, "", adapt=loop.adapt)
    return [np.asarray(part) for part in loop.learner.predict(params, task.x[30:])]


@pytest.mark.parametrize("around", PAIRS, ids="-".join)
@pytest.mark.parametrize("method", METHODS)
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
    named = both_by_name(knowledge(loop, state), state.features, "knowledge")
    known, features = both_restored(knowledge(loop, fresh), fresh.features, "knowledge", named)
    expected = logits(loop, state)
    found = logits(loop, state._replace(features=features), known)
    jax.tree.map(np.testing.assert_array_equal, expected, found)
    # And so does what a checkpoint keeps.
    named = both_by_name(state.learner, state.features, "state")
    learner, features = both_restored(fresh.learner, fresh.features, "state", named)
    assert jax.tree.structure(learner) == jax.tree.structure(state.learner)
    found = logits(loop, state._replace(learner=learner, features=features))
    jax.tree.map(np.testing.assert_array_equal, expected, found)
