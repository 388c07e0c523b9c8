"""Constrain the gaps that new tasks will show, rather than those of the tasks learned from.

A model that meets its constraints on the rows it was fitted to misses them on new ones: the gap,
like the loss, is over-fitted. And what is learned from are smooth decisions, which may be even
while decisions are not. An online learner can tell by how much. Each task is met before it is
learned from, so the gap of the decisions on it is an honest one. The mean difference between those
gaps and the gaps learned from is the surprise; bounds moved by it are where the decisions on new
tasks will be.
"""

from typing import Any, NamedTuple

import jax.numpy as jnp

from ffml.base import Array, Batch, FFMLError, LabelledTask, Learner, Method, Params, Problem
from ffml.border import at_least, at_most
from ffml.problem.gaps import effective_rows, judged_gaps, shifted
from ffml.wrappers._surprise import (
    Surprise,
    expected_shift,
    no_surprise,
    observe_task,
    update_surprise,
)
from ffml.wrappers._wrap import wrap


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
            surprise = no_surprise(problem.num_constraints)
            return CorrectedState(inner, surprise, nothing, jnp.zeros((), int))

        def knowledge(state: CorrectedState) -> Corrected:
            return Corrected(learner.knowledge(state.inner), expected_shift(state.surprise))

        def adapt(known: Corrected, support: Batch) -> Params:
            return at(known.shift).adapt(known.inner, support)

        def update(key: Array, state: CorrectedState, task: LabelledTask, tasks: LabelledTask):
            def measure(support: Batch, query: Batch) -> tuple[Array, Array]:
                logits = learner.predict(adapt(knowledge(state), support), query.x).logits
                return judged_gaps(problem, logits, query), effective_rows(problem, query)

            met, rows = observe_task(key, task, shots, measure, learner.traits.pure)
            rows = jnp.where(state.learned > 0, rows, 0.0)
            surprise = update_surprise(state.surprise, met - state.learned_gaps, rows, memory)
            inner, info = at(expected_shift(surprise)).update(key, state.inner, task, tasks)
            return CorrectedState(inner, surprise, info.gaps, info.iterations), info

        return wrap(learner, own, knowledge=knowledge, adapt=adapt, update=update)

    return wrapped
