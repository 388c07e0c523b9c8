"""Methods: one paper = one file. A factory takes a problem and settings, returns a `Learner`."""

from collections.abc import Callable

from ffml.base import Learner
from ffml.methods._ffml import ffml

METHODS: dict[str, Callable[..., Learner]] = {
    "ffml": ffml,
}

__all__ = ["METHODS", "ffml"]
