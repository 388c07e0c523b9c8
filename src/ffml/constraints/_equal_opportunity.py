"""Equal opportunity: equal true positive rates, on smooth decisions."""

from ffml.constraints._base import Constraint, decision_gap_constraint


def equal_opportunity(
    bound: float | tuple[float, ...] = 0.05, temperature: float = 1.0, relative: bool = False
) -> Constraint:
    """``|mean(σ(h/τ) | s=1, y=1) - mean(σ(h/τ) | s=0, y=1)| - ε <= 0``.

    With ``relative``, τ is in standard deviations of the batch's logits (`smooth_decision`).

    Reference: Hardt, Price & Srebro, "Equality of Opportunity in Supervised Learning", 2016.
    """
    return decision_gap_constraint(
        "equal-opportunity",
        {"": lambda batch: batch.weight * batch.y},
        bound,
        temperature,
        relative,
    )
