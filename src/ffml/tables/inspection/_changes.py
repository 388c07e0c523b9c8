"""Mistakes that show across rows and tasks: a unit that changes, rows that are there twice."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from ffml.base import Schema, Task
from ffml.tables.encode._encoders import Numeric
from ffml.tables.inspection._mistakes import Column

MIN_NUMBERS = 20  # of a task, zeros not counted
LEAST_FACTOR = 30.0  # so that 100 and 1,000 are noticed though the numbers differ as well
MIN_SHARE = 0.01
MIN_REPEATS = 10
TELLING = 0.5  # a feature with so many different values among the different rows tells people apart


class Change(NamedTuple):
    """Where a column's numbers become so much larger (or smaller)."""

    factor: float
    before: str  # a task ...
    after: str  # ... and the next one with enough numbers


def changed_units(
    tasks: Sequence[tuple[str, np.ndarray]], columns: Iterable[Column]
) -> Iterator[str]:
    """Say which columns of numbers change their scale at once.

    Args:
        tasks: names and features of some rows, in the order of play.
        columns: of the table.
    """
    for name, encoder, features in columns:
        if not isinstance(encoder, Numeric):
            continue
        values = ((task, encoder.as_written(x[:, features.start])) for task, x in tasks)
        if change := scale_change(values):
            times = max(change.factor, 1 / change.factor)
            yield (
                f"feature {name!r} is about {float(f'{times:.1g}'):,.0f} times "
                f"{'larger' if change.factor >= 1 else 'smaller'} in task {change.after!r} than in "
                f"{change.before!r}: has its unit changed? Bring all tasks to one unit"
            )


def scale_change(tasks: Iterable[tuple[str, np.ndarray]]) -> Change | None:
    """Find the first task whose numbers are all of another size than in the task before.

    The quartiles of the absolute values (zeros left out) must all change by `LEAST_FACTOR` or
    more. A change of unit moves them all; a few large values move none.

    >>> euros = np.linspace(20_000, 60_000, 50)
    >>> scale_change([("May", euros), ("June", euros / 1000)])
    Change(factor=0.001, before='May', after='June')
    """
    before, usual = "", None
    for task, values in tasks:
        sizes = np.abs(values[values != 0])
        if len(sizes) < MIN_NUMBERS:
            continue
        quartiles = np.quantile(sizes, (0.25, 0.5, 0.75))
        if usual is not None:
            ratios = quartiles / usual
            if ratios.min() >= LEAST_FACTOR or ratios.max() <= 1 / LEAST_FACTOR:
                return Change(float(ratios[1]), before, task)
        before, usual = task, quartiles
    return None


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
