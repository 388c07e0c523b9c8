"""Demographic parity on smooth decisions."""

from ffml.constraints._base import Constraint, decision_gap_constraint


def demographic_parity(
    bound: float | tuple[float, ...] = 0.05, temperature: float = 1.0, relative: bool = False
) -> Constraint:
    """``|mean(σ(h/τ) | s=1) - mean(σ(h/τ) | s=0)| - ε <= 0``.

    It speaks of decisions rather than logits: a gap between logits can be closed by a few rows
    far from the boundary while the decisions stay as unequal as before.

    With ``relative``, τ is in standard deviations of the batch's logits (`smooth_decision`).

    Reference: Lohaus, Perrot & von Luxburg, "Too Relaxed to Be Fair", 2020.
    """
    return decision_gap_constraint(
        "demographic-parity",
        {"": lambda batch: batch.weight},
        bound,
        temperature,
        relative,
    )
