"""Checks at the border: one line, naming what was given and what would do."""

import difflib
import re
import sys
from collections.abc import Mapping
from importlib import import_module
from typing import Any, TypeVar
from urllib.parse import parse_qs, urlsplit

import numpy as np

from ffml.base import FFMLError

T = TypeVar("T")

# What a driver says about a failed connection may repeat parts of the address, and so of the
# password. Only these readings of it are passed on.
_REASONS = {
    "password": "user or password refused",
    "refused": "no server answers there",
    "no such file": "no server answers there",
    "resolve": "the host is not known",
    "translate": "the host is not known",
    "timeout": "no answer in time",
    "does not exist": "no such database or user",
}


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


def public_address(url: str) -> str:
    """Return a database's address without user, password and options, to show and to store.

    Which run is meant stays.

    >>> public_address("postgresql://ann:secret@db.example.org:5433/people?sslmode=require&run=may")
    'postgresql://db.example.org:5433/people?run=may'
    >>> public_address("https://ann:secret@ffml.example.org/runs/loans")
    'https://ffml.example.org/runs/loans'
    """
    if url.startswith("sqlite:"):
        return url
    if not re.match(r"[\w+]+://|postgres[\w+]*:", url):  # a path, or an address with a typo
        return "postgresql://..." if re.search(":.*@", url) else url
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "localhost", f":{parts.port}" if parts.port else ""
    except ValueError:
        return "postgresql://..."
    if "@" in parts.path + parts.query + parts.fragment:  # a password with / or ? or # in it
        return "postgresql://..."
    run = parse_qs(parts.query).get("run", [""])[-1]
    suffix = f"?run={run}" if re.fullmatch(r"\w+", run) else ""
    scheme = parts.scheme if parts.scheme in ("http", "https") else "postgresql"
    return f"{scheme}://{host}{port}{parts.path}{suffix}"


def cannot_connect(url: str, error: Exception) -> FFMLError:
    """Say why a database does not answer, without what the address keeps to itself."""
    lowered = str(error).lower()
    reasons = (reason for sign, reason in _REASONS.items() if sign in lowered)
    return FFMLError(
        f"cannot connect to {public_address(url)}: {next(reasons, 'the connection failed')}; "
        "check host, port, database, user and password"
    )


def _is_traced(value: Any) -> bool:
    """Tell a value within a program that JAX compiles; without JAX there is none."""
    jax = sys.modules.get("jax")  # not imported here: reading tables needs no JAX
    return jax is not None and isinstance(value, jax.core.Tracer)
