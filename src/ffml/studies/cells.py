"""A cell is one run of one setting and seed: what to play, and one file with what came of it."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ffml.audit.counts import Tables
from ffml.base import FFMLError, SensitiveColumn
from ffml.online.state import Round
from ffml.recipe.build import Experiment
from ffml.recipe.config import RunConfig
from ffml.recipe.plain import plain
from ffml.recipe.saved import versions
from ffml.runs.keeping import round_document, rounds_from
from ffml.store import Round as LedgerRound
from ffml.store import durable
from ffml.store.container import Contents, pack, read_keyed
from ffml.studies._evenness import gap_columns
from ffml.studies.efficiency import Point

# Raised whenever the same settings would give other numbers, or results are kept otherwise.
RESULTS_FORMAT = 4


@dataclass(frozen=True)
class RunSpec:
    """A run to compare with others.

    Args:
        label: what tables call it, usually the method. It is no part of the results' name.
        config: all that decides what the run does.
        fingerprint: of a table of one's own, so that results of a changed table do not count.
        sizes: measure learning curves on the way, with so many labelled rows of each new task.
        last: the round to stop after, where those after it are not to be looked at.
    """

    label: str
    config: RunConfig
    fingerprint: str = ""
    sizes: tuple[int, ...] = ()
    last: int | None = None

    @property
    def description(self) -> dict[str, Any]:
        """All that decides what the run does, with defaults, as JSON has it."""
        described = self.config.to_json()
        plugins = sorted(described.pop("plugins").values())  # wherever the files are
        described |= {"plugins": plugins} if plugins else {}
        described |= {
            "format": RESULTS_FORMAT,
            "recipe": self.config.recipe.method,
            "settings": self.config.settings,  # with defaults, whether given or not
            "fingerprint": self.fingerprint,
        }
        return json.loads(json.dumps(described, sort_keys=True, default=str))

    @property
    def key(self) -> str:
        """A name for the results: other settings, data or defaults make it another one."""
        text = json.dumps(self.description, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()

    @property
    def name(self) -> str:
        """What people call it; the share of rows that judges is named where it is not a half.

        >>> RunSpec("FFML", RunConfig("adult", seed=3, validation_fraction=0.9)).name
        'FFML on adult, seed 3, 90 % judge'
        """
        share = self.config.validation_fraction
        judged = "" if share == RunConfig.validation_fraction else f", {100 * share:g} % judge"
        return f"{self.label} on {Path(self.config.data).stem}, seed {self.config.seed}{judged}"

    @property
    def stem(self) -> str:
        """What the names of its files begin with."""
        config = self.config
        return f"{Path(config.data).stem}-{config.recipe.method}-{config.seed}-{self.key[:16]}"

    @property
    def cells(self) -> tuple["RunSpec", ...]:
        """The runs that are computed with it: itself."""
        return (self,)

    @property
    def place(self) -> dict[str, Any]:
        """The columns of a table that tell it from others."""
        config = self.config
        return {
            "label": self.label,
            "method": config.recipe.method,
            "data": config.data,
            "validation": config.validation_fraction,
            "seed": config.seed,
        }


class Store:
    """A folder of cells' files. What is damaged, or of another config, counts as not there."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)

    def path(self, cell: RunSpec) -> Path:
        """Return where a cell's results are, or will be."""
        return self.folder / f"{cell.stem}.safetensors"

    def finished(self, cell: RunSpec) -> bool:
        """Tell whether a cell's results are there and whole, with its learning curves if asked."""
        return self.contents(cell) is not None

    def save(self, cell: RunSpec, packed: bytes) -> None:
        """Keep what `packed_cell` made."""
        self.folder.mkdir(parents=True, exist_ok=True)
        durable.write_atomically(self.path(cell), packed)

    def seconds(self, cells: Sequence[RunSpec]) -> float:
        """Return how long finished cells took, data and compilation included."""
        documents = [(cell, self._finished(cell).document) for cell in cells]
        curves = sum(d["curve_seconds"] for cell, d in documents if cell.sizes)
        return float(sum(d["seconds"] for _, d in documents) + curves)

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
            if different.setdefault(tuple(cell.place.values()), cell).key != cell.key:
                raise FFMLError(f"two different cells are {cell.name}; give them other labels")
        if not different:
            raise FFMLError("there is nothing to load; give at least one cell")
        frame = pd.concat(
            [pd.DataFrame(_rows(cell, self._finished(cell))) for cell in different.values()],
            ignore_index=True,
        )
        last = ["iterations", "seconds", "undefined"]
        return frame[[*frame.columns.difference(last, sort=False), *last]]

    def load_curves(self, cells: Sequence[RunSpec]) -> pd.DataFrame:
        """Return one row per cell with ``sizes``, round and number of labelled rows.

        Columns: those of `RunSpec.place`, ``round``, ``rows``, ``loss``, ``dbc``.
        """
        frames = []
        for cell in cells:
            points = self._finished(cell).arrays["curves"]
            frame = pd.DataFrame(points, columns=["round", *Point._fields]).astype({"round": int})
            frames.append(pd.DataFrame(cell.place, index=frame.index).join(frame))
        return pd.concat(frames, ignore_index=True)

    def contents(self, cell: RunSpec) -> Contents | None:
        """Read a cell's file; None where it is not finished."""
        contents = read_keyed(self.path(cell), cell.key)
        measured = () if contents is None else contents.document.get("sizes", ())
        return contents if not cell.sizes or tuple(measured) == cell.sizes else None

    def _finished(self, cell: RunSpec) -> Contents:
        contents = self.contents(cell)
        if contents is None:
            raise FFMLError(f"{self.folder} has no results of {cell.name}; run that cell first")
        return contents


