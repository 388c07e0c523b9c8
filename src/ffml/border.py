"""Checks at the border: one line, naming what was given and what would do."""

import difflib
import sys
from collections.abc import Mapping
from importlib import import_module
from typing import Any, TypeVar

import numpy as np

from ffml.base import FFMLError

T = TypeVar("T")


def positive(**values: Any) -> None:
    """Refuse values that are not finite numbers > 0 (traced values pass).

    >>> positive(inner_lr=0.0)
    Traceback (most recent call last):
    ffml.base.FFMLError: inner_lr must be > 0, got 0.0
    """
    for name, value in values.items():
        if not _is_traced(value) and not (value > 0 and np.isfinite(value)):
            raise FFMLError(f"{name} must be > 0, got {value}")


def at_least(minimum: float, **values: Any) -> None:
    """Refuse values below a minimum, infinite or undefined (traced values pass).

    >>> at_least(1, num_inner_steps=0)
    Traceback (most recent call last):
    ffml.base.FFMLError: num_inner_steps must be >= 1, got 0
    """
    for name, value in values.items():
        if not _is_traced(value) and not (value >= minimum and np.isfinite(value)):
            raise FFMLError(f"{name} must be >= {minimum}, got {value}")


def at_most(maximum: float, **values: Any) -> None:
    """Refuse values above a maximum (traced values pass).

    >>> at_most(1, memory=2)
    Traceback (most recent call last):
    ffml.base.FFMLError: memory must be <= 1, got 2
    """
    for name, value in values.items():
        if not _is_traced(value) and not value <= maximum:
            raise FFMLError(f"{name} must be <= {maximum}, got {value}")


def one_of(what: str, name: str, choices: Mapping[str, T]) -> T:
    """Look a name up; an unknown one is refused with the nearest and all known ones.

    >>> one_of("model", "lineer", {"linear": 1, "mlp": 2})
    Traceback (most recent call last):
    ffml.base.FFMLError: unknown model 'lineer'; did you mean 'linear'? Known: linear, mlp
    """
    if name in choices:
        return choices[name]
    near = difflib.get_close_matches(str(name), choices, n=1, cutoff=0.5)
    hint = f"did you mean '{near[0]}'? Known" if near else "known"
    raise FFMLError(f"unknown {what} '{name}'; {hint}: {', '.join(choices)}")


def needed(*modules: str) -> None:
    """Refuse to go on without an optional library, before anything is learned."""
    for name in modules:
        try:
            import_module(name)
        except ImportError as error:
            raise FFMLError(
                f"this method needs {name}, which is not installed; pip install 'ffml[fairlearn]'"
            ) from error


def _is_traced(value: Any) -> bool:
    """Tell a value within a program that JAX compiles; without JAX there is none."""
    jax = sys.modules.get("jax")  # not imported here: reading tables needs no JAX
    return jax is not None and isinstance(value, jax.core.Tracer)
