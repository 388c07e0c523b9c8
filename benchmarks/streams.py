"""Streams as the benchmarks name them: a data set with options, or a table with its columns' roles.

adult
synthetic bias=1.5 bias_over_time=reversing
loans.csv label=approved positive=yes sensitive=sex task=month
"""

import shlex
from pathlib import Path
from typing import Any, NamedTuple

from ffml.recipe.sources import find_table


class Named(NamedTuple):
    """A stream, and how tables call it."""

    name: str
    data: str
    options: dict[str, Any]


def roles_of(text: str) -> tuple[str, dict[str, Any]]:
    """Read a stream: its name, and its options.

    >>> roles_of("loans.csv label=approved sensitive=sex,race")
    ('loans.csv', {'label': 'approved', 'sensitive': ('sex', 'race')})
    >>> roles_of("synthetic bias=1.5 num_tasks=30")
    ('synthetic', {'bias': 1.5, 'num_tasks': 30})
    """
    data, *words = shlex.split(text)
    roles = {name: _value(value) for name, value in (word.split("=", 1) for word in words)}
    for several in ("sensitive", "drop"):
        if several in roles:
            roles[several] = tuple(str(roles[several]).split(","))
    return data, roles


def named(text: str) -> Named:
    """Find a stream; ``name: …`` in front says how tables call it."""
    name, _, rest = text.rpartition(": ")
    found = find_table(*roles_of(rest))
    return Named(name or Path(found.data).name.split(".")[0], found.data, found.options)


def _value(text: str) -> Any:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
