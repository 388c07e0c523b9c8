"""What report and model card know about a run. What is undefined is ``nan``, never 0."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from ffml.base import SensitiveColumn


@dataclass(frozen=True)
class Table:
    """A line a round, column by column.

    >>> Table.of([{"dp": 0.5, "task": "<a>"}, {"dp": None, "task": "NA"}]).numbers("dp")
    array([0.5, nan])
    """

    columns: dict[str, list[Any]]

    @classmethod
    def of(cls, rows: Sequence[Mapping[str, Any]]) -> "Table":
        """Make a table of lines."""
        names = rows[0] if rows else ()
        return cls({name: [row[name] for row in rows] for name in names})

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), []))

    def text(self, name: str) -> list[str]:
        """Return a column as text."""
        return [str(cell) for cell in self.columns[name]]

    def numbers(self, name: str) -> np.ndarray:
        """Return a column as finite numbers, or ``nan``; so is one that is not there."""
        array = np.array(self.columns.get(name, [None] * len(self)), float)
        return np.where(np.isfinite(array), array, np.nan)


class Score(NamedTuple):
    """People of one cell, label (-1: not known), decision and tenth of probability."""

    groups: Mapping[str, str | None]  # by protected column
    label: int
    decision: int
    tenth: int  # -1: no probability
    people: int
    total: float  # Σ p
    lowest: float
    highest: float


@dataclass(frozen=True)
class RunView:
    """All that the report knows about a run."""

    config: dict[str, Any]
    summary: dict[str, Any]
    rounds: Table
    columns: tuple[SensitiveColumn, ...]
    counts: Mapping[str, np.ndarray]  # column -> (T, k, 3, 2)
    inputs: tuple[str, ...] = ()  # columns of someone's own table that predictions need
    without: Mapping[str, np.ndarray] = field(default_factory=dict)  # counts without fairness
    alone: Mapping[str, np.ndarray] = field(default_factory=dict)  # had each come alone: (k, 3, 2)
    scores: tuple[Score, ...] = ()
    stand_ins: Mapping[str, Any] = field(default_factory=dict)  # see `ffml.runs._inputs`
    beside: tuple["RunView", ...] = ()  # other runs about the same people

    @property
    def constraints(self) -> list[str]:
        """The names of the constraints, in the order of the columns."""
        prefix = "constraint:"
        return [
            name.removeprefix(prefix) for name in self.rounds.columns if name.startswith(prefix)
        ]
