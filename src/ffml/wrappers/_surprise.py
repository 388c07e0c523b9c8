"""A running mean of how far gaps on new tasks were from what was known before."""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp

from ffml.base import Array, Batch, LabelledTask
from ffml.methods.outer import BETWEEN_TASKS, task_precision
from ffml.methods.sampling import draw_support_and_query

FRESH_DRAWS = 4  # of a task just met: how often it is split into support and query
_FRESH = 1_000_000  # keeps these draws apart from those of a round's iterations


class Surprise(NamedTuple):
    """A weighted mean of differences between gaps met and gaps known before, by entry."""

    total: Array  # (m,) Σ w (gap met - gap known)
    weight: Array  # (m,) Σ w


def no_surprise(num_constraints: int) -> Surprise:
    """Start without any."""
    nothing = jnp.zeros(num_constraints)
    return Surprise(nothing, nothing)


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
