"""One function finds what decides, for a task in a round, a table outside of it, and one person."""

from dataclasses import replace

import jax
import numpy as np
import pytest
from conftest import random_task
from playing import Player

from ffml.base import FFMLError, Schema, SensitiveColumn, Traits
from ffml.draws import SPLIT, draws
from ffml.online import decide
from ffml.online.decide import (
    LEAST_PEOPLE,
    MOST_PEOPLE,
    MOST_RECENT,
    crowd_of,
    decide_by,
    decided_about,
    find_rule,
    met_lately,
)
from ffml.online.judge import split_rows
from ffml.online.loop import absorb, known, start, step
from ffml.recipe.build import build_for, build_loop
from ffml.recipe.config import RunConfig
from ffml.recipe.recipes import Recipe
from ffml.tables.scaling import RunningScaler

SCHEMA = Schema(("a", "b", "c"), (SensitiveColumn("sex", ("M", "F")),))
CONFIG = RunConfig(
    "", recipe=Recipe("ffml-exact", ("evened",)), shots=10, tasks_per_round=3, rows_per_task=128
)


@pytest.fixture(scope="module")
def loop():
    return build_loop(CONFIG, build_for(CONFIG, SCHEMA), SCHEMA)


@pytest.fixture(scope="module")
def player(loop):
    """A loop whose decisions look at people, after two rounds."""
    player = Player(loop, start(loop, RunningScaler.empty(np.ones(3, bool))))
    player.play(random_task(i, 120, SCHEMA) for i in range(2))
    return player


@pytest.fixture(scope="module")
def seen(loop):
    """The batches that the learner adapts to."""
    batches = []

    def adapt(knowledge, batch):
        batches.append(batch)
        return loop.learner.adapt(knowledge, batch)

    learner = loop.learner._replace(adapt=adapt, traits=replace_pure(loop.learner.traits))
    return batches, replace(loop, learner=learner)


def replace_pure(traits):
    return traits._replace(pure=False)  # so that every call is seen


def equal(one, other):
    jax.tree.map(np.testing.assert_array_equal, one, other)


def test_a_decision_outside_a_round_is_that_of_the_round(player):
    loop, state, task = player.loop, player.state, random_task(2, 90, SCHEMA)
    rows = split_rows(90, 0.5, draws(loop.seed, state.round + 1, SPLIT))
    rule = find_rule(loop, player.known, task, rows.support, rows.validation)
    _, record = step(loop, state, task)
    equal(decided_about(loop, rule, task, rows.validation), record.decided)
    said = decide_by(loop, rule, task.x[rows.validation])
    np.testing.assert_array_equal(said.logits, record.decided.logits)


@pytest.mark.parametrize("rows", [7, 300])
def test_by_the_standing_rule_one_is_decided_about_alone_as_among_others(player, rows):
    rule, x = find_rule(player.loop, player.known), random_task(5, rows, SCHEMA).x
    together = decide_by(player.loop, rule, x)
    for i in range(0, rows, 37):
        alone = decide_by(player.loop, rule, x[i : i + 1])
        equal([part[0] for part in alone], [part[i] for part in together])
    assert decide_by(player.loop, rule, x[:0]).logits.shape == (0,)


def test_the_standing_rule_depends_on_nobody_who_comes_and_on_people_met_lately(player, seen):
    batches, loop = seen
    known = player.known
    equal(find_rule(loop, known), find_rule(player.loop, known))
    (batch,) = batches[-1:]
    assert not batch.mask.any()  # nobody to adapt to
    recent = known.scaler.transform(known.recent)
    assert len(recent) == 120  # two tasks, half of each
    np.testing.assert_array_equal(batch.unlabelled.x[:120], recent)
    assert batch.unlabelled.weight.sum() == 120


def test_before_anybody_came_there_are_no_prices(loop, seen):
    batches, watched = seen
    find_rule(watched, known(loop, start(loop)))
    assert batches[-1].unlabelled is None


def test_groups_and_labels_of_people_are_shown_to_nobody(player, seen):
    batches, loop = seen
    task, people = random_task(2, 90, SCHEMA), np.arange(20, 90)
    find_rule(loop, player.known, task, np.arange(20), people)
    shown = batches[-1].unlabelled
    assert shown._fields == ("x", "weight") and shown.weight.sum() == 70
    odd = task._replace(y=task.y.copy(), groups=task.groups.copy())
    odd.y[20:], odd.groups[20:] = -1, 0
    find_rule(loop, player.known, odd, np.arange(20), people)
    equal(batches[-2], batches[-1])


