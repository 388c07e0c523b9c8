"""What a missing number becomes: the column's median in the first task that has a number there.

Later tasks are the future, which a stream must not learn from.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ffml.data.tables._columns import numbers
from ffml.data.tables._roles import Roles
from ffml.data.tables._rows import needed_columns, read_rows
from ffml.data.tables._source import Source

if TYPE_CHECKING:
    import pyarrow as pa

MEDIAN_ROWS = 65536  # the median is that of the first so many numbers of the task


class MedianFit:
    """The numbers of one column in the earliest task seen so far, within bounded memory.

    >>> fit = MedianFit()
    >>> fit.add(np.array([7.0, np.nan, 1.0, 3.0]), np.array([1, 0, 2, 1]))
    >>> fit.finish()
    5.0
    """

    def __init__(self) -> None:
        self._task: int | None = None  # by its place in the stream
        self._numbers: list[np.ndarray] = []

    def add(self, found: np.ndarray, tasks: np.ndarray) -> None:
        """See the column in one more batch, with the place of each row's task in the stream."""
        present = ~np.isnan(found)
        if not present.any():
            return
        first = int(tasks[present].min())
        if self._task is None or first < self._task:
            self._task, self._numbers = first, []
        room = MEDIAN_ROWS - sum(map(len, self._numbers))
        self._numbers.append(found[present & (tasks == self._task)][:room])

    def settled(self, task: int) -> bool:
        """Tell whether rows of this task and of later ones cannot change the median."""
        return self._task is not None and self._task < task

    def finish(self) -> float:
        """Return the median."""
        return float(np.median(np.concatenate(self._numbers)))


def table_medians(
    source: Source, roles: Roles, tasks: Sequence[str], in_place: bool, names: Sequence[str]
) -> dict[str, float]:
    """Read the numbers of a table once more, now that the order of its tasks is known.

    Args:
        source: the table.
        roles: of its columns.
        tasks: in the order in which they are played.
        in_place: the rows are in that order already, so that the first ones are enough.
        names: the columns of numbers.
    """
    fits = {name: MedianFit() for name in names}
    places = {task: place for place, task in enumerate(tasks)}
    wanted = needed_columns(replace(roles, order=None, time=None), names)
    for batch in source.batches(wanted) if fits else ():
        rows = read_rows(batch, roles)
        if not len(rows.task):
            continue
        played = _places(rows.task, places)
        if in_place and all(fit.settled(int(played[0])) for fit in fits.values()):
            break
        for name, fit in fits.items():
            fit.add(numbers(rows.batch.column(name), name), played)
    return {name: fit.finish() for name, fit in fits.items()}


def _places(tasks: "pa.Array", places: Mapping[str, int]) -> np.ndarray:
    """Look up the place of each row's task; one that is new will be noticed later."""
    encoded = tasks.dictionary_encode()
    lookup = [places.get(name, len(places)) for name in encoded.dictionary.to_pylist()]
    return np.array(lookup)[np.asarray(encoded.indices)]
