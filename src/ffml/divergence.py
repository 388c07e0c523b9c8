"""Steps that were too large: numbers that are no longer finite are never decided by, nor kept."""

from collections.abc import Iterable, Sequence

import numpy as np

from ffml.base import Array, FFMLError


def all_finite(arrays: Iterable[Array]) -> bool:
    """Tell whether all numbers are finite.

    >>> all_finite([np.ones(2), np.array(3)]), all_finite([np.array([1.0, np.inf])])
    (True, False)
    """
    values = map(np.asarray, arrays)
    return all(bool(np.isfinite(array).all()) for array in values if array.dtype.kind == "f")


def divergence(what: str, step_sizes: Sequence[str]) -> FFMLError:
    """Return the error that says what diverged, and which settings to lower.

    >>> print(divergence("round 3", ("inner_lr", "outer_lr", "dual_lr")))
    round 3 diverged: its numbers are no longer finite; lower inner_lr, outer_lr or dual_lr
    """
    *others, last = step_sizes or ("the step sizes of the method",)
    names = f"{', '.join(others)} or {last}" if others else last
    return FFMLError(f"{what} diverged: its numbers are no longer finite; lower {names}")
