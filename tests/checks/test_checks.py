"""The checks find what is wrong with a part of one's own, and say so in one line."""

from dataclasses import replace
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
import pytest

from ffml.base import Condition, Features, FFMLError, Info, Learner, Pair, Traits, plain
from ffml.checks import check_constraint, check_features, check_learner, check_model
from ffml.methods._refit import task_rows
from ffml.problem.models import linear
from ffml.problem.notions import decision, decision_constraint, demographic_parity


def refused(check, subject, message):
    with pytest.raises(FFMLError) as caught:
        check(subject)
    assert str(caught.value).startswith(message) and "\n" not in str(caught.value)


class Direction:
    """A learner in NumPy: from the mean of the negatives to that of the positives."""

    def __init__(self, problem):
        self.num_constraints = problem.num_constraints

    def init(self, key):
        return np.zeros(3)

    def adapt(self, known, support):
        return known.params + 0.1 * ((2 * support.y - 1) * support.mask) @ support.x

    def update(self, key, state, task, memory):
        rows = task_rows(task)
        nothing = np.zeros(self.num_constraints)
        state = 0.5 * state + (2 * rows.y - 1.0) @ rows.x
        return state, Info(0.0, nothing, nothing, 1)

    def knowledge(self, state):
        return Pair(state, np.zeros(self.num_constraints))

    @classmethod
    def method(cls, problem):
        own = cls(problem)
        return Learner(
            own.init,
            own.adapt,
            lambda params, x: plain(np.asarray(x @ params)),
            own.update,
            own.knowledge,
            Traits(pure=False),
        )


def test_a_learner_of_ones_own_passes():
    check_learner(Direction.method)


class Rounding(Direction):
    def init(self, key):
        return np.zeros(3, np.float32)


def test_a_learner_whose_checkpoints_could_not_be_read_is_named():
    refused(check_learner, Rounding.method, "update returns arrays of other types than init")


def of_ones(known, x):
    return np.c_[x, np.ones(len(x))]


@pytest.mark.parametrize(
    ("describe", "message"),
    [
        (of_ones, None),
        (lambda known, x: of_ones(known, x)[:, ::-1], "describe changes features"),
        (lambda known, x: np.c_[x, x.sum() + 0 * x[:, 0]], "a row's columns depend on"),
        (lambda known, x: np.c_[x, np.full(len(x), np.nan)], "describe adds numbers that are not"),
    ],
)
def test_columns_that_features_must_not_add_are_named(describe, message):
    def factory(schema):
        told = replace(schema, features=(*schema.features, "more"))
        return Features(lambda: (), lambda key, state, task, tasks: state, describe, told)

    if message is None:
        check_features(factory)
    else:
        refused(check_features, factory, message)


class Sums(NamedTuple):
    """What features know that count padding as people."""

    x: np.ndarray


def test_features_that_fit_to_padding_are_named():
    def factory(schema):
        def fit(key, state, task, tasks):
            return Sums(state.x + tasks.x.sum())

        return Features(lambda: Sums(np.zeros(())), fit, lambda state, x: x, schema)

    refused(check_features, factory, "padding rows are fitted to")


class ByChance(Direction):
    def update(self, key, state, task, memory):
        return np.random.default_rng().normal(size=3), super().update(key, state, task, memory)[1]


class Deaf(Direction):
    def adapt(self, known, support):
        return 0 * known.params

    def update(self, key, state, task, memory):
        return state, super().update(key, state, task, memory)[1]


class Negative(Direction):
    def knowledge(self, state):
        return Pair(state, np.full(self.num_constraints, -0.1))


class TooMany(Direction):
    def knowledge(self, state):
        return Pair(state, np.zeros(self.num_constraints + 1))


class ReadsPadding(Direction):
    def update(self, key, state, task, memory):
        state, info = super().update(key, state, task, memory)
        return state + task.s.sum(), info


class ReadsMaskedSupport(Direction):
    def adapt(self, known, support):
        return known.params + (2 * support.y - 1) @ support.x


class ReadsEmptySlots(Direction):
    def update(self, key, state, task, memory):
        state, info = super().update(key, state, task, memory)
        return state + np.asarray(memory.x).sum((0, 1)), info


class CountsSlots(Direction):
    def update(self, key, state, task, memory):
        state, info = super().update(key, state, task, memory)
        return state + len(memory.totals), info


