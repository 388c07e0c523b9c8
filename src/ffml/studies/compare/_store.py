"""Results of finished cells: one file each, written whole or not at all."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ffml.audit.counts import Tables
from ffml.base import FFMLError, SensitiveColumn
from ffml.online.state import Round
from ffml.recipe.build import Experiment
from ffml.recipe.plain import plain
from ffml.recipe.saved import versions
from ffml.runs.keeping import round_document, rounds_from
from ffml.store import Round as LedgerRound
from ffml.store import durable
from ffml.store.container import Contents, pack, read_keyed
from ffml.studies.compare._evenness import gap_columns
from ffml.studies.compare._spec import RunSpec


class Store:
    """A folder of results. What is damaged, or of another config, counts as not there."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)

    def path(self, cell: RunSpec) -> Path:
        """Return where a cell's results are, or will be."""
        config = cell.config
        name = f"{Path(config.data).stem}-{config.recipe.method}-{config.seed}-{cell.key[:16]}"
        return self.folder / f"{name}.safetensors"

    def finished(self, cell: RunSpec) -> bool:
        """Tell whether a cell's results are there, and whole."""
        return read_keyed(self.path(cell), cell.key) is not None

    def save(self, cell: RunSpec, packed: bytes) -> None:
        """Keep what `packed_cell` made."""
        self.folder.mkdir(parents=True, exist_ok=True)
        durable.write_atomically(self.path(cell), packed)

    def seconds(self, cell: RunSpec) -> float:
        """Return how long a finished cell took, data and compilation included."""
        return float(self._finished(cell).document["seconds"])

    def load(self, cells: Sequence[RunSpec]) -> pd.DataFrame:
        """Return one row per cell and round.

        Columns: ``label``, ``method``, ``data``, ``validation`` (the share of a task's rows that
        judges), ``seed``, ``round``, ``rounds`` (how many the cell has), ``task``, ``n_rows``,
        ``n_support``, ``n_validation``, the metrics of a `Round` (NaN where undefined),
        ``selected`` (the share of positive decisions),
        ``constraint:…``, ``multiplier:…``, ``violation:…`` and ``clipped_violation:…`` of each
        constraint, ``gap:…``, ``gap_square:…`` and ``gap_rows:…`` of each group that is compared
        (see `ffml.metrics.round_gaps`), ``iterations``, ``seconds``, and ``undefined`` with the
        reasons.

        Raises:
            FFMLError: a cell is not finished, or two cells would be mixed up in the table.
        """
        different: dict[tuple, RunSpec] = {}
        for cell in cells:
            config = cell.config
            place = (cell.label, config.data, config.validation_fraction, config.seed)
            if different.setdefault(place, cell).key != cell.key:
                raise FFMLError(f"two different cells are {cell.name}; give them other labels")
        if not different:
            raise FFMLError("there is nothing to load; give at least one cell")
        frame = pd.concat(
            [pd.DataFrame(_rows(cell, self._finished(cell))) for cell in different.values()],
            ignore_index=True,
        )
        last = ["iterations", "seconds", "undefined"]
        return frame[[*frame.columns.difference(last, sort=False), *last]]

    def _finished(self, cell: RunSpec) -> Contents:
        contents = read_keyed(self.path(cell), cell.key)
        if contents is None:
            raise FFMLError(f"{self.folder} has no results of {cell.name}; run that cell first")
        return contents


def packed_cell(
    cell: RunSpec, experiment: Experiment, rounds: Sequence[Round], seconds: float
) -> bytes:
    """Make the file of a finished cell: its rounds, to the last bit."""
    document: dict[str, Any] = {
        "kind": "cell",
        "key": cell.key,
        "config": plain(cell.config.to_json()),
        "settings": plain(cell.config.settings),
        "constraint_names": experiment.problem.constraint_names,
        "groups": {c.name: c.groups for c in experiment.loop.schema.sensitive},
        "columns": list(rounds[0].tables),
        "tasks": [record.task for record in rounds],
        "rounds": [round_document(record) for record in rounds],
        "seconds": seconds,
        "versions": versions(),
    }
    tables = {
        f"tables.{i}": np.stack([record.tables[column] for record in rounds])
        for i, column in enumerate(document["columns"])
    }
    return pack(document, tables).data


def _rounds(contents: Contents) -> list[Round]:
    """Read the rounds of a cell back."""
    document, arrays = contents
    tables = {column: arrays[f"tables.{i}"] for i, column in enumerate(document["columns"])}
    kept = [
        LedgerRound(t, task, "learned", one)
        for t, (task, one) in enumerate(zip(document["tasks"], document["rounds"], strict=True), 1)
    ]
    columns = [SensitiveColumn(name, tuple(g)) for name, g in document["groups"].items()]
    return rounds_from(kept, Tables(tables, {}, {}), columns)


def _rows(cell: RunSpec, contents: Contents) -> list[dict[str, Any]]:
    rounds = _rounds(contents)
    names = contents.document["constraint_names"]
    tables = {name: np.stack([r.tables[name] for r in rounds]) for name in rounds[0].tables}
    gaps = gap_columns(tables, contents.document["groups"])
    return [
        {
            "label": cell.label,
            "method": cell.config.recipe.method,
            "data": cell.config.data,
            "validation": cell.config.validation_fraction,
            "seed": cell.config.seed,
            "round": record.round,
            "rounds": len(rounds),
            "task": record.task,
            "n_rows": record.n_rows,
            "n_support": record.n_support,
            "n_validation": record.n_validation,
            **record.metrics,
            "selected": _selected(record),
            **_constraint_columns(record, names),
            **{name: float(values[t]) for name, values in gaps.items()},
            "iterations": record.iterations,
            "seconds": record.seconds,
            "undefined": "; ".join(f"{name}: {why}" for name, why in record.undefined.items()),
        }
        for t, record in enumerate(rounds)
    ]


def _selected(record: Round) -> float:
    """Return the share of positive decisions; NaN if there were none to make."""
    table = next(iter(record.tables.values()))  # any column counts the same people
    return float(table[..., 1].sum() / table.sum()) if table.any() else np.nan


def _constraint_columns(record: Round, names: Sequence[str]) -> dict[str, float]:
    columns = {
        "constraint": record.constraint,
        "multiplier": record.multipliers,
        "violation": record.violation,
        "clipped_violation": record.clipped_violation,
    }
    return {
        f"{kind}:{name}": float(values[i])
        for i, name in enumerate(names)
        for kind, values in columns.items()
    }
