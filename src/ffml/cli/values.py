"""Values that are written as text: ``--set name=value``, ``--seeds``, methods with settings."""

import inspect
import json
import re
from collections.abc import Iterable
from dataclasses import fields
from typing import TYPE_CHECKING, Any, get_args, get_origin

from ffml.base import FFMLError

if TYPE_CHECKING:
    from ffml.compare import Variant

_KINDS = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "a word",
    type(None): "null",
}


def parse_seeds(text: str) -> list[int]:
    """Read seeds.

    >>> parse_seeds("0-2,7")
    [0, 1, 2, 7]
    """
    seeds: list[int] = []
    for part in text.split(","):
        ends = re.fullmatch(r"\s*(\d+)\s*(?:-\s*(\d+)\s*)?", part)
        first, last = (int(ends[1]), int(ends[2] or ends[1])) if ends else (1, 0)
        if last < first:
            raise FFMLError(f"--seeds takes seeds such as 0-4 or 0,1,2, got '{text}'")
        seeds += range(first, last + 1)
    return seeds


def parse_seeds_of_data(texts: Iterable[str]) -> tuple[list[int] | None, dict[str, list[int]]]:
    """Read seeds for all data, and those that are for some.

    >>> parse_seeds_of_data(["0-2", "crime=0-4"])
    ([0, 1, 2], {'crime': [0, 1, 2, 3, 4]})
    """
    for_all: list[int] = []
    for_some: dict[str, list[int]] = {}
    for text in texts:
        data, _, seeds = text.rpartition("=")
        (for_some.setdefault(data, []) if data else for_all).extend(parse_seeds(seeds))
    return for_all or None, for_some


def parse_settings(texts: Iterable[str], given_by: str = "--set") -> dict[str, Any]:
    """Read ``name=value``; a value is JSON or a word, and several have commas between them.

    >>> parse_settings(["num_outer_steps=20", "constraints=dbc", "bounds=0.1,0.2", "dual_lr=null"])
    {'num_outer_steps': 20, 'constraints': ('dbc',), 'bounds': (0.1, 0.2), 'dual_lr': None}
    """
    known, settings = _annotations(), {}
    for text in texts:
        name, equals, value = text.partition("=")
        name = name.strip().replace("-", "_")
        if not (equals and name and value):
            raise FFMLError(f"{given_by} takes NAME=VALUE such as num_outer_steps=20, got '{text}'")
        annotation = known.get(name, Any)
        if get_origin(annotation) is tuple:
            kind = get_args(annotation)[0]
            parts = value.strip("[]()").split(",")
            settings[name] = tuple(_read(name, part.strip(" \"'"), kind) for part in parts)
        else:
            settings[name] = _read(name, value, annotation)
    return settings


def parse_variant(text: str) -> "Variant":
    """Read a method and settings of its own; what was written is its name in tables.

    >>> parse_variant("ffml  bounds=0,0.05 damping=1")
    Variant(label='ffml bounds=0,0.05 damping=1', method='ffml', settings={'bounds': (0.0, 0.05),
    'damping': 1.0})
    """
    from ffml.compare import Variant

    method, *settings = text.split() or [""]
    return Variant(
        " ".join([method, *settings]), method, parse_settings(settings, f"--method '{method} …'")
    )


def _read(name: str, text: str, annotation: Any) -> Any:
    """Read one value, and refuse one of another kind than the setting's."""
    try:
        value = json.loads(text)
    except ValueError:
        value = text
    kinds = get_args(annotation) or (annotation,)
    if not set(kinds) <= set(_KINDS) or type(value) in kinds:
        return value
    if float in kinds and type(value) is int:
        return float(value)
    raise FFMLError(
        f"setting '{name}' takes {' or '.join(_KINDS[kind] for kind in kinds)}, got '{text}'"
    )


def _annotations() -> dict[str, Any]:
    """Return what kind of value each setting of a run or of a method takes."""
    from ffml.experiment import RunConfig, method_defaults
    from ffml.methods import METHODS

    known: dict[str, Any] = {"hidden": tuple[int, ...]}
    for method, factory in METHODS.items():
        parameters = inspect.signature(factory).parameters
        known |= {name: parameters[name].annotation for name in method_defaults(method)}
    return known | {f.name: f.type for f in fields(RunConfig)}
