"""Fairness notions: factories of constraints, all of the form ``|gap| - bound <= 0``.

A bound is ``gap(0.05)`` or just 0.05, or ``ratio(0.8)``: the lower rate is at least 80 % of the
higher, which is ``|gap| - 0.2 · higher rate <= 0``.
"""

from collections.abc import Callable, Mapping

import jax
import jax.numpy as jnp
import numpy as np

from ffml.base import Array, Band, Batch, Condition, Constraint, FFMLError
from ffml.problem.gaps import variance

__all__ = [
    "CONSTRAINTS",
    "decision_boundary_covariance",
    "decision_constraint",
    "demographic_parity",
    "equal_opportunity",
    "equalized_odds",
    "gap",
    "ratio",
    "score_constraint",
]

LEAST_VARIANCE = 1e-4  # of logits that are all the same: what is relative to it stays finite

Bound = float | tuple[float, ...] | Band
Conditions = Mapping[str, Callable[[Batch], Array]]


def gap(largest: float | tuple[float, ...]) -> Band:
    """Bound ``|gap|``: one number for all entries of a notion, or one for each.

    >>> demographic_parity(gap(0.05)).bound == demographic_parity(0.05).bound
    True
    """
    if not isinstance(largest, jax.core.Tracer):
        values = np.asarray(largest, float)
        if not (np.isfinite(values).all() and (values >= 0).all()):
            raise FFMLError(f"a gap must be >= 0, got {largest}")
    return Band(0.0, largest)


def ratio(least: float) -> Band:
    """Bound the lower rate by a share of the higher one; 0.8 is the four-fifths rule.

    >>> round(demographic_parity(ratio(0.8)).bound.share, 3)
    0.2
    """
    if not 0 < least <= 1:
        raise FFMLError(f"a ratio must be above 0 and at most 1, got {least}")
    return Band(0.0, 0.0, 1 - least)


def demographic_parity(
    bound: Bound = 0.05, temperature: float = 1.0, relative: bool = True
) -> Constraint:
    """``|mean(ŷ | s=1) - mean(ŷ | s=0)| - ε <= 0``, learned from smooth decisions.

    It speaks of decisions rather than logits: a gap between logits can be closed by a few rows
    far from the boundary while the decisions stay as unequal as before.

    Reference: Lohaus, Perrot & von Luxburg, "Too Relaxed to Be Fair", 2020.
    """
    everybody = {"": lambda batch: batch.weight}
    return decision_constraint("demographic-parity", everybody, bound, temperature, relative)


def equal_opportunity(
    bound: Bound = 0.05, temperature: float = 1.0, relative: bool = True
) -> Constraint:
    """``|mean(ŷ | s=1, y=1) - mean(ŷ | s=0, y=1)| - ε <= 0``, learned from smooth decisions.

    Reference: Hardt, Price & Srebro, "Equality of Opportunity in Supervised Learning", 2016.
    """
    positives = {"": lambda batch: batch.weight * batch.y}
    return decision_constraint("equal-opportunity", positives, bound, temperature, relative)


def equalized_odds(
    bound: Bound = 0.05, temperature: float = 1.0, relative: bool = True
) -> Constraint:
    """``|mean(ŷ | s=1, y) - mean(ŷ | s=0, y)| - ε <= 0`` for y = 0 and for y = 1.

    Two entries for each comparison of groups: those of y = 0 come first.

    >>> [condition.name for condition in equalized_odds(0.05).conditions]
    ['y=0', 'y=1']

    Reference: Hardt, Price & Srebro, "Equality of Opportunity in Supervised Learning", 2016.
    """
    by_label = {
        "y=0": lambda batch: batch.weight * (1 - batch.y),
        "y=1": lambda batch: batch.weight * batch.y,
    }
    return decision_constraint("equalized-odds", by_label, bound, temperature, relative)


