"""Decisions under a price on gaps: who is decided positively, and which prices keep the bounds.

A positive decision about a person gains ``w p/π - (1 - p)/(1 - π)``, with p the probability of
label 1, π its rate in the task and w the positive weight: without constraints, whoever has a gain
is decided positively. It moves the expected gap i by ``u_i = q/Q - (1 - q)/(1 - Q)``, with q the
probability that the person belongs to the group and Q the mean of q. With prices c the rule is

    positive  where  w p/π - (1 - p)/(1 - π) - Σ_i c_i u_i > 0

All functions take NumPy arrays as well as those of JAX.
"""

from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import lax

from ffml.base import Array, Batch, Problem
from ffml.problem.gaps import bounds
from ffml.wrappers.membership import Membership, shares

BISECTIONS = 30
SWEEPS = 6  # over several entries, each solved while the others stay
HIGHEST_PRICE = 8.0  # in largest gains over typical influences: beyond it nobody's gain counts
ROUNDING = 1e-5  # in highest prices: this much more, or people at the threshold fall on either side
LEAST_INFLUENCE = 1e-4  # where features tell less than that of groups, there is nothing to price


class Prices(NamedTuple):
    """A price on each gap, and what is needed to tell a person's influence on it."""

    price: Array  # (m,) c
    inside: Array  # (m,) share of the people who count in a comparison and belong to its group
    outside: Array  # (m,) and of those who count and do not belong to it


class Population(NamedTuple):
    """What is known of a task's people besides their features."""

    membership: Membership  # how features tell groups
    positive_rate: Array  # () π


def described(problem: Problem, own: Population, logits: Array, x: Array, weight: Array) -> Batch:
    """Describe people by what is to be expected of them: probabilities of label and groups."""
    there = (weight > 0) * 1.0
    xp = _namespace(x)
    natural = (logits + _prior(problem, own.positive_rate, xp)).clip(-30, 30)
    return Batch(
        x=x,
        y=1 / (1 + xp.exp(-natural)),
        s=shares(own.membership, x),
        mask=there,
        weight=weight,
        pool_size=there.sum(),
    )


def influence(problem: Problem, prices: Prices, people: Batch) -> Array:
    """Return u: what each person's decision counts in each expected gap, ``(n, m)``."""
    counts, members = _compared(problem, people)
    both = (prices.inside > 0) & (prices.outside > 0)
    inside, outside = prices.inside + (1 - both), prices.outside + (1 - both)
    return both * counts * (members / inside - (1 - members) / outside)


def smallest_prices(problem: Problem, own: Population, people: Batch, bias: Array) -> Prices:
    """Find the smallest prices with which expected gaps keep their bounds, by bisection.

    Args:
        problem: its constraints, and what a missed positive costs.
        own: what is known of the task.
        people: those to be decided about, see `described`.
        bias: ``(m,)`` what is added to expected gaps: how far off they were so far.
    """
    share = people.weight / jnp.maximum(people.weight.sum(), 1e-30)
    nothing = Prices(jnp.zeros(problem.num_constraints), *_sides(problem, people, share))
    effect = influence(problem, nothing, people)
    gain = _gain(problem, own, people.y)
    center, width = bounds(problem)
    center = center - bias
    size = jnp.sqrt(share @ effect**2)
    told = size > LEAST_INFLUENCE
    highest = HIGHEST_PRICE * jnp.max(jnp.abs(gain) * people.mask) / jnp.where(told, size, 1.0)

    def gap(price: Array, i: Array) -> Array:
        positive = (gain - effect @ price > 0) * share
        return positive @ effect[:, i] - center[i]

    def solve(k: Array, price: Array) -> Array:
        i = k % len(price)
        free = price.at[i].set(0.0)
        start = gap(free, i)
        sign = jnp.sign(start)

        def halve(_: Array, ends: tuple[Array, Array]) -> tuple[Array, Array]:
            low, high = ends
            middle = (low + high) / 2
            enough = sign * gap(free.at[i].set(sign * middle), i) <= width[i]
            return jnp.where(enough, low, middle), jnp.where(enough, middle, high)

        low, high = lax.fori_loop(0, BISECTIONS, halve, (jnp.zeros(()), highest[i]))
        margin = ROUNDING * highest[i]
        before = free.at[i].set(sign * jnp.maximum(low - margin, 0.0))
        after = free.at[i].set(sign * (high + margin))
        # Where many people are alike, the gap may jump across the bound: take the nearer side.
        nearer = jnp.where(jnp.abs(gap(after, i)) <= jnp.abs(gap(before, i)), after, before)
        needed = told[i] & (jnp.abs(start) > width[i])
        return jnp.where(needed, nearer, free)

    entries = len(nothing.price)
    solves = entries * (SWEEPS if entries > 1 else 1)
    return nothing._replace(price=lax.fori_loop(0, solves, solve, nothing.price))


def priced_logits(problem: Problem, own: Population, prices: Prices, people: Batch) -> Array:
    """Return logits that are above 0 where the rule decides positively."""
    xp, rate = _namespace(people.x), own.positive_rate
    unit = problem.positive_weight / rate + 1 / (1 - rate)  # the gain is linear in p
    moved = people.y - influence(problem, prices, people) @ prices.price / unit
    moved = moved.clip(1e-6, 1 - 1e-6)
    return xp.log(moved / (1 - moved)) - _prior(problem, rate, xp)


def _gain(problem: Problem, own: Population, p: Array) -> Array:
    rate = own.positive_rate
    return problem.positive_weight * p / rate - (1 - p) / (1 - rate)


def _prior(problem: Problem, rate: Array, xp: Any) -> Array:
    """Return what logits of labels drawn evenly lack to be those of the task's label rate."""
    return xp.log(rate / (1 - rate) / problem.positive_weight)


def _sides(problem: Problem, people: Batch, share: Array) -> tuple[Array, Array]:
    counts, members = _compared(problem, people)
    return share @ (counts * members), share @ (counts * (1 - members))


def _compared(problem: Problem, people: Batch) -> tuple[Array, Array]:
    """Return whether a person counts in a comparison, and belongs to its group: ``(n, m)`` each."""
    everybody = people._replace(weight=0 * people.y + 1)
    rows = [part.rows(everybody) for c in problem.constraints for part in c.conditions]
    joined = _namespace(people.x).concatenate
    counts = joined([r[:, None] + 0 * people.s for r in rows], axis=-1)
    return counts, joined([people.s] * len(rows), axis=-1)


def _namespace(x: Array) -> Any:
    """Compute with NumPy where NumPy arrays come in."""
    return np if isinstance(x, np.ndarray) else jnp
