"""Fair classification as a constrained problem: the loss of a model, and constraints on gaps."""

import jax
import jax.numpy as jnp
import numpy as np
import optax

from ffml.base import Array, Batch, Constraint, FFMLError, Model, Params, Problem, Schema
from ffml.border import at_least, positive
from ffml.problem.notions import as_drawn


def fair_classification(
    schema: Schema,
    model: Model,
    *constraints: Constraint,
    l2: float = 0.0,
    positive_weight: float = 1.0,
    natural_rates: bool = True,
) -> Problem:
    """Minimise the cross-entropy of ``model`` while gaps between groups keep within their bounds.

    ``f(θ) = mean sigmoid cross-entropy + l2/2 ‖θ‖²``; with a linear model and ``l2`` = μ > 0
    the loss is μ-strongly convex, as the paper's analysis asks for.

    Args:
        schema: features, protected columns and their groups.
        model: parameters and features to logits, see `ffml.models`.
        *constraints: fairness notions with their bounds, see `ffml.constraints`.
        l2: μ, what large parameters cost; 0 costs nothing.
        positive_weight: what a missed positive costs, in false alarms (`label_costs`). Labels are
            drawn evenly, so 1 favours neither; a greater weight leads to more positive decisions.
        natural_rates: rows are drawn with as many of each label. True weighs them back to the label
            rates of their task, so that gaps are those among the people who are decided about.
            False takes them as drawn, as in the paper.

    >>> import ffml
    >>> stream = ffml.load("synthetic", seed=0)
    >>> notion = ffml.constraints.demographic_parity(0.02)
    >>> fair_classification(stream.schema, ffml.models.linear(), notion).constraint_names
    ('demographic-parity[group=g1]',)
    """
    at_least(0, l2=l2)
    positive(positive_weight=positive_weight)
    for constraint in constraints:
        _check_bounds(constraint, len(schema.contrasts))
    penalised = isinstance(l2, jax.core.Tracer) or l2 > 0

    def cost(params: Params, logits: Array, batch: Batch, positive_weight: Array) -> Array:
        false_alarm, missed = label_costs(positive_weight)
        cross_entropy = jax.nn.softplus(logits) - batch.y * logits
        price = jnp.where(batch.y > 0, missed, false_alarm)
        mean = cross_entropy @ (price * batch.mask / jnp.maximum(batch.mask.sum(), 1))
        return mean + l2 / 2 * optax.tree.norm(params, squared=True) if penalised else mean

    compared = constraints if natural_rates else tuple(map(as_drawn, constraints))
    return Problem(model, cost, compared, schema, positive_weight)


def label_costs(positive_weight: float) -> tuple[float, float]:
    """Return what errors at labels 0 and 1 cost: ``2/(1 + w)`` and ``2w/(1 + w)``.

    >>> label_costs(1.0), label_costs(3.0)
    ((1.0, 1.0), (0.5, 1.5))
    """
    return 2 / (1 + positive_weight), 2 * positive_weight / (1 + positive_weight)


def balanced(y: np.ndarray, weight: np.ndarray, positive_weight: float = 1.0) -> np.ndarray:
    """Weigh rows so that both labels count the same, times what their errors cost.

    >>> balanced(np.array([0, 0, 0, 1]), np.ones(4)).round(3).tolist()
    [0.667, 0.667, 0.667, 2.0]
    """
    by_label = np.bincount(y, weight, minlength=2)
    by_label_or_1 = np.where(by_label > 0, by_label, 1.0)
    costs = np.array(label_costs(positive_weight))
    return weight * (costs * by_label.sum() / (2 * by_label_or_1))[y]


def _check_bounds(constraint: Constraint, contrasts: int) -> None:
    entries = len(constraint.conditions) * contrasts
    if any(np.shape(part) not in ((), (entries,)) for part in constraint.bound):
        raise FFMLError(
            f"{constraint.name} has {entries} entries here: give one bound or {entries}"
        )
