"""Wrappers: they take a method and return a method, like `optax.chain`'s transformations.

A wrapped method has the wrapped one's learning and something more: a correction, or a step before
each decision. They compose, the first one innermost::

    method = evened(corrected(partial(ffml, outer_lr=0.1)))
    learner = method(problem)
"""

from collections.abc import Callable

from ffml.base import Method
from ffml.features.boosted import boosted
from ffml.wrappers._corrected import corrected
from ffml.wrappers._evened import evened

WRAPPERS: dict[str, Callable[..., Method]] = {
    "boosted": boosted,
    "corrected": corrected,
    "evened": evened,
}

# What adds columns to what is told of people goes around all that looks at them.
OUTERMOST = ("boosted",)

__all__ = ["OUTERMOST", "WRAPPERS", "boosted", "corrected", "evened"]
