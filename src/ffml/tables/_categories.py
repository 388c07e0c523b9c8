"""Which values of a column with many of them get a feature of their own: those met first.

A value's place must not depend on what comes later, as counts over all tasks would. So the first
tasks decide: each hands out features to the values that are new in it, the most frequent ones
first, until none is left. Values that come later share one feature.
"""

from collections import Counter
from typing import Any

import numpy as np

MAX_CATEGORIES = 100  # values of a column with a feature of their own


class FirstCategories:
    """The values met first along a stream, within bounded memory.

    >>> import pyarrow as pa
    >>> fit = FirstCategories(limit=3)
    >>> fit.add(pa.array(["c", "a", "b", "b", "d"]), np.array([1, 0, 1, 1, 2]))
    >>> fit.finish()
    ('a', 'b', 'c')
    """

    def __init__(self, limit: int = MAX_CATEGORIES) -> None:
        self._limit = limit
        self._counts: dict[int, Counter[str]] = {}  # by the task's place in the stream
        self._last: int | None = None  # the task that hands out the last feature

    def add(self, found: Any, tasks: np.ndarray) -> None:
        """See the column in one more batch, with the place of each row's task in the stream."""
        import pyarrow as pa
        import pyarrow.compute as pc

        useful = found.is_valid()
        if self._last is not None:
            useful = pc.and_(useful, pa.array(tasks <= self._last))
        rows = pa.table({"task": pa.array(tasks), "value": found}).filter(useful)
        counted = rows.group_by(["task", "value"], use_threads=False).aggregate([([], "count_all")])
        for task, value, count in zip(*(counted[c].to_pylist() for c in _COUNTED), strict=True):
            self._counts.setdefault(task, Counter())[value] += count
        self._forget()

    def settled(self, task: int) -> bool:
        """Tell whether rows of this task and of later ones cannot change the choice."""
        return self._last is not None and self._last < task

    def finish(self) -> tuple[str, ...]:
        """Return the chosen values in alphabetic order."""
        chosen: dict[str, None] = {}
        for task in sorted(self._counts):
            counts = self._counts[task]
            for value in sorted(counts, key=lambda text: (-counts[text], text)):
                if len(chosen) < self._limit:
                    chosen.setdefault(value)
        return tuple(sorted(chosen))

    def _forget(self) -> None:
        """Drop the counts of tasks that come too late to hand out anything."""
        met: set[str] = set()
        for task in sorted(self._counts):
            if len(met) >= self._limit:
                del self._counts[task]
                continue
            met.update(self._counts[task])
            if len(met) >= self._limit:
                self._last = task


_COUNTED = ("task", "value", "count_all")
