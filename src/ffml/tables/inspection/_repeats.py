"""Rows that are there twice, in tables whose rows can be told apart."""

import numpy as np

from ffml.base import Schema, Task

MIN_SHARE = 0.01
MIN_REPEATS = 10
TELLING = 0.5  # a feature with so many different values among the different rows tells people apart


class RepeatFit:
    """Counts rows of a task that are equal in every column, one task after another.

    Where all features have few values, people are alike by chance, and nothing is said. Where one
    of them (such as an income) is different for nearly everybody, equal rows were entered twice.
    """

    def __init__(self, schema: Schema) -> None:
        self._features = schema.features
        self._rows = self._repeats = 0
        self._telling: set[int] | None = None

    def add(self, task: Task) -> None:
        """See one more task. Rows that have ids are told apart by them."""
        if task.ids is not None:
            return
        rng = np.random.default_rng(0)
        parts = (task.x, task.y[:, None], task.groups)
        # A random projection differs where rows do, but for a chance of 2⁻⁵⁰ or so.
        lines = np.sum([part @ rng.normal(size=part.shape[1]) for part in parts], axis=0)
        repeats = int((np.diff(np.sort(lines)) == 0).sum())
        self._rows, self._repeats = self._rows + len(lines), self._repeats + repeats
        if repeats and self._telling != set():
            rows = task.x[np.unique(lines, return_index=True)[1]]
            telling = {
                i for i in range(rows.shape[1]) if len(np.unique(rows[:, i])) > TELLING * len(rows)
            }
            self._telling = telling if self._telling is None else self._telling & telling

    def finish(self) -> list[str]:
        """Say whether there are too many."""
        if not self._telling or self._repeats < max(MIN_REPEATS, MIN_SHARE * self._rows):
            return []
        return [
            f"{self._repeats:,} of {self._rows:,} rows are the same as another one of their task "
            f"in every column, though {self._features[min(self._telling)]!r} tells most rows "
            "apart: was something entered twice? If so, leave the copies out"
        ]
