"""Class-balanced, disjoint support and query draws, under jit."""

from functools import partial

import jax
import jax.numpy as jnp
from jax import lax

from ffml.base import Array, Batch, LabelledTask

MOST_PACKED_ROWS = 4096  # leaves 19 random bits: two of so many rows are rarely told by position


def draw_support_and_query(key: Array, task: LabelledTask, shots: int) -> tuple[Batch, Batch]:
    """Draw ``shots`` rows of each class for support and as many others for query.

    A class with at least ``2 shots`` rows is drawn without replacement. A smaller one is split
    at random into halves first, and each half is drawn with replacement; a half without rows is
    masked.
    """
    key_order, key_draw = jax.random.split(key)
    places, distinct = jax.vmap(partial(_draw_class, shots=shots))(  # leading axes: class, part
        jax.random.split(key_draw), task.counts
    )
    first = jnp.array([0, task.counts[0]])[:, None, None]  # negatives are in front
    order = _random_order(key_order, task.counts, task.x.shape[0])
    drawn = jnp.swapaxes(first + places, 0, 1).ravel()  # one gather for both parts
    rows = order[jnp.minimum(drawn, len(order) - 1)]  # a class without rows may begin after the end
    x, s = jnp.asarray(task.x)[rows], jnp.asarray(task.s)[rows]
    labels = jnp.repeat(jnp.array([0.0, 1.0]), shots)
    size = task.totals.sum()
    weight = jnp.repeat(task.totals / jnp.maximum(size, 1), shots)
    pool_size = (size + 1) // 2

    def batch(part: int, pool_size: Array) -> Batch:
        here = slice(2 * shots * part, 2 * shots * (part + 1))
        worth = jnp.repeat(distinct[:, part], shots)
        mask = (worth > 0) * 1.0
        return Batch(x[here], labels, s[here], mask, mask * weight, pool_size, worth)

    return batch(0, pool_size), batch(1, size - pool_size)


def _draw_class(key: Array, count: Array, *, shots: int) -> tuple[Array, Array]:
    """Draw support and query rows among the ``count`` rows of one class, in random order.

    Returns:
        ``(2, shots)`` places in that order, for support and for query, and ``(2,)`` 1 / the times
        that each was drawn, on average; 0 if there are none.
    """
    half = (count + 1) // 2
    halves = jnp.array([half, count - half])
    several = jax.vmap(partial(_with_replacement, shots=shots))(jax.random.split(key), halves)
    once = jnp.arange(2 * shots).reshape(2, shots)
    enough = count >= 2 * shots
    places = jnp.where(enough, once, several + jnp.array([0, half])[:, None])
    return places, jnp.where(enough, 1.0, _worth(halves, shots))


def _random_order(key: Array, counts: Array, num_rows: int) -> Array:
    """Put the rows of each class into random order: negatives first, then positives, then padding.

    One sort serves both classes. A number with the class in its highest bit, random bits below and
    the row in its low bits is one array to sort, which takes a fifth of the time of an argsort.
    Where rows leave too few random bits, they are sorted along with 64 of their own.
    """
    rows = jnp.arange(num_rows, dtype=jnp.uint32)

    def by_class(bits: Array) -> Array:
        positive = (rows >= counts[0]).astype(jnp.uint32) << 31
        return jnp.where(rows < counts.sum(), bits >> 1 | positive, ~jnp.uint32(0))

    if num_rows > MOST_PACKED_ROWS:
        first, second = (jax.random.bits(k, (num_rows,), jnp.uint32) for k in jax.random.split(key))
        second = jnp.where(rows < counts.sum(), second, ~jnp.uint32(0))  # no tie puts padding first
        return lax.sort((by_class(first), second, rows), num_keys=2)[2].astype(int)
    low = jnp.uint32((1 << max(num_rows - 1, 1).bit_length()) - 1)
    ranks = by_class(jax.random.bits(key, (num_rows,), jnp.uint32))
    return (jnp.sort((ranks & ~low) | rows) & low).astype(int)


def _with_replacement(key: Array, count: Array, shots: int) -> Array:
    return jax.random.randint(key, (shots,), 0, jnp.maximum(count, 1))


def _worth(count: Array, shots: int) -> Array:
    """Count the people that each of ``shots`` draws with replacement from ``count`` is worth.

    The mean of n draws from m people is as uncertain as that of ``nm/(n + m - 1)`` people.
    """
    return count / jnp.maximum(count + shots - 1, 1)