PADDING = "what padding rows and empty places in memory hold changes decisions"


@pytest.mark.parametrize(
    ("learner", "message"),
    [
        (ByChance, "the same seed gives other numbers"),
        (Deaf, "another seed gives the same decisions"),
        (Negative, "a multiplier is negative"),
        (TooMany, "the state shows multipliers of shape (2,); there are 1 constraints"),
        (ReadsPadding, PADDING),
        (ReadsMaskedSupport, PADDING),
        (ReadsEmptySlots, PADDING),
        (CountsSlots, "the number of places in memory changes decisions"),
    ],
)
def test_what_is_wrong_with_a_learner_is_said(learner, message):
    refused(check_learner, learner.method, message)


def test_a_learner_that_recompiles_is_named():
    def method(problem):
        learner = Direction.method(problem)

        def update(key, state, task, memory):
            info = Info(0.0, jnp.zeros(1), jnp.zeros(1), 1)
            return jnp.concatenate([state, state[:1]]), info  # another shape each round

        def adapt(known, support):
            return known.params[:3] + 0.1 * ((2 * support.y - 1) * support.mask) @ support.x

        return learner._replace(
            adapt=adapt,
            update=update,
            knowledge=lambda state: Pair(state, np.zeros(1)),
            traits=Traits(),
        )

    refused(check_learner, method, "adapt is compiled 6 times; shapes and types must stay")


def notion(rows=None, score=None):
    def factory(bound):
        built = demographic_parity(bound)
        if rows:
            built = built._replace(conditions=(Condition("", rows),))
        return built._replace(score=score) if score else built

    return factory


def two_of_a_name(bound):
    built = demographic_parity(bound)
    return built._replace(conditions=built.conditions * 2)


@pytest.mark.parametrize(
    ("factory", "message"),
    [
        (
            two_of_a_name,
            "entries share a name: demographic-parity[sex=F], demographic-parity[sex=F]",
        ),
        (notion(lambda batch: jnp.ones(len(batch.y))), "condition '' counts padding; multiply by"),
        (notion(lambda batch: batch.weight[:, None]), "condition '' returns shape (68, 1); one"),
        (notion(lambda batch: -batch.weight), "condition '' gives a row a negative weight"),
        (notion(lambda batch: batch.mask), "writing rows of weight 2 twice changes gaps"),
        (notion(score=decision), "the score has no slope"),
        (notion(score=lambda h, batch: h.sum()), "score returns (); one number a row"),
        (notion(score=lambda h, batch: jnp.sqrt(jnp.abs(h))), "the score has gradients that are"),
        (
            notion(score=lambda h, batch: h - h.mean() * batch.s[:, 0]),
            "leaving out padding changes",
        ),
    ],
)
def test_what_is_wrong_with_a_constraint_is_said(factory, message):
    refused(check_constraint, factory, message)


def test_notions_of_ones_own_with_any_number_of_conditions_pass():
    conditions = {
        name: lambda batch, low=low: batch.weight * (batch.x[:, 1] > low)
        for name, low in (("a", -9.0), ("b", -0.5), ("c", 0.0))
    }
    check_constraint(lambda bound: decision_constraint("mine", conditions, bound))


def model(**functions):
    return lambda: linear()._replace(**functions)


@pytest.mark.parametrize(
    ("factory", "message"),
    [
        (model(apply=lambda params, x: jnp.asarray(x) @ params["w"]), "apply returns "),
        (model(apply=lambda params, x: x @ params["w"][:, None]), "apply returns logits of shape"),
        (
            model(apply=lambda params, x: x @ params["w"] - (x @ params["w"]).mean()),
            "a row's logit",
        ),
        (model(apply=lambda params, x: x @ params["w"] * np.nan), "apply returns logits that are"),
        (
            model(init=lambda key, n: {"w": np.random.default_rng().normal(size=n), "b": 0.0}),
            "init gives other parameters for the same key",
        ),
        (
            model(
                apply=lambda params, x: x @ params["w"] + (0.5 if isinstance(x, np.ndarray) else 0)
            ),
            "apply differs between NumPy and JAX",
        ),
    ],
)
def test_what_is_wrong_with_a_model_is_said(factory, message):
    refused(check_model, factory, message)
