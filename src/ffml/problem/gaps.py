"""Gaps between groups: what every constraint is made of, and what rows say of parameters.

All functions return one number for each of the m entries: notion by notion, condition by condition,
contrast by contrast, in the order of `Problem.constraint_names`.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ffml.base import Array, Band, Batch, Constraint, Params, Problem


class Measures(NamedTuple):
    """What a batch says of parameters."""

    loss: Array  # () f
    constraint: Array  # (m,) g, 0 where not measurable
    gaps: Array  # (m,) signed gaps, 0 where not measurable
    higher: Array  # (m,) the higher mean score of the two sides, 0 where not measurable
    logits: Array  # (n,)


def measures(problem: Problem, params: Params, batch: Batch) -> Measures:
    """Measure loss, constraints and gaps together, by one pass through the model.

    Slopes of a sum of these take one pass back through the model as well. If loss and constraint
    called the model each by itself, they would take two, and slopes of slopes four.
    """
    logits = problem.apply(params, batch.x)
    loss = problem.cost(params, logits, batch, problem.positive_weight)
    return Measures(loss, *_constrained(problem, logits, batch), logits)


def gaps(problem: Problem, params: Params, batch: Batch) -> Array:
    """Return the signed gaps of the scores that are learned from; 0 where not measurable."""
    return _score_gaps(problem, problem.apply(params, batch.x), batch)


def judged_gaps(problem: Problem, logits: Array, batch: Batch) -> Array:
    """Return the signed gaps of what the scores stand for, such as decisions, of any logits."""
    return _by_entry(problem, batch, lambda c, rows: _gap(c.judged(logits, batch), batch, rows))


def judged_higher_rates(problem: Problem, logits: Array, batch: Batch) -> Array:
    """Return the same of what the scores stand for, such as the higher rate of decisions."""
    return _by_entry(problem, batch, lambda c, rows: _higher(c.judged(logits, batch), batch, rows))


def constraint(problem: Problem, params: Params, batch: Batch) -> Array:
    """Return g of the paper, feasible where ``g <= 0``; 0 where not measurable."""
    return _constrained(problem, problem.apply(params, batch.x), batch)[0]


def violation(problem: Problem, gaps: Array, higher: Array) -> Array:
    """Return by how much gaps exceed their bounds: ``|gap - center| - width - share · higher``."""
    center, width, share = bounds(problem)
    beyond = jnp.abs(gaps - center) - width
    if isinstance(share, np.ndarray) and not share.any():
        return beyond  # compiled programs compute no higher rates, and no slopes of them
    return beyond - share * higher


def bounds(problem: Problem) -> Band:
    """Return where the signed gaps may lie."""
    contrasts = len(problem.schema.contrasts)
    bands = [_band(constraint, contrasts) for constraint in problem.constraints]
    nothing = np.zeros(0, _float())
    empty = Band(nothing, nothing, nothing)
    return Band(*(_joined(parts) for parts in zip(empty, *bands, strict=True)))


def shifted(problem: Problem, shift: Array) -> Problem:
    """Bound ``gap + shift`` instead of the gap: a part of each is still to come."""
    moved, first = [], 0
    for c in problem.constraints:
        center, width, share = _band(c, len(problem.schema.contrasts))
        last = first + len(center)
        moved.append(c._replace(bound=Band(center - shift[first:last], width, share)))
        first = last
    return problem._replace(constraints=tuple(moved))


def effective_rows(problem: Problem, batch: Batch) -> Array:
    """Count the rows that each gap rests on: ``1/(1/n₁ + 1/n₂)``; 0 where a side is empty."""
    return _by_entry(problem, batch, lambda c, rows: _rows_behind(batch, rows))


def measurable(problem: Problem, batch: Batch) -> Array:
    """Tell which entries a batch can measure: ``(m,)`` 0. or 1."""
    return (effective_rows(problem, batch) > 0) * 1.0


def gap_variance(problem: Problem, logits: Array, batch: Batch) -> Array:
    """Estimate how much of a squared gap is chance.

    The difference of two means of ``n₁`` and ``n₂`` rows with variance v has the variance
    ``v (1/n₁ + 1/n₂)``. v is estimated without bias, so that ``gap² - gap_variance`` is, on
    average, the square of the gap that many rows would show.
    """

    def by_chance(c: Constraint, rows: Array) -> Array:
        count = row_count(rows[:, None], batch.distinct_share)
        v = variance(c.score(logits, batch), rows) * count / jnp.maximum(count - 1, 1)
        inside, outside = _sides(batch, rows)
        return v * (1 / jnp.maximum(inside, 1) + 1 / jnp.maximum(outside, 1))

    return _by_entry(problem, batch, by_chance)


def row_count(weights: Array, distinct_share: Array = 1.0) -> Array:
    """Count the equally weighted rows whose mean is as uncertain as that of these: ``(q,)``.

    Rows that count differently are worth less than their number, ``(Σ w)²/Σ w²`` (Kish), and a row
    that was drawn twice is half a row each time.

    Args:
        weights: ``(n, q)``, each column a mean's.
        distinct_share: ``(n,)`` 1 / the number of times a row was drawn.

    >>> import numpy as np
    >>> row_count(np.array([[1.0], [1.0], [1.0], [1.0], [2.0]])).tolist()
    [4.5]
    >>> row_count(np.ones((10, 1)), 0.2).tolist()
    [2.0]
    """
    spread = (weights**2).T @ (jnp.ones(len(weights)) / jnp.maximum(distinct_share, 1e-30))
    return jnp.where(spread > 0, weights.sum(0) ** 2 / jnp.maximum(spread, 1e-30), 0.0)


def variance(values: Array, rows: Array) -> Array:
    """Variance of ``values`` ``(n,)`` among rows of these weights ``(n,)``."""
    shares = rows / jnp.maximum(rows.sum(), 1e-30)
    return shares @ (values - shares @ values) ** 2


def _constrained(problem: Problem, logits: Array, batch: Batch) -> tuple[Array, Array, Array]:
    """Return g, the gaps and the higher rates of the scores that are learned from."""
    gaps = _score_gaps(problem, logits, batch)
    higher = _by_entry(problem, batch, lambda c, rows: _higher(c.score(logits, batch), batch, rows))
    known = effective_rows(problem, batch) > 0
    return jnp.where(known, violation(problem, gaps, higher), 0.0), gaps, higher


def _score_gaps(problem: Problem, logits: Array, batch: Batch) -> Array:
    return _by_entry(problem, batch, lambda c, rows: _gap(c.score(logits, batch), batch, rows))


def _conditions(problem: Problem, batch: Batch) -> Iterator[tuple[Constraint, Array]]:
    for c in problem.constraints:
        for condition in c.conditions:
            yield c, condition.rows(batch)


def _by_entry(
    problem: Problem, batch: Batch, measure: Callable[[Constraint, Array], Array]
) -> Array:
    """Put ``measure`` of each condition, ``(contrasts,)``, one behind the other."""
    parts = [measure(c, rows) for c, rows in _conditions(problem, batch)]
    return jnp.concatenate(parts) if parts else jnp.zeros(0)


def _band(c: Constraint, contrasts: int) -> Band:
    """Write a notion's bound out for each of its entries."""
    entries = len(c.conditions) * contrasts
    return Band(*(_repeated(part, entries) for part in c.bound))


