"""Decide about people. Every door calls these functions, so that all decide the same.

What decides is a `Rule`. `find_rule` finds it once: features are described by the columns learned
so far and standardised, and the learner adapts to the rows with labels, if there are any, looking
at the people to be decided about. `decide_by` then decides about any number of rows, in blocks of
one size, so that a person's numbers do not depend on how a table was cut.

A task that comes whole is decided about by a rule of its own. People who come one by one are
decided about by the *standing rule* of what was learned last, whose prices are found on people met
lately: the same decision for one person alone and for the same person among others.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import jax
import numpy as np

from ffml.base import FFMLError, Params, Prediction, Task, Unlabelled
from ffml.divergence import all_finite, divergence
from ffml.draws import SUPPORT, UNLABELLED, draws
from ffml.online.blocks import predict_rows
from ffml.online.judge import SMALLEST_BUCKET, Decided, support_batch
from ffml.online.memory import bucket
from ffml.online.state import Loop
from ffml.tables.scaling import RunningScaler
from ffml.threads import one_thread

MOST_PEOPLE = 16_384  # whose features are looked at to find a rule; of more, some at random
LEAST_PEOPLE = 50  # a smaller task is filled up with people met lately
MOST_RECENT = 1024  # people met lately who are remembered for the standing rule
NO_ROWS = np.zeros(0, int)


class Known(NamedTuple):
    """What decisions need of a `LoopState`, and model files keep."""

    round: int  # rounds so far
    learner: Any  # `Learner.knowledge`
    features: Any  # state of the learned columns; None without any
    scaler: RunningScaler | None
    recent: np.ndarray  # (≤ MOST_RECENT, columns) people met lately, described, as they came


class Rule(NamedTuple):
    """What decides about the people of one task: plain arrays, the same for every row."""

    params: Params  # of `Learner.adapt`
    features: Any
    scaler: RunningScaler | None


def find_rule(
    loop: Loop,
    known: Known,
    task: Task | None = None,
    support: np.ndarray = NO_ROWS,
    people: np.ndarray = NO_ROWS,
    what: str = "the adaptation",
) -> Rule:
    """Find what decides about people.

    Args:
        loop: how tasks are played.
        known: what was learned.
        task: a task that people are of, its features described, as they came; None finds the
            standing rule.
        support: positions of its rows to adapt to; their labels are known.
        people: positions of those to be decided about. Without any, prices are found on the rows
            adapted to, and without these on people met lately.
        what: names the decision, should its numbers not be finite.
    """
    task = nobody(loop, known) if task is None else task
    round_ = known.round + 1
    looked_at = _sample(people, draws(loop.seed, round_, UNLABELLED))
    rows = np.sort(np.concatenate([support, looked_at]).astype(int))
    scaler = known.scaler and known.scaler.update(task.x[rows])
    scaled = task._replace(x=_scaled(scaler, task.x))
    draw = draws(loop.seed, round_, SUPPORT)
    batch = support_batch(scaled, loop.schema, support, loop.shots, draw)
    if loop.learner.traits.uses_unlabelled and (len(people) or not len(support)):
        crowd = crowd_of(scaled.x[looked_at], _scaled(scaler, known.recent))
        batch = batch._replace(unlabelled=crowd)
    with one_thread():
        params = jax.device_get(loop.adapt(known.learner, batch))
    refuse_divergence(loop.step_sizes, known.learner, params, batch, what)
    return Rule(params, known.features, scaler)


def nobody(loop: Loop, known: Known) -> Task:
    """Return a task without people; the one row that it has is never looked at."""
    x = np.zeros((1, known.recent.shape[1]), np.float32)
    return Task("", x, np.zeros(1), np.zeros((1, len(loop.schema.sensitive)), np.int32))


def crowd_of(people: np.ndarray, recent: np.ndarray) -> Unlabelled | None:
    """Return those on whom prices are found: the people of a task, or people met lately.

    A small task is filled up with the latter. Rows are padded to a power of four, so that few
    shapes are ever compiled.

    >>> weight = crowd_of(np.zeros((20, 1)), np.zeros((50, 1))).weight
    >>> float(weight[:20].sum()), round(float(weight[20:].sum()), 3)
    (20.0, 30.0)
    """
    weight = np.ones(len(people), np.float32)
    if not len(people):
        people, weight = recent, np.ones(len(recent), np.float32)
    elif len(people) < LEAST_PEOPLE and len(recent):
        lately = recent[-LEAST_PEOPLE:]
        share = min((LEAST_PEOPLE - len(people)) / len(lately), 1.0)
        weight = np.concatenate([weight, np.full(len(lately), share, np.float32)])
        people = np.concatenate([people, lately])
    if not len(people):
        return None
    missing = bucket(len(people), SMALLEST_BUCKET) - len(people)
    return Unlabelled(np.pad(people, ((0, missing), (0, 0))), np.pad(weight, (0, missing)))


def decide_by(loop: Loop, rule: Rule, x: np.ndarray) -> Prediction:
    """Decide about people by their features as they came."""
    described = described_by(loop, rule.features, x)
    return predict_rows(partial(loop.learner.predict, rule.params), _scaled(rule.scaler, described))


def described_by(loop: Loop, features: Any, x: np.ndarray) -> np.ndarray:
    """Add the columns learned so far to what is told of people."""
    return x if loop.features is None else loop.features.describe(features, x)


def decided_about(loop: Loop, rule: Rule, task: Task, rows: np.ndarray) -> Decided:
    """Decide about people at some positions of a task whose features are described."""
    x = _scaled(rule.scaler, task.x[rows])
    said = predict_rows(partial(loop.learner.predict, rule.params), x)
    return Decided(
        rows,
        np.asarray(said.logits, np.float32),
        np.asarray(said.probability, float),
        np.asarray(said.unpriced) > 0,
    )


def met_lately(recent: np.ndarray, people: np.ndarray) -> np.ndarray:
    """Add people to those met lately; the last ones are kept."""
    if not len(recent):
        return people[-MOST_RECENT:]
    return np.concatenate([recent, people])[-MOST_RECENT:]


def refuse_divergence(
    step_sizes: Sequence[str] | None, before: Any, after: Any, given: Any, what: str
) -> None:
    """Refuse numbers that are no longer finite; those that never were are let through.

    Args:
        step_sizes: settings to lower; None refuses nothing.
        before: the numbers that a step started from.
        after: those that it came to.
        given: the rows that it learned from.
        what: names the step.
    """
    if step_sizes is None or _finite(after) or not _finite(before):
        return
    if not _finite(given):
        raise FFMLError(
            f"{what} has features that are not finite; fill them in, or leave out those rows"
        )
    raise divergence(what, step_sizes)


def _sample(people: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    if len(people) <= MOST_PEOPLE:
        return people
    return people[np.sort(rng.permutation(len(people))[:MOST_PEOPLE])]


def _scaled(scaler: RunningScaler | None, x: np.ndarray) -> np.ndarray:
    return x if scaler is None else scaler.transform(x)


def _finite(tree: Any) -> bool:
    return all_finite(jax.tree.leaves(tree))
