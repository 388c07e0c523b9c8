"""Read a run directory. An empty cell is undefined; here it becomes ``nan``, never 0 or 1."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ffml.base import FFMLError
from ffml.recipe.renamed import todays_names
from ffml.report._shapes import check_config, check_summary
from ffml.tables.csvfile import read_csv

ROUND_COLUMNS = ("round", "task", "n_validation", "dp", "eo", "accuracy", "balanced_accuracy")
GROUP_COLUMNS = (
    *("round", "column", "group", "n", "n_selected", "n_labelled", "n_label_1"),
    *("n_selected_label_0", "n_selected_label_1"),
)
_WORDS = {"": "nan", "True": "1", "False": "0", "true": "1", "false": "0"}


@dataclass(frozen=True)
class Table:
    """A CSV file as text, column by column.

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
        """Return a column as text; a column that the file lacks is empty throughout."""
        return self.columns.get(name, [""] * len(self))

    def at(self, places: Sequence[int]) -> "Table":
        """Return some of the lines."""
        return Table({name: [cells[i] for i in places] for name, cells in self.columns.items()})

    def numbers(self, name: str) -> np.ndarray:
        """Return a column as finite numbers, or ``nan`` where it is undefined."""
        if name not in self._numbers:
            self._numbers[name] = self._read_numbers(name)
        return self._numbers[name]

    def _read_numbers(self, name: str) -> np.ndarray:
        try:
            values = [float(_WORDS.get(t, t)) for t in self.text(name)]
        except ValueError as error:
            raise FFMLError(
                f"column {name!r} of the run's CSV files holds something else than numbers"
                f" ({error}): restore the file or run again"
            ) from None
        array = np.array(values, dtype=float)
        array = np.where(np.isfinite(array), array, np.nan)
        array.flags.writeable = False  # several readers share it
        return array


@dataclass(frozen=True)
class RunView:
    """All that the report knows about a run."""

    config: dict[str, Any]
    summary: dict[str, Any]
    rounds: Table
    groups: Table
    timings: Table | None  # runs may come without
    inputs: tuple[str, ...] = ()  # columns of someone's own table that predictions need

    @classmethod
    def of(
        cls,
        config: dict[str, Any],
        summary: dict[str, Any],
        tables: Mapping[str, Sequence[Mapping[str, Any]]],
        inputs: tuple[str, ...] = (),
    ) -> "RunView":
        """Make a view of lines as the run's CSV files have them, by file."""
        rounds, groups, timings = (
            Table.of(tables[name]) for name in ("rounds.csv", "groups.csv", "timings.csv")
        )
        return cls(config, summary, rounds, groups, timings, inputs)

    @property
    def constraints(self) -> list[str]:
        """The names of the constraints, in the order of the columns."""
        prefix = "constraint:"
        return [
            name.removeprefix(prefix) for name in self.rounds.columns if name.startswith(prefix)
        ]

    def statistic(self, part: str, metric: str, key: str = "mean") -> float:
        """Return one number of ``summary.json``, ``nan`` where it is missing or undefined."""
        entry = self.summary.get(part, {}).get(metric)
        if isinstance(entry, dict) and key not in entry:
            raise FFMLError(f"summary.json has no {key!r} for {metric!r}: run again to write it")
        value = entry[key] if isinstance(entry, dict) else entry
        if not isinstance(value, int | float | None):
            raise FFMLError(f"summary.json has no number for {metric!r}: resume the run to mend it")
        return float("nan") if value is None else float(value)


def read_run(run_dir: Path) -> RunView:
    """Read the files of a run and check that a report can be made of them."""
    if not run_dir.is_dir():
        raise FFMLError(f"{run_dir} is not a directory: give the directory that a run wrote")
    timings = run_dir / "timings.csv"
    run = RunView(
        config=todays_names(_read_json(run_dir / "config.json")),
        summary=_read_json(run_dir / "summary.json"),
        rounds=_read_csv(run_dir / "rounds.csv", ROUND_COLUMNS),
        groups=_read_csv(run_dir / "groups.csv", GROUP_COLUMNS),
        timings=_read_csv(timings, ("round", "seconds")) if timings.exists() else None,
    )
    check_config(run.config, run_dir / "config.json")
    check_summary(run.summary, run_dir / "summary.json")
    if not len(run.rounds):
        raise FFMLError(f"{run_dir / 'rounds.csv'} has no rounds yet: let the run finish one first")
    return run


def _read_json(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(_read(path))
    except (ValueError, RecursionError) as error:
        raise FFMLError(f"{path} is not valid JSON ({error}): restore it or run again") from None
    if not isinstance(content, dict):
        raise FFMLError(f"{path} must hold a JSON object: restore it or run again")
    return content


def _read_csv(path: Path, required: tuple[str, ...]) -> Table:
    header, *rows = read_csv(path) or [[]]
    missing = [name for name in required if name not in header]
    if missing:
        raise FFMLError(f"{path} lacks the column(s) {', '.join(missing)}: run again to write it")
    return Table({name: [row[i] for row in rows] for i, name in enumerate(header)})


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise FFMLError(
            f"{path} is missing: give a directory that a run wrote, or resume the run first"
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise FFMLError(f"{path} cannot be read ({error}): restore it or run again") from None
