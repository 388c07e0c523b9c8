"""Decide about a task: adapt what a learner knows to the rows of the task that are labelled."""

from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np

from ffml.base import Batch, FFMLError, Learner, Params, Schema, Task
from ffml.divergence import all_finite, divergence
from ffml.draws import SUPPORT, UNLABELLED, draws
from ffml.online.judge import support_batch, with_people
from ffml.runtime import compiled
from ffml.threads import one_thread


def asked(
    learner: Learner,
    schema: Schema,
    task: Task,
    *,
    shots: int,
    seed: int,
    round_: int,
    rows: np.ndarray | None = None,
    people: np.ndarray | None = None,
) -> Batch:
    """Draw a task's support rows, with the people to be decided about, as a round does.

    Args:
        learner: one that does not look at people gets none.
        schema: of the task.
        task: its features are standardised already.
        shots: rows of each class.
        seed: of the run.
        round_: the round that the decision is made in.
        rows: positions of the labelled rows; None means all.
        people: features of the people to be decided about, if known.
    """
    labelled = np.arange(len(task.y)) if rows is None else rows
    support = support_batch(task, schema, labelled, shots, draws(seed, round_, SUPPORT))
    if people is None:
        return support
    return with_people(support, learner, people, draws(seed, round_, UNLABELLED))


def adapt_to(
    learner: Learner,
    knowledge: Any,
    support: Batch,
    what: str,
    step_sizes: Sequence[str] | None = (),
    adapt: Callable[[Any, Batch], Params] | None = None,
) -> Params:
    """Adapt to a task's support rows; return what `Learner.predict` decides by, on the host.

    Args:
        learner: the method.
        knowledge: what it knows, see `Learner.knowledge`.
        support: of `asked`.
        what: names the decision, should its numbers not be finite.
        step_sizes: settings to lower then; None lets such numbers through.
        adapt: ``learner.adapt``, where it is compiled already.

    Raises:
        FFMLError: the numbers are not finite.
    """
    if adapt is None:
        adapt = compiled(learner.adapt) if learner.traits.pure else learner.adapt
    with one_thread():
        params = jax.device_get(adapt(knowledge, support))
    refuse_divergence(step_sizes, knowledge, params, support, what)
    return params


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


def _finite(tree: Any) -> bool:
    return all_finite(jax.tree.leaves(tree))
