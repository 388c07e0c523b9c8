"""Fairness constraints: one notion = one file, all of the form ``|gap| - bound <= 0``."""

from collections.abc import Callable

from ffml.constraints._base import (
    Constraint,
    chance_gap,
    combine,
    decision,
    decision_gap_constraint,
    effective_rows,
    gap_variance,
    group_gap,
    group_gap_constraint,
    smooth_decision,
)
from ffml.constraints._decision_boundary_covariance import decision_boundary_covariance
from ffml.constraints._demographic_parity import demographic_parity
from ffml.constraints._equal_opportunity import equal_opportunity
from ffml.constraints._equalized_odds import equalized_odds

CONSTRAINTS: dict[str, Callable[..., Constraint]] = {
    "dbc": decision_boundary_covariance,
    "demographic-parity": demographic_parity,
    "equal-opportunity": equal_opportunity,
    "equalized-odds": equalized_odds,
}

__all__ = [
    "CONSTRAINTS",
    "Constraint",
    "chance_gap",
    "combine",
    "decision",
    "decision_boundary_covariance",
    "decision_gap_constraint",
    "demographic_parity",
    "effective_rows",
    "equal_opportunity",
    "equalized_odds",
    "gap_variance",
    "group_gap",
    "group_gap_constraint",
    "smooth_decision",
]
