"""What a constraint is, and the gap between a group and the others that all notions share."""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ffml.base import Array, Batch, FFMLError, Sides

LEAST_VARIANCE = 1e-4  # of logits that are all the same: what is relative to it stays finite


class Constraint(NamedTuple):
    """A fairness notion with m entries, given q contrasts (`Schema.contrasts`).

    ``evidence`` says how many rows an entry rests on: 1/(1/n₁ + 1/n₂) for sides of n₁ and n₂ rows.
    An entry that a batch cannot measure (a side of the comparison is missing) has gap 0 and
    evidence 0: it adds no violation and no gradient, and its multiplier stays.
    """

    entry_names: Callable[[tuple[str, ...]], tuple[str, ...]]  # contrasts -> m names
    gaps: Callable[[Array, Batch], Array]  # logits, batch -> (m,) signed
    judged_gaps: Callable[[Array, Batch], Array]  # the same, of what new tasks are judged by
    evidence: Callable[[Batch], Array]  # batch -> (m,) 0 where not measurable
    bounds: Callable[[int], Array]  # q -> (m,) the ε of each entry
    noise: Callable[[Array, Batch], Array]  # logits, batch -> (m,) mean |gap| by chance alone
    gap_variance: Callable[[Array, Batch], Array]  # logits, batch -> (m,) what chance adds to gap²
    sides: Callable[[Batch], Sides]  # batch -> who is compared in each entry


def group_gap(values: Array, members: Array, rows: Array) -> tuple[Array, Array]:
    """Mean of ``values`` over a group minus the mean over all others, for each contrast.

    Args:
        values: ``(n,)`` what is compared.
        members: ``(n, q)`` 0/1 memberships.
        rows: ``(n,)`` weights of the rows, 0 for those that do not count; or ``(n, q)``.

    Returns:
        ``(q,)`` gaps, 0 where one side is empty, and ``(q,)`` 1 where both sides have rows.
    """
    rows = jnp.reshape(rows, (len(members), -1))
    inside, outside = members * rows, (1 - members) * rows
    weight_inside, weight_outside = inside.sum(0), outside.sum(0)
    both = (weight_inside > 0) & (weight_outside > 0)
    mean_inside = values @ inside / jnp.where(both, weight_inside, 1)
    mean_outside = values @ outside / jnp.where(both, weight_outside, 1)
    return jnp.where(both, mean_inside - mean_outside, 0.0), both.astype(values.dtype)


def chance_gap(values: Array, members: Array, rows: Array, *, different: Array = 1.0) -> Array:
    """Mean size of the gap that chance alone makes: values unrelated to groups, as many rows.

    The difference of two means of ``n₁`` and ``n₂`` rows with variance v is nearly normal with
    variance ``v (1/n₁ + 1/n₂)``, and the mean size of a normal number is ``√(2/π)`` deviations.
    It is the constraint's counterpart of a metric's noise ceiling.

    Args:
        values: ``(n,)`` what is compared.
        members: ``(n, q)`` 0/1 memberships.
        rows: ``(n,)`` weights of the rows.
        different: ``(n,)`` how many different rows each of them is, see `effective_rows`.
    """
    inverse = _inverse_rows(members, rows, different)
    return jnp.sqrt(2 / jnp.pi * variance(values, rows) * inverse)


def gap_variance(values: Array, members: Array, rows: Array, *, different: Array = 1.0) -> Array:
    """Estimate how much of a squared gap is chance: the variance of a gap between so many rows.

    ``v (1/n₁ + 1/n₂)`` as in `chance_gap`, where v is estimated without bias (n rows have n - 1
    degrees of freedom): ``gap² - gap_variance`` is, on average, the square of the gap that many
    rows would show.

    Args:
        values: ``(n,)`` what is compared.
        members: ``(n, q)`` 0/1 memberships.
        rows: ``(n,)`` weights of the rows.
        different: ``(n,)`` how many different rows each of them is, see `effective_rows`.
    """
    count = effective_rows(rows[:, None], different=different)
    unbiased = variance(values, rows) * count / jnp.maximum(count - 1, 1)
    return unbiased * _inverse_rows(members, rows, different)


