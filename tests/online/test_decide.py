"""One function decides about a task, in a round and outside of it."""

from dataclasses import replace

import jax
import numpy as np
import pytest
from workshop import CONFIG

from ffml.base import FFMLError
from ffml.draws import SPLIT, draws
from ffml.online.decide import asked
from ffml.online.judge import split_rows
from ffml.recipe.build import build


@pytest.fixture(scope="module")
def played():
    """A loop whose decisions look at people, after two rounds, and its next task."""
    recipe = replace(CONFIG.recipe, wrappers=("evened",))
    experiment = build(replace(CONFIG, recipe=recipe, notions=("demographic-parity",)))
    first, second, third, *_ = experiment.stream.tasks()
    for task in (first, second):
        experiment.loop.step(task)
    return experiment.loop, third


def test_a_decision_outside_a_round_is_that_of_the_round(played, monkeypatch):
    loop, task = played
    rows = split_rows(len(task.y), 0.5, draws(loop.seed, loop.round + 1, SPLIT))
    before = jax.tree.leaves(loop.state)
    expected = loop.decide(task, rows.support, task.x[rows.validation])
    assert all(map(np.array_equal, before, jax.tree.leaves(loop.state)))
    decided, adapt = [], loop._adapt
    monkeypatch.setattr(
        loop, "_adapt", lambda known, support: decided.append(adapt(known, support)) or decided[-1]
    )
    loop._played(task)
    jax.tree.map(np.testing.assert_array_equal, decided[0], expected)
    loop.round -= 1


def test_people_are_shown_to_those_who_look_and_their_groups_to_nobody(played):
    loop, task = played
    drawn = {"shots": 4, "seed": 0, "round_": 3}
    shown = asked(loop.learner, loop.schema, task, **drawn, people=task.x)
    assert shown.unlabelled._fields == ("x", "weight")
    np.testing.assert_array_equal(shown.unlabelled.x[: len(task.x)], task.x)
    others = loop.learner._replace(uses_unlabelled=False)
    assert asked(others, loop.schema, task, **drawn, people=task.x).unlabelled is None


def test_features_of_people_that_are_not_finite_are_named(played):
    loop, task = played
    with pytest.raises(FFMLError, match=r"^the adaptation has features that are not finite; fill"):
        loop.decide(task, people=np.full_like(task.x, np.nan))
