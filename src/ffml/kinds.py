"""Settings of a wrong kind, from files that people write: one line instead of a traceback."""

import inspect
import math
from collections.abc import Mapping, Sequence
from typing import Any, get_args, get_origin

import numpy as np

from ffml.base import FFMLError

KINDS = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "a word",
    type(None): "null",
}
_SEVERAL = {int: "whole numbers", float: "numbers", str: "words"}
_LETTERS = {bool: ("b",), int: ("i", "u"), float: ("i", "u", "f")}  # of NumPy's kinds


def refuse_other_kinds(settings: Mapping[str, Any], kinds: Mapping[str, Any]) -> None:
    """Refuse values of another kind than a setting's annotation says, and infinite ones.

    >>> refuse_other_kinds({"seed": 1.5}, {"seed": int})
    Traceback (most recent call last):
    ffml.base.FFMLError: setting 'seed' takes a whole number, got 1.5
    """
    for name, value in settings.items():
        kind = kinds.get(name, Any)
        if not fits(value, kind):
            raise FFMLError(f"setting '{name}' takes {described(kind)}, got {value!r}")
        for part in value if isinstance(value, list | tuple) else [value]:
            _refuse_infinite(name, part)


def fits(value: Any, kind: Any) -> bool:
    """Tell whether a value is of an annotation's kind; of one that cannot be told, it is.

    >>> fits([0.1, 2], tuple[float, ...]), fits("a", float | None), fits(True, int)
    (True, False, False)
    """
    origin, parts = get_origin(kind), get_args(kind)
    if origin in (tuple, Sequence):
        count = len(parts) if origin is tuple and parts[-1] is not ... else None
        is_list = isinstance(value, list | tuple) and count in (None, len(value))
        return is_list and all(fits(part, parts[0]) for part in value)
    if origin in (dict, Mapping):
        return isinstance(value, Mapping)
    if parts:
        return any(fits(value, part) for part in parts)
    if kind in (bool, int, float):
        return _letter(value) in _LETTERS[kind]
    known = isinstance(kind, type) and kind not in (Any, inspect.Parameter.empty)
    return not known or isinstance(value, kind)


def described(kind: Any) -> str:
    """Say what is of a kind.

    >>> described(int | None), described(tuple[float, ...])
    ('a whole number or null', 'a list of numbers')
    """
    origin, parts = get_origin(kind), get_args(kind)
    if origin in (tuple, Sequence):
        count = f"{len(parts)} " if origin is tuple and parts[-1] is not ... else ""
        return f"a list of {count}{_SEVERAL[parts[0]]}"
    if origin in (dict, Mapping):
        return "an object with names and values"
    if parts:
        return " or ".join(filter(None, map(described, parts)))
    return KINDS.get(kind, "")


def _letter(value: Any) -> str:
    """Name the kind of a single value as NumPy does; an int may be of any size."""
    if isinstance(value, bool | int):
        return "b" if isinstance(value, bool) else "i"
    if hasattr(value, "dtype"):  # of JAX too, where a setting is traced
        return value.dtype.kind
    return "" if isinstance(value, list | tuple) else np.asarray(value).dtype.kind


def _refuse_infinite(name: str, value: Any) -> None:
    if isinstance(value, float | np.floating) and not math.isfinite(value):
        raise FFMLError(f"setting '{name}' must be finite, got {value}")
    if isinstance(value, int) and abs(value) >= 2**63:
        raise FFMLError(f"setting '{name}' must be less than 2^63, got {value}")
