"""Constrain the gaps that new tasks will show, rather than those of the tasks learned from.

A model that meets its constraints on the rows it was fitted to misses them on new ones: the gap,
like the loss, is over-fitted. And what is learned from are smooth decisions, which may be even
while decisions are not. An online learner can tell by how much. Each task is met before it is
learned from, so the gap of the decisions on it is an honest one. The mean difference between those
gaps and the gaps learned from is the surprise; bounds moved by it are where the decisions on new
tasks will be.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from ffml.base import Array, Batch, FFMLError, LabelledTask, Learner, Method, Params, Problem
from ffml.border import at_least, at_most
from ffml.methods.outer import BETWEEN_TASKS, task_precision
from ffml.methods.sampling import draw_support_and_query
from ffml.problem.gaps import effective_rows, judged_gaps, shifted
from ffml.wrappers._wrap import wrap

FRESH_DRAWS = 4  # of a task just met: how often it is split into support and query
_FRESH = 1_000_000  # keeps these draws apart from those of a round's iterations


class Surprise(NamedTuple):
    """A weighted mean of differences between gaps met and gaps known before, by entry."""

    total: Array  # (m,) Σ w (gap met - gap known)
    weight: Array  # (m,) Σ w


class CorrectedState(NamedTuple):
    """The learner's own state, and what its gaps on new tasks were beside those learned from."""

    inner: Any
    surprise: Surprise
    learned_gaps: Array  # (m,) as the last update saw them
    learned: Array  # () iterations of the last update; 0: there is nothing to compare with yet


class Corrected(NamedTuple):
    """What decisions need: the learner's own knowledge, and by how much its bounds are moved."""

    inner: Any
    shift: Array


def corrected(method: Method, *, memory: float = 0.9, shots: int = 100) -> Method:
    """Move the bounds of a method's constraints by how far off its gaps were on new tasks.

    ``|gap + shift| - ε <= 0`` with ``shift`` the mean of (gap of decisions on a task just met -
    gap learned from), weighted by rows.

    Args:
        method: one that learns from the problem's constraints.
        memory: what a task counts in the mean beside the next one; 1 forgets nothing.
        shots: rows of each class that a task just met is tried with.
    """
    at_least(0, **{"corrected.memory": memory})
    at_most(1, **{"corrected.memory": memory})

    def wrapped(problem: Problem) -> Learner:
        learner = method(problem)
        if not learner.traits.constrained:
            raise FFMLError(
                "the wrapper 'corrected' moves the bounds of a method's constraints, and this "
                "method learns without any; leave it out"
            )

        def at(shift: Array) -> Learner:
            return method(shifted(problem, shift))

        def own(inner: Any) -> CorrectedState:
            nothing = jnp.zeros(problem.num_constraints)
            return CorrectedState(inner, Surprise(nothing, nothing), nothing, jnp.zeros((), int))

        def knowledge(state: CorrectedState) -> Corrected:
            return Corrected(learner.knowledge(state.inner), expected_shift(state.surprise))

        def adapt(known: Corrected, support: Batch) -> Params:
            return at(known.shift).adapt(known.inner, support)

        def update(key: Array, state: CorrectedState, task: LabelledTask, tasks: LabelledTask):
            def measure(support: Batch, query: Batch) -> tuple[Array, Array]:
                logits = learner.predict(adapt(knowledge(state), support), query.x).logits
                return judged_gaps(problem, logits, query), effective_rows(problem, query)

            observed, rows = observe_task(key, task, shots, measure, learner.traits.pure)
            rows = jnp.where(state.learned > 0, rows, 0.0)
            surprise = update_surprise(state.surprise, observed - state.learned_gaps, rows, memory)
            inner, info = at(expected_shift(surprise)).update(key, state.inner, task, tasks)
            return CorrectedState(inner, surprise, info.gaps, info.iterations), info

        return wrap(learner, own, knowledge=knowledge, adapt=adapt, update=update)

    return wrapped


def expected_shift(surprise: Surprise) -> Array:
    """Estimate how far new gaps will be from those known.

    The mean is taken as if one more very large task had been met without any surprise.
    """
    return surprise.total / (surprise.weight + 1 / BETWEEN_TASKS)


def update_surprise(surprise: Surprise, difference: Array, rows: Array, memory: Array) -> Surprise:
    """Take in the difference of a task just met; those before count ``memory`` times as much."""
    weight = task_precision(rows)
    return Surprise(
        total=memory * surprise.total + weight * difference,
        weight=memory * surprise.weight + weight,
    )


def observe_task(
    key: Array,
    task: LabelledTask,
    shots: int,
    measure: Callable[[Batch, Batch], tuple[Array, Array]],
    pure: bool = True,
) -> tuple[Array, Array]:
    """Split a task just met into support and query, several times, and average what is measured.

    Args:
        key: of the round.
        task: just revealed, not learned from yet.
        shots: rows of each class.
        measure: support, query -> ``(m,)`` values and the rows behind each.
        pure: whether ``measure`` can be vectorised; if not, the task is split once.

    Returns:
        The mean values, weighted by rows, and the mean rows.
    """

    def once(key: Array) -> tuple[Array, Array]:
        return measure(*draw_support_and_query(key, task, shots))

    key = jax.random.fold_in(key, _FRESH)
    if not pure:
        return once(key)
    values, rows = jax.vmap(once)(jax.random.split(key, FRESH_DRAWS))
    return (rows * values).sum(0) / jnp.maximum(rows.sum(0), 1e-30), rows.mean(0)
