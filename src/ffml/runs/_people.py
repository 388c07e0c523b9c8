"""Who is in a task: a stable name and a fingerprint for every row, whatever the order of rows.

A row's content is what was known before the decision: its features and groups, never its label. So
a label that arrives later changes nothing here. Hashes of a row add up over its columns, and
hashes of a column add up over the rows: two sums name the rows and the columns that differ.
"""

from collections import Counter
from typing import NamedTuple

import numpy as np

from ffml.base import Schema, Task

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


class Fingerprints(NamedTuple):
    """Hashes of a task's rows, and of its columns whatever the order of the rows."""

    rows: np.ndarray  # (n,) int64
    columns: dict[str, str]  # feature or protected column -> sum of its cells' hashes


def fingerprints(task: Task, schema: Schema) -> Fingerprints:
    """Hash features and groups of every row.

    >>> schema = Schema(("a", "b"), ())
    >>> x = np.array([[1, 2], [3, 4]], np.float32)
    >>> once = fingerprints(Task("t", x, np.zeros(2), np.zeros((2, 0))), schema)
    >>> turned = fingerprints(Task("t", x[::-1], np.zeros(2), np.zeros((2, 0))), schema)
    >>> once.columns == turned.columns, (once.rows == turned.rows[::-1]).all()
    (True, np.True_)
    """
    rows = np.zeros(len(task.y), np.uint64)
    columns = {}
    names = (*schema.features, *(column.name for column in schema.sensitive))
    x = np.asarray(task.x[:, : len(schema.features)], float)
    values = (*x.T, *np.asarray(task.groups, float).T)
    with np.errstate(over="ignore"):
        for place, (name, column) in enumerate(zip(names, values, strict=True)):
            hashes = _mixed(_bits(column) + np.uint64(place + 1) * _GOLDEN)
            rows += hashes
            columns[name] = f"{int(hashes.sum(dtype=np.uint64)):016x}"
        return Fingerprints(_mixed(rows).view(np.int64), columns)


def names_of(task: Task, rows: np.ndarray) -> list[str]:
    """Return the ids of a task's rows; rows without ids are named by content and ordinal.

    Of rows with the same content, those with a known label come first, so that a shuffled table
    gives the same people the same names.

    >>> task = Task("t", np.zeros((3, 0)), np.array([-1, 1, 0]), np.zeros((3, 0)))
    >>> names_of(task, np.array([7, 7, 8]))
    ['0000000000000007-1', '0000000000000007-0', '0000000000000008-0']
    """
    if task.ids is not None:
        return [str(name) for name in task.ids]
    names = [""] * len(rows)
    seen: Counter[int] = Counter()
    for row in np.argsort(np.where(task.y < 0, 2, task.y), kind="stable").tolist():
        content = int(rows[row])
        names[row] = f"{content & 0xFFFFFFFFFFFFFFFF:016x}-{seen[content]}"
        seen[content] += 1
    return names


def _bits(column: np.ndarray) -> np.ndarray:
    """Return the bits of numbers; −0 counts as 0."""
    return (np.ascontiguousarray(column) + 0.0).view(np.uint64)


def _mixed(words: np.ndarray) -> np.ndarray:
    """Mix the bits of 64-bit words (the finaliser of SplitMix64)."""
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))
