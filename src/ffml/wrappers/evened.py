"""Keep the bounds among the very people to be decided about, by what their features tell.

The rows of a new task that are labelled are few, and the gap that they show is mostly chance. The
people to be decided about are more, and they are exactly those whose decisions will be judged.
Their features tell something about their groups (`ffml.wrappers.membership`), so the gap of
decisions about them can be estimated beforehand, and decisions changed until it keeps the bound
(`ffml.wrappers.pricing`). Labels and groups of these people are never looked at.
"""

from typing import Any, NamedTuple

import jax.numpy as jnp

from ffml.base import (
    Array,
    Batch,
    FFMLError,
    LabelledTask,
    Learner,
    Method,
    Params,
    Problem,
    Unlabelled,
)
from ffml.border import at_least, at_most
from ffml.problem.gaps import comparison, effective_rows, group_gap
from ffml.wrappers.membership import Membership, learn_membership, nothing_known, of_task
from ffml.wrappers.pricing import Population, Prices, described, priced_logits, smallest_prices
from ffml.wrappers.surprise import (
    Surprise,
    expected_shift,
    no_surprise,
    observe_task,
    update_surprise,
)


class EvenedState(NamedTuple):
    """The learner's own state, what is known of groups, and how far off expected gaps were."""

    inner: Any
    membership: Membership
    bias: Surprise
    learned: Array  # () rounds so far; 0: groups are unknown yet


class Evened(NamedTuple):
    """What decisions need: the learner's own knowledge, groups, and the bias of expected gaps."""

    inner: Any
    membership: Membership
    bias: Array


class EvenedParams(NamedTuple):
    """The learner's parameters for a task, and the prices under which they decide."""

    params: Params
    own: Population
    prices: Prices


def evened(method: Method, *, memory: float = 0.9, shots: int = 100) -> Method:
    """Put a price on gaps, just high enough that decisions about new people keep the bounds.

    Who is decided positively is said in `ffml.wrappers.pricing`. The smallest prices are found on
    the people to be decided about, with which each expected gap, plus how far off such gaps were
    on earlier tasks, keeps within its bound. The rule is optimal where the probabilities of labels
    and groups are right. Nothing is learned through it, and any method can be wrapped.

    Limits: The groups of the people to be decided about are estimated from their features. A
    decision may depend on who else is decided about, and it relies on features going with groups
    as they did in earlier tasks.

    Args:
        method: any.
        memory: what a task counts in the correction of expected gaps beside the next one.
        shots: rows of each class that a task just met is tried with.

    Reference: Xian & Zhao, "A Unified Post-Processing Framework for Group Fairness in
    Classification", 2024; Zeng, Dobriban & Cheng, "Bayes-Optimal Classifiers under Group Fairness",
    2022.
    """
    at_least(0, **{"evened.memory": memory})
    at_most(1, **{"evened.memory": memory})

    def wrapped(problem: Problem) -> Learner:
        learner = method(problem)
        if not problem.constraints:
            raise FFMLError("the wrapper 'evened' keeps bounds, and nothing is bounded; give one")

        def init(key: Array) -> EvenedState:
            schema, entries = problem.schema, problem.num_constraints
            known = nothing_known(len(schema.features), len(schema.contrasts))
            return EvenedState(learner.init(key), known, no_surprise(entries), jnp.zeros((), int))

        def knowledge(state: EvenedState) -> Evened:
            inner = learner.knowledge(state.inner)
            return Evened(inner, state.membership, expected_shift(state.bias))

        def adapt(known: Evened, support: Batch) -> EvenedParams:
            params = learner.adapt(known.inner, support)
            own = Population(of_task(known.membership, support), _positive_rate(support))
            x, weight = support.unlabelled or Unlabelled(support.x, support.weight)
            people = described(problem, own, learner.predict(params, x), x, weight)
            return EvenedParams(params, own, smallest_prices(problem, own, people, known.bias))

        def expected(evened: EvenedParams, x: Array, weight: Array) -> Batch:
            logits = learner.predict(evened.params, x)
            return described(problem, evened.own, logits, x, weight)

        def predict(evened: EvenedParams, x: Array) -> Array:
            people = expected(evened, x, 0 * x[:, 0] + 1)
            return priced_logits(problem, evened.own, evened.prices, people)

        def update(key: Array, state: EvenedState, task: LabelledTask, tasks: LabelledTask):
            def measure(support: Batch, query: Batch) -> tuple[Array, Array]:
                asked = support._replace(unlabelled=Unlabelled(query.x, query.weight))
                params = adapt(knowledge(state), asked)
                decisions = (predict(params, query.x) > 0) * 1.0
                people = expected(params, query.x, query.weight)
                off = _gaps(problem, decisions, query) - _gaps(problem, decisions, people)
                return off, effective_rows(problem, query)

            off, rows = observe_task(key, task, shots, measure, learner.pure)
            rows = jnp.where(state.learned > 0, rows, 0.0)
            bias = update_surprise(state.bias, off, rows, memory)
            inner, info = learner.update(key, state.inner, task, tasks)
            return EvenedState(inner, learn_membership(tasks), bias, state.learned + 1), info

        return learner._replace(
            init=init,
            adapt=adapt,
            predict=predict,
            update=update,
            knowledge=knowledge,
            pair=lambda known: learner.pair(known.inner),
            uses_unlabelled=True,
        )

    return wrapped


def _positive_rate(support: Batch) -> Array:
    positives = support.weight @ support.y / jnp.maximum(support.weight.sum(), 1e-30)
    return jnp.clip(positives, 0.01, 0.99)


def _gaps(problem: Problem, decisions: Array, batch: Batch) -> Array:
    rows, members = comparison(problem, batch)
    return group_gap(decisions, members, rows)
