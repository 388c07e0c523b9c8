"""How far a stream has been read, and whether it is still the same stream."""

import hashlib
from typing import Any, NamedTuple

import numpy as np

from ffml.base import Schema, Task


class Position(NamedTuple):
    """The number of tasks read, and a fingerprint of all their rows in their order.

    >>> schema, task = Schema(("a",), ()), Task("t", np.ones((2, 1)), np.ones(2), np.ones((2, 0)))
    >>> once = Position.start(schema).after(task)
    >>> once.num_tasks, once == Position.start(schema).after(task), once == once.after(task)
    (1, True, False)
    """

    num_tasks: int
    fingerprint: str
    digests: tuple[str, ...] = ()  # of each task by itself; runs of an earlier ffml have none

    @classmethod
    def start(cls, schema: Schema) -> "Position":
        """Stand before the first task of a stream."""
        return cls(0, hashlib.sha256(repr(schema).encode()).hexdigest())

    def after(self, task: Task) -> "Position":
        """Stand behind one more task."""
        fingerprint = _digest(task, f"{self.fingerprint} {task.name!r}").hexdigest()
        return Position(self.num_tasks + 1, fingerprint, (*self.digests, task_digest(task)))

    def same_place(self, other: "Position") -> bool:
        """Tell whether the same tasks were read."""
        return self[:2] == other[:2]


def task_digest(task: Task) -> str:
    """Return a fingerprint of one task's rows."""
    return _digest(task, repr(task.name)).hexdigest()[:32]


def _digest(task: Task, before: str) -> Any:
    digest = hashlib.sha256(before.encode())
    for array in (task.x, task.y, task.groups):
        digest.update(f"{array.dtype.str}{array.shape}".encode())
        digest.update(np.ascontiguousarray(array).data)
    return digest