def test_a_learner_that_does_not_look_is_shown_nobody(player, seen):
    batches, loop = seen
    blind = loop.learner._replace(traits=Traits(pure=False, uses_unlabelled=False))
    find_rule(replace(loop, learner=blind), player.known, random_task(2, 90, SCHEMA))
    assert batches[-1].unlabelled is None


def test_prices_are_found_on_labelled_people_where_nobody_is_to_be_decided_about(player, seen):
    batches, loop = seen
    find_rule(loop, player.known, random_task(2, 90, SCHEMA), np.arange(90))
    assert batches[-1].unlabelled is None and batches[-1].mask.all()


def test_the_scaler_of_a_rule_knows_the_people_and_forgets_them(player):
    known, task = player.known, random_task(2, 90, SCHEMA)
    rule = find_rule(player.loop, known, task, np.arange(30), np.arange(30, 90))
    rows = known.scaler.num_rows + 90
    assert rule.scaler.num_rows == rows and player.state.scaler.num_rows == rows - 90
    equal(find_rule(player.loop, known).scaler, known.scaler)


def test_of_very_many_people_some_are_looked_at(player, seen, monkeypatch):
    batches, loop = seen
    monkeypatch.setattr(decide, "MOST_PEOPLE", 60)
    task = random_task(2, 200, SCHEMA)
    find_rule(loop, player.known, task, people=np.arange(200))
    assert MOST_PEOPLE == 16_384 and batches[-1].unlabelled.weight.sum() == 60


@pytest.mark.parametrize(
    ("people", "recent", "weights"),
    [
        (0, 0, None),
        (0, 8, [8]),  # people met lately alone
        (20, 0, [20]),
        (20, 10, [20, 10]),  # each of them once at most
        (20, 300, [20, 30]),  # the last of them, up to LEAST_PEOPLE in all
        (LEAST_PEOPLE, 300, [LEAST_PEOPLE]),
    ],
)
def test_small_tasks_are_filled_up(people, recent, weights):
    assert LEAST_PEOPLE == 50
    crowd = crowd_of(np.ones((people, 1)), np.arange(2, recent + 2)[:, None])
    if weights is None:
        assert crowd is None
        return
    assert len(crowd.x) == len(crowd.weight) == 256  # few shapes
    own = crowd.weight[crowd.x[:, 0] == 1].sum() if people else crowd.weight.sum()
    others = crowd.weight.sum() - own
    assert [own, *([others] if len(weights) > 1 else [])] == pytest.approx(weights)
    assert others == pytest.approx(sum(weights[1:]), abs=1e-4)
    if recent > LEAST_PEOPLE and len(weights) > 1:
        assert crowd.x[people : people + LEAST_PEOPLE, 0].min() == recent + 2 - LEAST_PEOPLE


def test_people_met_lately_are_the_last_ones():
    nobody = np.zeros((0, 1))
    first = met_lately(nobody, np.arange(3.0)[:, None])
    assert first.ravel().tolist() == [0, 1, 2]
    many = met_lately(first, np.arange(3.0, 2000.0)[:, None])
    assert len(many) == MOST_RECENT and many[0, 0] == 2000 - MOST_RECENT and many[-1, 0] == 1999
    assert len(met_lately(nobody, many[:, [0, 0]])) == MOST_RECENT


def test_a_task_decided_about_one_by_one_is_learned_from_as_any_other(player):
    """Learning does not depend on who was decided about, nor how."""
    task = random_task(3, 80, SCHEMA)
    played, _ = step(player.loop, player.state, task)
    rule = find_rule(player.loop, player.known)
    decided = decided_about(player.loop, rule, task, np.arange(80))
    absorbed, record = absorb(player.loop, player.state, task, decided)
    assert record.n_validation == 80 and record.n_support == 0
    assert record.tables["sex"].sum() == 80
    equal(played.learner, absorbed.learner)


def test_features_of_people_that_are_not_finite_are_named(player):
    task = random_task(2, 90, SCHEMA)
    spoilt = task._replace(x=np.full_like(task.x, np.nan))
    with pytest.raises(FFMLError, match=r"^the adaptation has features that are not finite; fill"):
        find_rule(player.loop, player.known, spoilt, people=np.arange(90))
