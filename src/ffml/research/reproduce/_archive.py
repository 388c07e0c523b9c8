"""Finished runs as small text files, so that days of computing can be kept with the code.

A file says what was run, how many people of each group got which decision, and what cannot be
counted from that. Ratios, gaps and ceilings are counted anew when it is read.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ffml.recipe.plain import plain
from ffml.store.container import Contents, pack
from ffml.studies.cells import RunSpec, Store
from ffml.studies.files import write_files

_ALIKE = ("constraint_names", "groups", "columns", "tasks", "seconds", "versions")
_BY_ROUND = ("n_support", "iterations", "constraint", "multipliers", "seconds")
_METRICS = ("loss", "dbc")  # which no counts tell


def exchange_runs(cells: Sequence[RunSpec], store: Store, folder: Path) -> None:
    """Take finished runs from a folder into the store, and add what only the store has."""
    kept = {}
    for path in sorted(folder.glob("*.json")):
        run = json.loads(path.read_text(encoding="utf-8"))
        kept[json.dumps(run["run"], sort_keys=True)] = run
    for cell in cells:
        run = kept.get(json.dumps(cell.description, sort_keys=True))
        contents = store.contents(cell)
        if run is None and contents is not None:
            write_files(folder, {file_name(cell): _lines(_as_text(cell, contents))})
        if run is not None and contents is None and not cell.sizes:
            store.save(cell, _as_file(cell, run))


def file_name(cell: RunSpec) -> str:
    """Return what a run's file is called."""
    config = cell.config
    return f"{config.data}-{config.recipe.method}-{config.seed}-{cell.key[:8]}.json"


def _lines(run: dict[str, Any]) -> str:
    """Write JSON with a line for each of its parts."""
    parts = (f"{json.dumps(name)}: {json.dumps(plain(part))}" for name, part in run.items())
    return "{\n" + ",\n".join(parts) + "\n}\n"


def _as_text(cell: RunSpec, contents: Contents) -> dict[str, Any]:
    document, arrays = contents
    rounds = document["rounds"]
    by_round = {name: [one[name] for one in rounds] for name in _BY_ROUND}
    counts = [arrays[f"tables.{i}"] for i in range(len(document["columns"]))]
    return {
        "run": cell.description,
        **{name: document[name] for name in _ALIKE},
        "counts": [table.astype(int).tolist() for table in counts],  # (column, T, k, 3, 2)
        "by_round": by_round
        | {name: [one["metrics"].get(name) for one in rounds] for name in _METRICS},
    }


def _as_file(cell: RunSpec, run: dict[str, Any]) -> bytes:
    by_round = [
        dict(zip(run["by_round"], values, strict=True))
        for values in zip(*run["by_round"].values(), strict=True)
    ]
    nothing = {"drift": [], "extra": {}, "reliability": [[10, 3], [0.0] * 30]}  # not kept
    rounds = [
        {name: one[name] for name in _BY_ROUND}
        | {"metrics": {name: one[name] for name in _METRICS}}
        | nothing
        for one in by_round
    ]
    document = {
        "kind": "cell",
        "key": cell.key,
        "rounds": rounds,
        **{name: run[name] for name in _ALIKE},
    }
    counts = (np.array(table) for table in run["counts"])
    return pack(document, {f"tables.{i}": table for i, table in enumerate(counts)}).data
