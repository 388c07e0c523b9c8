"""Equalized odds: equal false and true positive rates, on smooth decisions."""

from ffml.constraints._base import Constraint, decision_gap_constraint


def equalized_odds(
    bound: float | tuple[float, ...] = 0.05, temperature: float = 1.0, relative: bool = False
) -> Constraint:
    """``|mean(σ(h/τ) | s=1, y) - mean(σ(h/τ) | s=0, y)| - ε <= 0`` for y = 0 and for y = 1.

    Two constraints for each comparison of groups: those of y = 0 come first.

    With ``relative``, τ is in standard deviations of the batch's logits (`smooth_decision`).

    Reference: Hardt, Price & Srebro, "Equality of Opportunity in Supervised Learning", 2016.
    """
    return decision_gap_constraint(
        "equalized-odds",
        {
            "y=0": lambda batch: batch.weight * (1 - batch.y),
            "y=1": lambda batch: batch.weight * batch.y,
        },
        bound,
        temperature,
        relative,
    )
