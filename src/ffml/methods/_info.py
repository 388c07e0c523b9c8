"""What a round of learning shows: kept as it goes, iteration by iteration."""

import jax.numpy as jnp

from ffml.base import Array, Info, Problem


def nothing_seen(problem: Problem) -> Info:
    """Begin a round's `Info`."""
    entries = jnp.zeros(problem.num_constraints)
    return Info(jnp.zeros(()), entries, entries, jnp.zeros((), int))


def looked_at(before: Info, loss: Array, constraint: Array, gaps: Array) -> Info:
    """Keep the newest values, and the mean of gaps over about 10 iterations."""
    mean = jnp.where(before.iterations == 0, gaps, 0.9 * before.gaps + 0.1 * gaps)
    return Info(loss, constraint, mean, before.iterations + 1)