def _repeated(part: Array, entries: int) -> Array:
    """Write a bound out for all entries, with JAX only where it is traced or computed."""
    library = jnp if isinstance(part, jax.Array) else np
    return library.broadcast_to(library.asarray(part, _float()), (entries,))


def _joined(parts: tuple[Array, ...]) -> Array:
    """Put bounds one behind the other.

    They are mostly numbers that somebody gave, for which NumPy is a hundred times as fast.
    """
    given = all(isinstance(part, np.ndarray) for part in parts)
    return np.concatenate(parts) if given else jnp.concatenate(parts)


def _float() -> np.dtype:
    """Return what floats are in compiled programs."""
    return jax.dtypes.canonicalize_dtype(float)


def _means(values: Array, members: Array, rows: Array) -> tuple[Array, Array]:
    """Average ``values`` over each group and over all others; 0 where one side is empty."""
    rows = jnp.reshape(rows, (len(members), -1))
    inside, outside = members * rows, (1 - members) * rows
    weight_inside, weight_outside = inside.sum(0), outside.sum(0)
    both = (weight_inside > 0) & (weight_outside > 0)
    mean_inside = values @ inside / jnp.where(both, weight_inside, 1)
    mean_outside = values @ outside / jnp.where(both, weight_outside, 1)
    return jnp.where(both, mean_inside, 0.0), jnp.where(both, mean_outside, 0.0)


def _higher(values: Array, batch: Batch, rows: Array) -> Array:
    return jnp.maximum(*_means(values, batch.s, rows))


def _gap(values: Array, batch: Batch, rows: Array) -> Array:
    """Mean of ``values`` over each group minus the mean over all others."""
    inside, outside = _means(values, batch.s, rows)
    return inside - outside


def _sides(batch: Batch, rows: Array) -> tuple[Array, Array]:
    """Count the rows of each group and those of its rest: two arrays ``(q,)``."""
    inside, outside = batch.s * rows[:, None], (1 - batch.s) * rows[:, None]
    return row_count(inside, batch.distinct_share), row_count(outside, batch.distinct_share)


def _rows_behind(batch: Batch, rows: Array) -> Array:
    inside, outside = _sides(batch, rows)
    return inside * outside / jnp.maximum(inside + outside, 1e-30)
