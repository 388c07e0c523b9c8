"""Which tasks a table holds, how large they are, and in which order they are played."""

import numpy as np
import pyarrow as pa

from ffml.base import FFMLError
from ffml.tables._order import in_time_order, refuse_disorder
from ffml.tables._roles import Roles
from ffml.tables._time import parse_time


class TaskFit:
    """The tasks seen so far, numbered in the order of their first rows.

    >>> import pyarrow as pa
    >>> tasks = TaskFit()
    >>> tasks.add(pa.array(["b", "b", "a", "b"]), pa.array(["2", "2", "10", "2"]))
    array([0, 0, 1, 0], dtype=int32)
    >>> tasks.names, tasks.played(Roles("y", ("sex",), "town"))
    (['b', 'a'], [0, 1])
    """

    def __init__(self) -> None:
        self._codes: dict[str, int] = {}
        self._first_texts: dict[str, str] = {}  # the smallest order value as a text ...
        self._first_numbers: dict[str, float] | None = {}  # ... and as a number, if all are

    @property
    def names(self) -> list[str]:
        """All tasks, by their numbers."""
        return list(self._codes)

    def add(self, task: pa.Array, order: pa.Array | None = None) -> np.ndarray:
        """See the task, and the order value, of each row of a batch; return the tasks' numbers."""
        encoded = task.dictionary_encode()
        names = encoded.dictionary.to_pylist()
        lookup = [self._codes.setdefault(name, len(self._codes)) for name in names]
        if order is not None:
            self._add_order(task, order)
        return np.array(lookup, np.int32)[np.asarray(encoded.indices)]

    def played(self, roles: Roles, further: bool = False) -> list[int]:
        """Return the numbers of the tasks in the order in which they are played.

        In a further table most tasks may be known: those named by times are put in their order.
        """
        names = self.names
        if roles.by:
            names.sort()  # as ISO writes periods, texts sort by time
        elif order := roles.time or roles.order:
            names = self._ordered(names, order)
        elif further:
            names = in_time_order(roles.task, names)
        else:
            refuse_disorder(roles.task, names)
        return [self._codes[name] for name in names]

    def _add_order(self, task: pa.Array, order: pa.Array) -> None:
        for name, first in _smallest(task, order):
            self._first_texts[name] = min(self._first_texts.get(name, first), first)
        if self._first_numbers is None:
            return
        try:
            numbers = order.cast(pa.float64())
        except pa.ArrowInvalid:
            self._first_numbers = None
            return
        for name, value in _smallest(task, numbers):
            self._first_numbers[name] = min(self._first_numbers.get(name, value), value)

    def _ordered(self, names: list[str], order: str) -> list[str]:
        if without := [name for name in names if name not in self._first_texts]:
            raise FFMLError(
                f"task {without[0]!r} has no value in the order column {order!r}; fill one in"
            )
        numbers = self._first_numbers
        # sorted() is stable: tasks of the same value stay in the order of their first rows.
        if numbers is not None:
            return sorted(names, key=lambda name: numbers[name])
        ordered = sorted(names, key=lambda name: self._first_texts[name])
        self._refuse_unsortable(ordered, order)
        return ordered

    def _refuse_unsortable(self, names: list[str], order: str) -> None:
        """Refuse times that are written so that texts do not sort as times do."""
        firsts = [self._first_texts[name] for name in names]
        moments = [parse_time(first) for first in firsts]
        dates = [moment.date for moment in moments if moment]
        if len(dates) == len(firsts) and dates != sorted(dates):
            raise FFMLError(
                f"order column {order!r} holds times such as {firsts[0]!r}, which do not sort as "
                f"texts; give it as --time '{order}'"
            )


def _smallest(task: pa.Array, values: pa.Array) -> list[tuple]:
    """Return each task with its smallest value; tasks without one are left out."""
    table = pa.table({"task": task, "value": values})
    least = table.group_by("task").aggregate([("value", "min")])
    pairs = zip(least["task"].to_pylist(), least["value_min"].to_pylist(), strict=True)
    return [(name, value) for name, value in pairs if value is not None]