def variance(values: Array, rows: Array) -> Array:
    """Variance of ``values`` ``(n,)`` among rows of these weights ``(n,)``."""
    shares = rows / jnp.maximum(rows.sum(), 1e-30)
    return shares @ (values - shares @ values) ** 2


def effective_rows(weights: Array, *, different: Array = 1.0) -> Array:
    """Count the equally weighted rows whose mean is as uncertain as that of these: ``(q,)``.

    Rows that count differently are worth less than their number, ``(Σ w)²/Σ w²`` (Kish), and a row
    that was drawn twice is half a row each time.

    Args:
        weights: ``(n, q)``, each column a mean's.
        different: ``(n,)`` how many different rows each of them is, 1 for rows drawn once.

    >>> import numpy as np
    >>> effective_rows(np.array([[1.0], [1.0], [1.0], [1.0], [2.0]])).tolist()
    [4.5]
    >>> effective_rows(np.ones((10, 1)), different=0.2).tolist()
    [2.0]
    """
    spread = (weights**2).T @ (jnp.ones(len(weights)) / jnp.maximum(different, 1e-30))
    return jnp.where(spread > 0, weights.sum(0) ** 2 / jnp.maximum(spread, 1e-30), 0.0)


def _sides(members: Array, rows: Array, different: Array) -> tuple[Array, Array]:
    """Count the rows of each group and those of its rest: two arrays ``(q,)``."""
    inside, outside = members * rows[:, None], (1 - members) * rows[:, None]
    count = partial(effective_rows, different=different)
    return count(inside), count(outside)


def _inverse_rows(members: Array, rows: Array, different: Array) -> Array:
    """``1/n₁ + 1/n₂``, a side without rows counted as one row."""
    inside, outside = _sides(members, rows, different)
    return 1 / jnp.maximum(inside, 1) + 1 / jnp.maximum(outside, 1)


def _evidence(members: Array, rows: Array, different: Array) -> Array:
    """``1/(1/n₁ + 1/n₂)``, the rows that a gap rests on; 0 where a side is empty."""
    inside, outside = _sides(members, rows, different)
    return inside * outside / jnp.maximum(inside + outside, 1e-30)


def smooth_decision(temperature: float, relative: bool) -> Callable[[Array, Batch], Array]:
    """``σ(h/τ)``: a decision that has a slope.

    With ``relative``, τ is measured in standard deviations of the logits of the batch. The
    constraint then goes by the order of people and the threshold alone, and cannot be met by
    shrinking all logits, which makes mean probabilities equal and leaves decisions apart.
    """

    def score(logits: Array, batch: Batch) -> Array:
        unit = jnp.sqrt(variance(logits, batch.weight) + LEAST_VARIANCE) if relative else 1.0
        return jax.nn.sigmoid(logits / (temperature * unit))

    return score


def decision_gap_constraint(
    name: str,
    conditions: dict[str, Callable[[Batch], Array]],
    bound: float | tuple[float, ...],
    temperature: float = 1.0,
    relative: bool = False,
) -> Constraint:
    """Build the notion "groups are decided about alike among the rows of each condition".

    What is learned from are smooth decisions. With a relative temperature they are of the size of
    decisions, and those are what is judged on new tasks. An absolute one can be met by shrinking
    all logits; decisions then turn around at the slightest push, and a correction by their gaps
    would send them from one side to the other, so smooth decisions are judged as well.

    Args:
        name: how the constraint is called in records and reports.
        conditions: part name -> (batch -> ``(n,)`` weight of each row).
        bound: the ε of all entries, or one for each.
        temperature: τ of the smooth decision, see `smooth_decision`.
        relative: whether τ is in standard deviations of the logits.
    """
    smooth = smooth_decision(temperature, relative)
    judged = decision if relative else smooth
    return group_gap_constraint(name, smooth, conditions, bound, judged)


