"""What is known of inputs, as arrays by name, and back. Needs no JAX."""

from collections.abc import Mapping

import numpy as np

from ffml.base import FFMLError
from ffml.online.drift import InputWatch
from ffml.tables.scaling import RunningScaler

INPUTS = "inputs."
_SCALER = "scaler."
_WATCHED = tuple(name for name in InputWatch._fields if name != "columns")


def scaler_arrays(scaler: RunningScaler | None) -> dict[str, np.ndarray]:
    """Name the arrays of a scaler."""
    if scaler is None:
        return {}
    return {f"{_SCALER}{name}": np.asarray(array) for name, array in scaler._asdict().items()}


def scaler_from(arrays: Mapping[str, np.ndarray]) -> RunningScaler | None:
    """Find the scaler among arrays."""
    names = [f"{_SCALER}{field}" for field in RunningScaler._fields]
    return RunningScaler(*(arrays[name] for name in names)) if names[0] in arrays else None


def watch_arrays(watch: InputWatch | None) -> dict[str, np.ndarray]:
    """Name the arrays of what is known of inputs."""
    if watch is None:
        return {}
    return {INPUTS + name: np.asarray(getattr(watch, name), float) for name in _WATCHED}


def watch_from(watch: InputWatch | None, arrays: Mapping[str, np.ndarray]) -> InputWatch | None:
    """Find what is known of inputs among arrays."""
    if watch is None or INPUTS + _WATCHED[0] not in arrays:
        return watch
    values = {name: arrays[INPUTS + name] for name in _WATCHED}
    if any(values[name].shape != np.shape(getattr(watch, name)) for name in _WATCHED):
        raise FFMLError("the saved state has other input columns than the table; restore the table")
    return InputWatch(watch.columns, **values)
