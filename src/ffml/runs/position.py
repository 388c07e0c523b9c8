"""How far a stream has been read, and whether it is still the same stream."""

import hashlib
from typing import NamedTuple

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

    @classmethod
    def start(cls, schema: Schema) -> "Position":
        """Stand before the first task of a stream."""
        return cls(0, hashlib.sha256(repr(schema).encode()).hexdigest())

    def after(self, task: Task) -> "Position":
        """Stand behind one more task."""
        digest = hashlib.sha256(f"{self.fingerprint} {task.name!r}".encode())
        for array in (task.x, task.y, task.groups):
            digest.update(f"{array.dtype.str}{array.shape}".encode())
            digest.update(np.ascontiguousarray(array).data)
        return Position(self.num_tasks + 1, digest.hexdigest())