def decision(logits: Array, batch: Batch) -> Array:
    """1 where the logit is above 0."""
    return (logits > 0) * 1.0


def group_gap_constraint(
    name: str,
    score: Callable[[Array, Batch], Array],
    conditions: dict[str, Callable[[Batch], Array]],
    bound: float | tuple[float, ...],
    judged: Callable[[Array, Batch], Array] | None = None,
) -> Constraint:
    """Build the notion "groups have the same mean score among the rows of each condition".

    Args:
        name: how the constraint is called in records and reports.
        score: logits, batch -> what is compared.
        conditions: part name -> (batch -> ``(n,)`` weight of each row).
        bound: the ε of all entries, or one for each.
        judged: logits, batch -> what the score stands for and has no slope, such as `decision`;
            by default the score itself.
    """
    validate_bound(name, bound)

    def entry_names(contrasts: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(
            f"{name}[{', '.join(filter(None, (contrast, part)))}]"
            for part in conditions
            for contrast in contrasts
        )

    def gaps(logits: Array, batch: Batch, score: Callable = score) -> Array:
        values = score(logits, batch)
        return jnp.concatenate(
            [group_gap(values, batch.s, rows(batch))[0] for rows in conditions.values()]
        )

    def evidence(batch: Batch) -> Array:
        return jnp.concatenate(
            [_evidence(batch.s, rows(batch), batch.different) for rows in conditions.values()]
        )

    def by_chance(logits: Array, batch: Batch, what: Callable) -> Array:
        values = score(logits, batch)
        return jnp.concatenate(
            [
                what(values, batch.s, rows(batch), different=batch.different)
                for rows in conditions.values()
            ]
        )

    def sides(batch: Batch) -> Sides:
        rows = [jnp.broadcast_to(r(batch)[:, None], batch.s.shape) for r in conditions.values()]
        return Sides(jnp.concatenate(rows, -1), jnp.tile(batch.s, len(conditions)))

    def bounds(num_contrasts: int) -> Array:
        entries = len(conditions) * num_contrasts
        given = jnp.asarray(bound, float)
        if given.ndim and given.shape != (entries,):
            raise FFMLError(f"{name} has {entries} entries here: give one bound or {entries}")
        return jnp.broadcast_to(given, (entries,))

    return Constraint(
        entry_names,
        gaps,
        partial(gaps, score=judged or score),
        evidence,
        bounds,
        partial(by_chance, what=chance_gap),
        partial(by_chance, what=gap_variance),
        sides,
    )


def validate_bound(name: str, bound: float | tuple[float, ...]) -> None:
    """Refuse a negative or undefined bound (a traced one is the caller's business)."""
    if not isinstance(bound, jax.core.Tracer) and not np.all(np.asarray(bound) >= 0):
        raise FFMLError(f"bound of {name} must be >= 0, got {bound}")


def combine(*constraints: Constraint) -> Constraint:
    """Ask for several notions at once; each keeps its own bounds and multipliers."""
    return Constraint(
        lambda contrasts: tuple(n for c in constraints for n in c.entry_names(contrasts)),
        lambda logits, batch: jnp.concatenate([c.gaps(logits, batch) for c in constraints]),
        lambda logits, batch: jnp.concatenate([c.judged_gaps(logits, batch) for c in constraints]),
        lambda batch: jnp.concatenate([c.evidence(batch) for c in constraints]),
        lambda num_contrasts: jnp.concatenate([c.bounds(num_contrasts) for c in constraints]),
        lambda logits, batch: jnp.concatenate([c.noise(logits, batch) for c in constraints]),
        lambda logits, batch: jnp.concatenate([c.gap_variance(logits, batch) for c in constraints]),
        lambda batch: jax.tree.map(
            lambda *parts: jnp.concatenate(parts, -1), *(c.sides(batch) for c in constraints)
        ),
    )
