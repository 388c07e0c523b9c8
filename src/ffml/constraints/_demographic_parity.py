"""Demographic parity on smooth decisions."""

import jax

from ffml.constraints._base import Constraint, group_gap_constraint


def demographic_parity(
    bound: float | tuple[float, ...] = 0.05, temperature: float = 1.0
) -> Constraint:
    """``|mean(σ(h/τ) | s=1) - mean(σ(h/τ) | s=0)| - ε <= 0``.

    It speaks of decisions rather than logits: a gap between logits can be closed by a few rows
    far from the boundary while the decisions stay as unequal as before.

    Reference: Lohaus, Perrot & von Luxburg, "Too Relaxed to Be Fair", 2020.
    """
    return group_gap_constraint(
        "demographic-parity",
        lambda logits: jax.nn.sigmoid(logits / temperature),
        {"": lambda batch: batch.weight},
        bound,
    )
