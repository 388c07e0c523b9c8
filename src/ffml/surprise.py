"""How much larger the gaps of decisions on new tasks are than those that are learned from.

There are two reasons. A model that meets its constraints on the rows it was fitted to misses them
on new ones, the more so the fewer rows there were: the gap, like the loss, is over-fitted. And what
is learned from are smooth decisions, which may be even while decisions are not. An online learner
can tell by how much. Each task is met before it is learned from, so the gap of the decisions on it
is an honest one. The mean difference between the gaps of decisions on tasks just met and the smooth
gaps of the tasks in memory is the surprise; learning from gaps shifted by it puts the constraint
where the decisions on new tasks will be. (Where smooth decisions are not of the size of decisions,
`ffml.constraints.decision_gap_constraint`, their own gaps on new tasks are taken instead.)
"""

from typing import NamedTuple

import jax.numpy as jnp

from ffml.base import Array

# Variance of gaps from task to task, in variances of a single decision: tasks differ by about
# 0.1 in their gaps however many rows they have, so a large one counts at most as much as 20 rows.
# FFML's `gap_spread` is of the same kind, and a setting: weights hardly matter, that share does.
BETWEEN_TASKS = 0.05


class Surprise(NamedTuple):
    """A weighted mean of differences between gaps met and gaps known before, by entry."""

    total: Array  # (m,) Σ w (gap of decisions met - gap known)
    weight: Array  # (m,) Σ w


def no_surprise(num_constraints: int) -> Surprise:
    """Start without any."""
    nothing = jnp.zeros(num_constraints)
    return Surprise(nothing, nothing)


def task_precision(evidence: Array) -> Array:
    """Weigh gaps that rest on so many rows: ``1/(1/evidence + between tasks)``, 0 where 0.

    The weights of a random-effects mean: neither does a huge task drown all others, nor does the
    noise of tiny ones.
    """
    return evidence / (1 + BETWEEN_TASKS * evidence)


def shift(surprise: Surprise) -> Array:
    """Estimate how far new gaps will be from those known.

    The mean is taken as if one more very large task had been met without any surprise.
    """
    return surprise.total / (surprise.weight + 1 / BETWEEN_TASKS)


def met(surprise: Surprise, difference: Array, evidence: Array, memory: Array) -> Surprise:
    """Take in the difference of a task just met; those before count ``memory`` times as much."""
    weight = task_precision(evidence)
    return Surprise(
        total=memory * surprise.total + weight * difference,
        weight=memory * surprise.weight + weight,
    )
