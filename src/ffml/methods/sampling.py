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
    num_rows = task.x.shape[0]
    draw = jax.vmap(partial(_draw_class, num_rows=num_rows, shots=shots))  # one program for both
    places, distinct = draw(jax.random.split(key), task.counts)  # leading axes: class, part
    first = jnp.array([0, task.counts[0]])[:, None, None]  # negatives are in front
    rows = jnp.swapaxes(first + places, 0, 1).ravel()  # one gather for both parts
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


def _draw_class(key: Array, count: Array, *, num_rows: int, shots: int) -> tuple[Array, Array]:
    """Draw support and query rows among the ``count`` rows of one class.

    Returns:
        ``(2, shots)`` places among the rows of the class, for support and for query, and ``(2,)``
        1 / the times that each was drawn, on average; 0 if there are none.
    """
    key_order, *keys = jax.random.split(key, 3)
    order = _random_order(key_order, count, num_rows)
    half = (count + 1) // 2
    halves = jnp.array([half, count - half])
    several = jax.vmap(partial(_with_replacement, shots=shots))(jnp.stack(keys), halves)
    once = jnp.arange(2 * shots).reshape(2, shots)
    enough = count >= 2 * shots
    chosen = jnp.where(enough, once, several + jnp.array([0, half])[:, None])
    places = order[jnp.minimum(chosen, num_rows - 1)]
    return places, jnp.where(enough, 1.0, _worth(halves, shots))


def _random_order(key: Array, count: Array, num_rows: int) -> Array:
    """Put the positions 0 … count-1 into random order, in front of all others.

    A random number with the position in its low bits is one array to sort, which takes a fifth of
    the time of an argsort. Where positions leave too few random bits, they are sorted along with
    64 of their own.
    """
    places = jnp.arange(num_rows, dtype=jnp.uint32)
    last = ~jnp.uint32(0)  # the others come last
    if num_rows > MOST_PACKED_ROWS:
        first, second = (jax.random.bits(k, (num_rows,), jnp.uint32) for k in jax.random.split(key))
        first = jnp.where(places < count, first >> 1, last)
        return lax.sort((first, second, places), num_keys=2)[2].astype(int)
    low = jnp.uint32((1 << max(num_rows - 1, 1).bit_length()) - 1)
    ranks = jax.random.bits(key, (num_rows,), jnp.uint32)
    ranks = jnp.where(places < count, ranks >> 1, last)
    return (jnp.sort((ranks & ~low) | places) & low).astype(int)


def _with_replacement(key: Array, count: Array, shots: int) -> Array:
    return jax.random.randint(key, (shots,), 0, jnp.maximum(count, 1))


def _worth(count: Array, shots: int) -> Array:
    """Count the people that each of ``shots`` draws with replacement from ``count`` is worth.

    The mean of n draws from m people is as uncertain as that of ``nm/(n + m - 1)`` people.
    """
    return count / jnp.maximum(count + shots - 1, 1)
