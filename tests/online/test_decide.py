"""One function decides about a task, in a round and outside of it."""

from dataclasses import replace

import jax
import numpy as np
import pytest
from playing import Player
from workshop import CONFIG

from ffml.base import FFMLError, Traits
from ffml.draws import SPLIT, draws
from ffml.online.decide import asked
from ffml.online.judge import decisions, split_rows
from ffml.online.loop import step
from ffml.recipe.build import build


@pytest.fixture(scope="module")
def played():
    """A loop whose decisions look at people, after two rounds, and its next task."""
    recipe = replace(CONFIG.recipe, wrappers=("evened",))
    experiment = build(replace(CONFIG, recipe=recipe, notions=("demographic-parity",)))
    first, second, third, *_ = experiment.stream.tasks()
    player = Player.of(experiment)
    player.play((first, second))
    return player, third


def test_a_decision_outside_a_round_is_that_of_the_round(played):
    player, task = played
    rows = split_rows(len(task.y), 0.5, draws(player.loop.seed, player.state.round + 1, SPLIT))
    params = player.decide(task, rows.support, task.x[rows.validation])
    expected = decisions(player.learner, params, task, rows.validation)
    _, record = step(player.loop, player.state, task)
    jax.tree.map(np.testing.assert_array_equal, record.decided, expected)


def test_people_are_shown_to_those_who_look_and_their_groups_to_nobody(played):
    loop, task = played[0].loop, played[1]
    drawn = {"shots": 4, "seed": 0, "round_": 3}
    shown = asked(loop.learner, loop.schema, task, **drawn, people=task.x)
    assert shown.unlabelled._fields == ("x", "weight")
    np.testing.assert_array_equal(shown.unlabelled.x[: len(task.x)], task.x)
    others = loop.learner._replace(traits=Traits(uses_unlabelled=False))
    assert asked(others, loop.schema, task, **drawn, people=task.x).unlabelled is None


def test_features_of_people_that_are_not_finite_are_named(played):
    player, task = played
    with pytest.raises(FFMLError, match=r"^the adaptation has features that are not finite; fill"):
        player.decide(task, people=np.full_like(task.x, np.nan))
