"""The outer level: what the tasks in memory ask of the meta pair, at their adapted θ'_k (Eq. 8)."""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp

from ffml.base import Array, Batch, Params, Problem
from ffml.border import at_least
from ffml.problem.gaps import (
    bounds,
    effective_rows,
    gap_variance,
    measurable,
    measures,
    violation,
)

# Variance of gaps from task to task, in variances of a single decision: tasks differ by about
# 0.1 in their gaps however many rows they have, so a large one counts at most as much as 20 rows.
BETWEEN_TASKS = 0.05


class Drawn(NamedTuple):
    """Support and query rows of the tasks of a round; every leaf has a leading axis over tasks."""

    supports: Batch
    queries: Batch
    sizes: Array  # (tasks,) rows that each task had in all


class Seen(NamedTuple):
    """What the queries say of the adapted parameters."""

    loss: Array  # ()
    constraint: Array  # (m,) g of Eq. 8, 0 where no query measures it
    gaps: Array  # (m,) mean signed gaps
    share: Array  # (m,) what the tasks that measure an entry count together, 0 if none does
    penalty: Array = 0.0  # () what else is minimised


Outer = Callable[[Problem, Params, Drawn], Seen]  # problem, θ'_k (leading axis), draws -> seen


def mean_over_tasks() -> Outer:
    """Bound the mean over tasks of ``|gap| - ε``: every task counts the same, as in the paper."""

    def outer(problem: Problem, adapted: Params, drawn: Drawn) -> Seen:
        weights = _normalised(_usable(drawn))
        queries = drawn.queries
        counts = weights[:, None] * jax.vmap(lambda query: measurable(problem, query))(queries)
        share = counts.sum(0)
        own = jax.vmap(partial(measures, problem))(adapted, queries)
        return Seen(
            loss=weights @ own.loss,
            constraint=_mean(counts, own.constraint),
            gaps=_mean(counts, own.gaps),
            share=share,
        )

    return outer


def pooled(penalty: float = 0.0) -> Outer:
    """Bound the mean gap over tasks, ``|mean_k gap_k| - ε``, instead of the mean of their sizes.

    The gap of a small task is large by chance. In a mean of signed gaps chance averages out, so
    that the bound can be met. Tasks count by their rows in the loss, and by the precision of their
    gaps (`task_precision`) in the constraint.

    Args:
        penalty: ρ. Opposite gaps of tasks average out too; ``ρ Σ_i mean_k gap_i(θ'_k)²`` is their
            price, each square less what chance adds to it. 0 does without.
    """
    if not isinstance(penalty, jax.core.Tracer):
        at_least(0, **{"outer.penalty": penalty})
    charged = isinstance(penalty, jax.core.Tracer) or penalty > 0

    def outer(problem: Problem, adapted: Params, drawn: Drawn) -> Seen:
        queries, usable = drawn.queries, _usable(drawn)
        weights = _normalised(usable * drawn.sizes)
        rows = jax.vmap(lambda query: effective_rows(problem, query))(queries)
        counts = _normalised(task_precision(usable[:, None] * rows))
        share = counts.sum(0)
        own = jax.vmap(partial(measures, problem))(adapted, queries)
        mean_gaps, mean_higher = _mean(counts, own.gaps), _mean(counts, own.higher)
        price: Array = 0.0
        if charged:
            chance = jax.vmap(partial(gap_variance, problem))(own.logits, queries)
            squares = (own.gaps - bounds(problem).center) ** 2 - chance
            price = penalty * _mean(counts, squares).sum()
        return Seen(
            loss=weights @ own.loss,
            constraint=jnp.where(share > 0, violation(problem, mean_gaps, mean_higher), 0.0),
            gaps=mean_gaps,
            share=share,
            penalty=price,
        )

    return outer


def loss_only(by_size: bool = False) -> Outer:
    """Minimise the loss alone; λ stays as it is.

    Args:
        by_size: whether tasks count by their rows, or all the same.
    """

    def outer(problem: Problem, adapted: Params, drawn: Drawn) -> Seen:
        weights = _normalised(_usable(drawn) * (drawn.sizes if by_size else 1.0))
        nothing = jnp.zeros(problem.num_constraints)
        loss = weights @ jax.vmap(problem.loss)(adapted, drawn.queries)
        return Seen(loss, nothing, nothing, nothing)

    return outer


OUTER: dict[str, Callable[..., Outer]] = {
    "mean-over-tasks": mean_over_tasks,
    "pooled": pooled,
    "loss-only": loss_only,
}


def task_precision(rows: Array) -> Array:
    """Weigh gaps that rest on so many rows: ``1/(1/rows + between tasks)``, 0 where 0.

    The weights of a random-effects mean: neither does a huge task drown all others, nor does the
    noise of tiny ones.
    """
    return rows / (1 + BETWEEN_TASKS * rows)


def _usable(drawn: Drawn) -> Array:
    """Mark the tasks with rows to adapt to and rows to judge by."""
    return ((drawn.supports.mask.sum(1) > 0) & (drawn.queries.mask.sum(1) > 0)) * 1.0


def _normalised(weights: Array) -> Array:
    return weights / jnp.maximum(weights.sum(0), 1e-30)


def _mean(counts: Array, values: Array) -> Array:
    """Average ``values`` ``(tasks, m)`` over the tasks that count."""
    share = counts.sum(0)
    return (counts * values).sum(0) / jnp.where(share > 0, share, 1)
