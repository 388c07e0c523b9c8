"""Fair classification as a constrained problem: loss and constraints of a model on a batch."""

import jax
import jax.numpy as jnp
import optax
from jax import lax

from ffml.base import Array, Batch, Params, Problem, Schema
from ffml.checks import at_least, positive
from ffml.constraints import Constraint
from ffml.models import Model


def fair_classification(
    schema: Schema,
    model: Model,
    constraint: Constraint,
    l2: float = 0.0,
    natural_rates: bool = True,
    noise_allowance: float = 1.0,
    positive_weight: float = 1.0,
) -> Problem:
    """Minimise the cross-entropy of ``model`` subject to ``|gap_i| - ε_i <= 0``.

    ``f(θ) = mean sigmoid cross-entropy + l2/2 ‖θ‖²``; with a linear model and ``l2`` = μ > 0
    the loss is μ-strongly convex, as the paper's analysis asks for.

    Support and query rows are drawn with as many of each label. With ``natural_rates`` the
    constraints weigh them back to the label rates of their task, so that they bound the gap
    among the people who are decided about; without, they bound it among the drawn rows, as in
    the paper.

    A gap between two groups of a few rows is rarely 0, however even the decisions: |gap| is
    large by chance, a constraint on it cannot be met, and its multiplier grows until all
    decisions are the same. While learning, the bound of a batch is therefore
    ``ε + noise_allowance · E|gap by chance|`` (`ffml.constraints.chance_gap`), which is ε for
    large tasks; 0 is the paper's constraint. What rounds report is ``|gap| - ε`` in any case.

    A positive that is missed costs ``positive_weight`` times as much as a false alarm: the
    cross-entropy of a row is multiplied by the cost of its label (`label_costs`). Since labels are
    drawn evenly, 1 favours neither; a greater weight leads to more positive decisions.

    >>> import ffml
    >>> stream = ffml.load("synthetic", seed=0)
    >>> problem = fair_classification(
    ...     stream.schema, ffml.models.linear(), ffml.constraints.demographic_parity(0.02)
    ... )
    >>> problem.num_constraints
    1
    """
    at_least(0, l2=l2, noise_allowance=noise_allowance)
    positive(positive_weight=positive_weight)
    false_alarm, missed = label_costs(positive_weight)
    init, apply = model
    names = constraint.entry_names(schema.contrasts)
    bounds = constraint.bounds(len(schema.contrasts))

    def loss(params: Params, batch: Batch) -> Array:
        logits = apply(params, batch.x)
        cross_entropy = jax.nn.softplus(logits) - batch.y * logits
        cost = jnp.where(batch.y > 0, missed, false_alarm)
        mean = (cost * cross_entropy) @ batch.mask / jnp.maximum(batch.mask.sum(), 1)
        return mean + l2 / 2 * optax.tree.norm(params, squared=True)

    def drawn(batch: Batch) -> Batch:
        return batch if natural_rates else batch._replace(weight=batch.mask)

    def gaps_at(logits: Array, batch: Batch) -> Array:
        return constraint.gaps(logits, drawn(batch))

    def evidence(batch: Batch) -> Array:
        return constraint.evidence(drawn(batch))

    def constraint_at(logits: Array, batch: Batch, shift: Array = 0.0) -> Array:
        values = jnp.abs(constraint.gaps(logits, batch) + shift) - bounds
        return jnp.where(constraint.evidence(batch) > 0, values, 0.0)

    def learned_constraint(params: Params, batch: Batch, shift: Array = 0.0) -> Array:
        logits, batch = apply(params, batch.x), drawn(batch)
        noise = noise_allowance * constraint.noise(lax.stop_gradient(logits), batch)
        values = constraint_at(logits, batch, shift)
        return jnp.where(constraint.evidence(batch) > 0, values - noise, 0.0)

    return Problem(
        init=lambda key: init(key, len(schema.features)),
        apply=apply,
        loss=loss,
        constraint=learned_constraint,
        constraint_at=constraint_at,
        gaps=lambda params, batch: gaps_at(apply(params, batch.x), batch),
        gaps_at=gaps_at,
        judged_gaps=lambda params, batch: constraint.judged_gaps(
            apply(params, batch.x), drawn(batch)
        ),
        gap_variance=lambda params, batch: constraint.gap_variance(
            apply(params, batch.x), drawn(batch)
        ),
        bounds=bounds,
        evidence=evidence,
        sides=constraint.sides,  # people as they are, whatever is learned from
        constraint_names=names,
        positive_weight=positive_weight,
        schema=schema,
    )


def label_costs(positive_weight: float) -> tuple[float, float]:
    """Return what errors at labels 0 and 1 cost: ``2/(1 + w)`` and ``2w/(1 + w)``.

    >>> label_costs(1.0), label_costs(3.0)
    ((1.0, 1.0), (0.5, 1.5))
    """
    return 2 / (1 + positive_weight), 2 * positive_weight / (1 + positive_weight)
