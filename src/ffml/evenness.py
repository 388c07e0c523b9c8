"""How even decisions are, and how even decisions about people of uncertain groups will be.

The ratio of a comparison is the lower of the two rates of positive decisions over the higher. Among
few people it is below 1 by chance alone, so what counts is how it compares with that of decisions
that have nothing to do with groups, as a metric is divided by its noise ceiling.
"""

import jax
import jax.numpy as jnp
from jax import lax

from ffml.base import Array, Batch, Params, Problem, Sides
from ffml.constraints import group_gap

NUM_DRAWS = 256  # of groups
DRAWS_AT_ONCE = 32


def decision_gaps(problem: Problem, params: Params, batch: Batch) -> Array:
    """Return the rates of positive decisions of groups minus those of the others: ``(m,)``."""
    rows, members = problem.sides(batch)
    return group_gap((problem.apply(params, batch.x) > 0) * 1.0, members, rows)[0]


def expected_evenness(
    decisions: Array, people: Batch, sides: Sides, missed: float | Array = 0.0
) -> Array:
    """Tell how even decisions will probably be, beside decisions unrelated to the groups.

    With groups (and labels, where a comparison asks for them) drawn from what is known of the
    people, and drawn once more as if nobody's features told anything::

        evenness = E min_i ratio_i(groups) / E min_i ratio_i(groups by chance)

    It is about 1 for decisions that have nothing to do with groups, and 0 for decisions that are
    all the same. In a draw, comparisons without one of their sides or without any positive decision
    do not count. Each comparison is drawn by itself, so that this is what DP / ceiling is to be
    expected for two groups, and near to it for more.

    Args:
        decisions: ``(p, n)`` p ways to decide about n people.
        people: what is known of them, see `ffml.evening.expected_people`.
        sides: who of them is compared, by shares.
        missed: ``(m,)`` by how much gaps have been larger than expected so far.

    Returns:
        ``(p,)``
    """
    decided, there, (rows, members) = decisions * 1.0, people.weight > 0, sides
    likely = rows / jnp.maximum(people.weight.max(), 1e-30)
    by_chance = (rows * members).sum(0) / jnp.maximum(rows.sum(0), 1e-30)

    def draw(key: Array) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
        keys = jax.random.split(key, 3)
        counted, grouped, shuffled = (
            jax.random.bernoulli(k, p, rows.shape) * 1.0
            for k, p in zip(keys, (likely, members, by_chance), strict=True)
        )
        return (
            _smallest_ratio(decided, Sides(counted, grouped), missed),
            _smallest_ratio(decided, Sides(counted, shuffled)),
        )

    # Any key would do, but with one that is known when the program is compiled the compiler would
    # draw all the numbers.
    keys = jax.random.split(jax.random.fold_in(jax.random.key(0), people.pool), NUM_DRAWS)
    drawn = lax.map(draw, keys, batch_size=DRAWS_AT_ONCE)
    expected, by_chance_alone = (_mean_where(*ratios) for ratios in drawn)
    differ = (there & (decided > 0)).any(-1) & (there & (decided == 0)).any(-1)
    return jnp.where(differ, expected / jnp.maximum(by_chance_alone, 1e-30), 0.0)


def _smallest_ratio(
    decisions: Array, sides: Sides, missed: float | Array = 0.0
) -> tuple[Array, Array]:
    """Return the smallest ratio of a comparison, and whether there is any: two times ``(p,)``."""
    (inside, outside), both = _means(decisions, sides)
    measurable = both & (jnp.maximum(inside, outside) > 0)  # (p, m)
    inside, outside = jnp.clip(inside + missed / 2, 0, 1), jnp.clip(outside - missed / 2, 0, 1)
    higher = jnp.maximum(jnp.maximum(inside, outside), 1e-30)
    ratio = jnp.where(measurable, jnp.minimum(inside, outside) / higher, 1.0)
    return ratio.min(-1), measurable.any(-1)


def _mean_where(values: Array, there: Array) -> Array:
    """Average values ``(draws, p)`` over the draws that are there; 1 if none is."""
    mean = (there * values).sum(0) / jnp.maximum(there.sum(0), 1)
    return jnp.where(there.any(0), mean, 1.0)


def _means(values: Array, sides: Sides) -> tuple[tuple[Array, Array], Array]:
    """Average values ``(p, n)`` over both sides, and tell whether both have rows ``(m,)``."""
    inside, outside = sides.rows * sides.members, sides.rows * (1 - sides.members)
    sizes = inside.sum(0), outside.sum(0)
    means = (
        values @ inside / jnp.maximum(sizes[0], 1e-30),
        values @ outside / jnp.maximum(sizes[1], 1e-30),
    )
    return means, jnp.minimum(*sizes) > 0
