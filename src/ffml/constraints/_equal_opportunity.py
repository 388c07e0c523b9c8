"""Equal opportunity: equal true positive rates, on smooth decisions."""

import jax

from ffml.constraints._base import Constraint, group_gap_constraint


def equal_opportunity(
    bound: float | tuple[float, ...] = 0.05, temperature: float = 1.0
) -> Constraint:
    """``|mean(σ(h/τ) | s=1, y=1) - mean(σ(h/τ) | s=0, y=1)| - ε <= 0``.

    Reference: Hardt, Price & Srebro, "Equality of Opportunity in Supervised Learning", 2016.
    """
    return group_gap_constraint(
        "equal-opportunity",
        lambda logits: jax.nn.sigmoid(logits / temperature),
        {"": lambda batch: batch.weight * batch.y},
        bound,
    )
