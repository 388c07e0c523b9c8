"""What report and model card know about a run. An empty cell is undefined: ``nan``, never 0."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from ffml.report.files import GROUPS, ROUNDS, TIMINGS

_WORDS = {"": "nan", "True": "1", "False": "0", "true": "1", "false": "0"}


@dataclass(frozen=True)
class Table:
    """Lines as a CSV file has them, column by column.

    >>> Table({"dp": ["0.5", ""], "task": ["<a>", "NA"]}).numbers("dp")
    array([0.5, nan])
    """

    columns: dict[str, list[str]]
    _numbers: dict[str, np.ndarray] = field(default_factory=dict, repr=False)  # those asked for

    @classmethod
    def of(cls, rows: Sequence[Mapping[str, Any]]) -> "Table":
        """Make a table of lines."""
        names = rows[0] if rows else ()
        return cls({name: [str(row[name]) for row in rows] for name in names})

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), []))

    def text(self, name: str) -> list[str]:
        """Return a column as text; a column that is not there is empty throughout."""
        return self.columns.get(name, [""] * len(self))

    def at(self, places: Sequence[int]) -> "Table":
        """Return some of the lines."""
        return Table({name: [cells[i] for i in places] for name, cells in self.columns.items()})

    def numbers(self, name: str) -> np.ndarray:
        """Return a column as finite numbers, or ``nan`` where it is undefined."""
        if name not in self._numbers:
            values = [float(_WORDS.get(cell, cell)) for cell in self.text(name)]
            array = np.array(values, dtype=float)
            array = np.where(np.isfinite(array), array, np.nan)
            array.flags.writeable = False  # several readers share it
            self._numbers[name] = array
        return self._numbers[name]


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
    groups: Table
    timings: Table
    inputs: tuple[str, ...] = ()  # columns of someone's own table that predictions need
    without: Mapping[str, np.ndarray] = field(default_factory=dict)  # counts without fairness
    scores: tuple[Score, ...] = ()
    stand_ins: Mapping[str, Any] = field(default_factory=dict)  # see `ffml.runs._inputs`
    beside: tuple["RunView", ...] = ()  # other runs about the same people

    @classmethod
    def of(
        cls,
        config: dict[str, Any],
        summary: dict[str, Any],
        tables: Mapping[str, Sequence[Mapping[str, Any]]],
        inputs: tuple[str, ...] = (),
    ) -> "RunView":
        """Make a view of lines as the run's CSV files have them, by file."""
        rounds, groups, timings = (Table.of(tables[name]) for name in (ROUNDS, GROUPS, TIMINGS))
        return cls(config, summary, rounds, groups, timings, inputs)

    @property
    def constraints(self) -> list[str]:
        """The names of the constraints, in the order of the columns."""
        prefix = "constraint:"
        return [
            name.removeprefix(prefix) for name in self.rounds.columns if name.startswith(prefix)
        ]
