"""Random numbers by round and purpose: no method changes another's data, and rounds repeat."""

import numpy as np

from ffml.base import Array

# What a draw is for. Numbers are part of what a seed means: add new ones at the end.
SPLIT, SUPPORT, KEEP, DRAW, ROTATE, UNLABELLED, ORDER, FILL = range(8)


def draws(seed: int, round_: int, purpose: int) -> np.random.Generator:
    """Return the random numbers of one purpose in one round.

    >>> one, same, other = draws(0, 3, SPLIT), draws(0, 3, SPLIT), draws(0, 3, KEEP)
    >>> first = one.random()
    >>> first == same.random(), first == other.random()
    (True, False)
    """
    return np.random.default_rng([seed, round_, purpose])


def generator(key: Array) -> np.random.Generator:
    """Return NumPy's random numbers for a key of JAX."""
    import jax

    return np.random.default_rng(np.asarray(jax.random.key_data(key)).ravel().tolist())