def decision_boundary_covariance(bound: Bound = 0.05) -> Constraint:
    """``|DBC| - ε <= 0`` with ``DBC = E[(s - p̂₁) / (p̂₁(1 - p̂₁)) · h(x)]`` (Eq. 1–2).

    With s in {0, 1} this is exactly ``mean(h | s=1) - mean(h | s=0)``: a gap between logits,
    convex in the parameters of a linear model.

    Differs from the paper: its ``(s + 1)/2`` assumes s in {-1, 1}; the value is the same.

    Reference: Zafar et al., "Fairness Constraints: Mechanisms for Fair Classification", 2017.
    """
    everybody = {"": lambda batch: batch.weight}
    return score_constraint("dbc", everybody, bound, lambda logits, batch: logits)


CONSTRAINTS: dict[str, Callable[..., Constraint]] = {
    "dbc": decision_boundary_covariance,
    "demographic-parity": demographic_parity,
    "equal-opportunity": equal_opportunity,
    "equalized-odds": equalized_odds,
}


def decision_constraint(
    name: str,
    conditions: Conditions,
    bound: Bound,
    temperature: float = 1.0,
    relative: bool = True,
) -> Constraint:
    """Build the notion "groups are decided about alike among the rows of each condition".

    What is learned from are smooth decisions ``σ(h/τ)``. With ``relative``, τ is measured in
    standard deviations of the batch's logits: the constraint then goes by the order of people and
    the threshold, and what is judged on new tasks are decisions. With an absolute τ it can also be
    met by shrinking all logits, after which decisions turn around at the slightest push; so smooth
    decisions are judged as well.

    Args:
        name: how the notion is called in records and reports.
        conditions: part name -> (batch -> ``(n,)`` weight of each row).
        bound: the largest gap wanted, one for all entries or one for each; or a `ratio`.
        temperature: τ, how smooth the decisions learned from are; small is nearly yes or no.
        relative: whether τ is in standard deviations of the logits.

    >>> approved_before = {"": lambda batch: batch.weight * (batch.x[:, 0] > 0)}
    >>> decision_constraint("approved before", approved_before, 0.05).name
    'approved before'
    """
    if not isinstance(temperature, jax.core.Tracer) and not temperature > 0:
        raise FFMLError(f"temperature must be > 0, got {temperature}")

    def smooth(logits: Array, batch: Batch) -> Array:
        unit = jnp.sqrt(variance(logits, batch.weight) + LEAST_VARIANCE) if relative else 1.0
        return jax.nn.sigmoid(logits / (temperature * unit))

    return score_constraint(name, conditions, bound, smooth, decision if relative else smooth)


def score_constraint(
    name: str,
    conditions: Conditions,
    bound: Bound,
    score: Callable[[Array, Batch], Array],
    judged: Callable[[Array, Batch], Array] | None = None,
) -> Constraint:
    """Build the notion "groups have the same mean score among the rows of each condition".

    Args:
        name: how the notion is called in records and reports.
        conditions: part name -> (batch -> ``(n,)`` weight of each row).
        bound: the largest gap wanted, one for all entries or one for each; or a `ratio`.
        score: logits, batch -> what is compared while learning.
        judged: logits, batch -> what the score stands for and has no slope, such as `decision`;
            by default the score itself.
    """
    band = bound if isinstance(bound, Band) else gap(bound)
    parts = tuple(Condition(part, rows) for part, rows in conditions.items())
    return Constraint(name, parts, band, score, judged or score)


def decision(logits: Array, batch: Batch) -> Array:
    """1 where the logit is above 0."""
    return (logits > 0) * 1.0


def as_drawn(constraint: Constraint) -> Constraint:
    """Compare the rows as they were drawn, evenly by label, as the paper does."""

    def drawn(condition: Condition) -> Condition:
        return condition._replace(
            rows=lambda batch: condition.rows(batch._replace(weight=batch.mask))
        )

    return constraint._replace(conditions=tuple(map(drawn, constraint.conditions)))
