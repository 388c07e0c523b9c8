"""Decision boundary covariance: the paper's constraint (Eq. 1–2)."""

from ffml.constraints._base import Constraint, group_gap_constraint


def decision_boundary_covariance(bound: float | tuple[float, ...] = 0.05) -> Constraint:
    """``|DBC| - ε <= 0`` with ``DBC = E[(s - p̂₁) / (p̂₁(1 - p̂₁)) · h(x)]``.

    With s in {0, 1} this is exactly ``mean(h | s=1) - mean(h | s=0)``: a gap between logits,
    convex in the parameters of a linear model.

    Differs from the paper: its ``(s + 1)/2`` assumes s in {-1, 1}; the value is the same.

    Reference: Zafar et al., "Fairness Constraints: Mechanisms for Fair Classification", 2017.
    """
    return group_gap_constraint(
        "dbc", lambda logits, batch: logits, {"": lambda batch: batch.weight}, bound
    )
