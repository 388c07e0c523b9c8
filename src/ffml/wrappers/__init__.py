"""Wrappers: they take a method and return a method, like `optax.chain`'s transformations.

A wrapped method has the wrapped one's learning and something more: a correction, or a step before
each decision. They compose, the first one innermost::

    method = evened(corrected(partial(ffml, outer_lr=0.1)))
    learner = method(problem)

`wrap` is what they are made with.
"""

from collections.abc import Callable

from ffml.base import Method
from ffml.wrappers._corrected import corrected
from ffml.wrappers._evened import evened, membership_weights
from ffml.wrappers._wrap import wrap

WRAPPERS: dict[str, Callable[..., Method]] = {"corrected": corrected, "evened": evened}

__all__ = ["WRAPPERS", "corrected", "evened", "membership_weights", "wrap"]
