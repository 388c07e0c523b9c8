"""Fair classification as a constrained problem: loss and constraints of a model on a batch."""

import jax
import jax.numpy as jnp
import optax

from ffml.base import Array, Batch, FFMLError, Params, Problem, Schema
from ffml.constraints import Constraint
from ffml.models import Model


def fair_classification(
    schema: Schema,
    model: Model,
    constraint: Constraint,
    l2: float = 0.0,
    natural_rates: bool = True,
) -> Problem:
    """Minimise the cross-entropy of ``model`` subject to ``|gap_i| - ε_i <= 0``.

    ``f(θ) = mean sigmoid cross-entropy + l2/2 ‖θ‖²``; with a linear model and ``l2`` = μ > 0
    the loss is μ-strongly convex, as the paper's analysis asks for.

    Support and query rows are drawn with as many of each label. With ``natural_rates`` the
    constraints weigh them back to the label rates of their task, so that they bound the gap
    among the people who are decided about; without, they bound it among the drawn rows, as in
    the paper.

    >>> import ffml
    >>> stream = ffml.load("synthetic", seed=0)
    >>> problem = fair_classification(
    ...     stream.schema, ffml.models.linear(), ffml.constraints.demographic_parity(0.02)
    ... )
    >>> problem.num_constraints
    1
    """
    if not isinstance(l2, jax.core.Tracer) and not l2 >= 0:
        raise FFMLError(f"l2 must be >= 0, got {l2}")
    init, apply = model
    names = constraint.entry_names(schema.contrasts)
    bounds = constraint.bounds(len(schema.contrasts))

    def loss(params: Params, batch: Batch) -> Array:
        cross_entropy = optax.sigmoid_binary_cross_entropy(apply(params, batch.x), batch.y)
        mean = cross_entropy @ batch.mask / jnp.maximum(batch.mask.sum(), 1)
        return mean + l2 / 2 * optax.tree.norm(params, squared=True)

    def constraint_at(logits: Array, batch: Batch) -> Array:
        if not natural_rates:
            batch = batch._replace(weight=batch.mask)
        values = jnp.abs(constraint.gaps(logits, batch)) - bounds
        return jnp.where(constraint.measurable(batch) > 0, values, 0.0)

    return Problem(
        init=lambda key: init(key, len(schema.features)),
        apply=apply,
        loss=loss,
        constraint=lambda params, batch: constraint_at(apply(params, batch.x), batch),
        constraint_at=constraint_at,
        measurable=constraint.measurable,
        constraint_names=names,
    )
