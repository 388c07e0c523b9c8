"""What is left to compute, in chunks: settings of one program and one seed."""

import json
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import numpy as np

from ffml.base import Schema
from ffml.border import at_least
from ffml.report.numbers import counted
from ffml.studies.cells import RunSpec, Store
from ffml.studies.tuning._program import Values, bytes_for_one, traceable
from ffml.studies.tuning._search import Search
from ffml.studies.tuning._space import number_settings

MOST_SETTINGS = 64  # more at once gain little
MOST_BYTES = 2**30


class Chunk(NamedTuple):
    """Runs that are computed together."""

    cells: tuple[RunSpec, ...]
    values: Values  # of the traced settings; those of the last cell are repeated up to the size
    num_devices: int
    program: int  # chunks with the same number share a compiled program

    @property
    def seed(self) -> int:
        """The seed of all its runs."""
        return self.cells[0].config.seed

    @property
    def name(self) -> str:
        """What people call it."""
        return f"seed {self.seed}, {counted(len(self.cells), 'setting')} at once"

    @property
    def stem(self) -> str:
        """What the names of its files begin with."""
        return self.cells[0].stem

    @property
    def size(self) -> int:
        """How many settings the program takes, repeated ones included."""
        return len(next(iter(self.values.values()))) if self.values else len(self.cells)


def unfinished_chunks(
    search: Search,
    store: Store,
    schema: Schema,
    most: int | None = None,
    num_devices: int | None = None,
) -> list[Chunk]:
    """List what the store does not have yet, program by program and seed by seed.

    At most ``most`` settings are a chunk: by default as many as fit in 1 GiB, and no more than 64.
    """
    at_least(1, chunk=1 if most is None else most)
    chunks: list[Chunk] = []
    for program, numbers in enumerate(_programs(search, schema)):
        missing = {
            seed: [i for i in numbers.members if not store.finished(search.cell(i, seed))]
            for seed in search.seeds
        }
        count = max(map(len, missing.values()))
        if not count:
            continue
        config = search.configs[numbers.members[0]]
        limit = most or max(1, min(MOST_SETTINGS, MOST_BYTES // bytes_for_one(config, schema)))
        size, sharing = _even_size(count, limit, num_devices or len(jax.devices()))
        if not numbers.traced:
            size, sharing = 1, 1
        for seed, members in missing.items():
            for start in range(0, len(members), size):
                some = members[start : start + size]
                values = _values(search, numbers.traced, some, size)
                cells = tuple(search.cell(i, seed) for i in some)
                chunks.append(Chunk(cells, values, sharing, program))
    return chunks


class _Group(NamedTuple):
    """Settings of one program, and the traced ones in which they differ."""

    members: list[int]
    traced: tuple[str, ...]


def _programs(search: Search, schema: Schema) -> list[_Group]:
    """Put settings together that one program can compute."""
    count = range(len(search.settings))
    numbers = frozenset().union(*(number_settings(search.kinds(i)) for i in count))
    groups = []
    for members in _alike(search, count, numbers):
        setting = search.settings[members[0]]
        wanted = tuple(name for name in setting if name in numbers and _is_number(setting[name]))
        traced = traceable(search.configs[members[0]], schema, wanted)
        groups += [_Group(some, traced) for some in _alike(search, members, frozenset(traced))]
    return groups


def _alike(search: Search, members: Sequence[int], numbers: frozenset[str]) -> list[list[int]]:
    """Group settings that differ in the values of ``numbers`` alone."""
    groups: dict[str, list[int]] = {}
    for i in members:
        structure = {
            name: np.shape(value) if name in numbers and _is_number(value) else [value]
            for name, value in search.settings[i].items()
        }
        groups.setdefault(json.dumps(structure, sort_keys=True, default=str), []).append(i)
    return list(groups.values())


def _is_number(value: Any) -> bool:
    """Tell numbers and tuples of numbers from None, which stands for another program."""
    parts = value if isinstance(value, tuple) else (value,)
    return all(isinstance(part, (int, float)) for part in parts)


def _even_size(count: int, limit: int, num_devices: int) -> tuple[int, int]:
    """Return the size of equal chunks, and how many devices share one.

    >>> _even_size(70, 64, 2), _even_size(5, 64, 2), _even_size(1, 64, 2)
    ((36, 2), (6, 2), (1, 1))
    """
    num_devices = min(num_devices, count, limit)
    on_each = math.ceil(count / num_devices)  # settings for each device to compute in all
    chunks = math.ceil(on_each / (limit // num_devices))
    return math.ceil(on_each / chunks) * num_devices, num_devices


def _values(search: Search, names: Sequence[str], members: Sequence[int], size: int) -> Values:
    rows = [*members, *[members[-1]] * (size - len(members))]
    return {name: np.array([search.settings[i][name] for i in rows], np.float32) for name in names}
