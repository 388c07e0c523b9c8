"""What a run remembers of its inputs, among the arrays of a checkpoint."""

from collections.abc import Mapping

import numpy as np

from ffml.base import FFMLError
from ffml.online.drift import InputWatch

INPUTS = "inputs."
_ARRAYS = tuple(name for name in InputWatch._fields if name != "columns")


def watch_arrays(watch: InputWatch | None) -> dict[str, np.ndarray]:
    """Name the arrays for a file."""
    if watch is None:
        return {}
    return {INPUTS + name: np.asarray(getattr(watch, name), float) for name in _ARRAYS}


def watch_from(watch: InputWatch | None, arrays: Mapping[str, np.ndarray]) -> InputWatch | None:
    """Go on from a file's arrays; a run that did not watch its inputs begins to do so."""
    if watch is None or INPUTS + _ARRAYS[0] not in arrays:
        return watch
    found = {name: arrays[INPUTS + name] for name in _ARRAYS}
    if any(found[name].shape != np.shape(getattr(watch, name)) for name in _ARRAYS):
        raise FFMLError("the checkpoint has other input columns than the table; restore the table")
    return InputWatch(watch.columns, **found)