def packed_cell(
    cell: RunSpec,
    experiment: Experiment,
    rounds: Sequence[Round],
    seconds: float,
    curves: Sequence[Sequence[Point]] = (),
    curve_seconds: float = 0.0,
) -> bytes:
    """Make the file of a finished cell: its rounds to the last bit, and their learning curves."""
    document: dict[str, Any] = {
        "kind": "cell",
        "key": cell.key,
        "config": plain(cell.config.to_json()),
        "settings": plain(cell.config.settings),
        "constraint_names": experiment.problem.constraint_names,
        "groups": {c.name: c.groups for c in experiment.loop.schema.sensitive},
        "columns": list(rounds[0].tables),
        "numbers": [record.round for record in rounds],
        "tasks": [record.task for record in rounds],
        "rounds": [round_document(record) for record in rounds],
        "seconds": seconds,
        "versions": versions(),
    }
    arrays = {
        f"tables.{i}": np.stack([record.tables[column] for record in rounds])
        for i, column in enumerate(document["columns"])
    }
    if curves:
        document |= {"sizes": cell.sizes, "curve_seconds": curve_seconds}
        points = [(t, *point) for t, curve in enumerate(curves, 1) for point in curve]
        arrays["curves"] = np.array(points, float)
    return pack(document, arrays).data


def _rounds(contents: Contents) -> list[Round]:
    """Read the rounds of a cell back."""
    document, arrays = contents
    tables = {column: arrays[f"tables.{i}"] for i, column in enumerate(document["columns"])}
    kept = [
        LedgerRound(t, task, "learned", one)
        for t, (task, one) in enumerate(zip(document["tasks"], document["rounds"], strict=True), 1)
    ]
    columns = [SensitiveColumn(name, tuple(g)) for name, g in document["groups"].items()]
    return rounds_from(kept, Tables(tables, {}), columns)


def _rows(cell: RunSpec, contents: Contents) -> list[dict[str, Any]]:
    rounds, document = _rounds(contents), contents.document
    tables = {name: np.stack([r.tables[name] for r in rounds]) for name in rounds[0].tables}
    gaps = gap_columns(tables, document["groups"])
    numbers = document.get("numbers", range(1, len(rounds) + 1))
    return [
        {
            **cell.place,
            "round": number,
            "rounds": len(rounds),
            "task": record.task,
            "n_rows": record.n_rows,
            "n_support": record.n_support,
            "n_validation": record.n_validation,
            **record.metrics,
            "selected": _selected(record),
            **_constraint_columns(record, document["constraint_names"]),
            **{name: float(values[t]) for name, values in gaps.items()},
            "iterations": record.iterations,
            "seconds": record.seconds,
            "undefined": "; ".join(f"{name}: {why}" for name, why in record.undefined.items()),
        }
        for t, (number, record) in enumerate(zip(numbers, rounds, strict=True))
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
