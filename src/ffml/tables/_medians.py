"""What a missing number becomes: the column's median in the first task that has a number there.

Later tasks are the future, which a stream must not learn from.
"""

import numpy as np

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
