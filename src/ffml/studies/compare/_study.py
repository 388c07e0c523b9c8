"""A whole comparison: which cells, computed where they are missing, summed up in files."""

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from ffml.base import FFMLError
from ffml.recipe.sources import TABLE_OPTIONS, as_given, find_table, is_table
from ffml.runs.ownership import check_results
from ffml.runtime import available_cores
from ffml.studies.cells import RunSpec, Store
from ffml.studies.compare._protocols import PAPER_DATA, plan
from ffml.studies.compare._results import write_results
from ffml.studies.compare._summary import summarise_results
from ffml.studies.files import made_by
from ffml.studies.play import Watch, run_missing, unwatched
from ffml.tables import open_table


class Compared(NamedTuple):
    """What a comparison found: the summary, and all that summary.json says."""

    summary: pd.DataFrame
    document: dict[str, Any]


def compare_methods(
    cells: Sequence[RunSpec],
    out: Path,
    *,
    jobs: int | None = None,
    backend: str | None = None,
    command: str = "",
    watch: Watch = unwatched,
) -> Compared:
    """Compute what is missing and sum up. Nothing is written before everything is checked.

    Finished cells are kept in ``out``; ``command`` is what summary.md says that the numbers were
    made with. For ``jobs``, ``backend`` and ``watch`` see `ffml.studies.play.run_missing`.
    """
    start = time.perf_counter()
    store = Store(out / "cells")
    check_results(out, store.folder, ours=(out / "tuned").is_dir())
    computed = run_missing(cells, store, workers=jobs, backend=backend, watch=watch)
    frame = store.load(cells)
    summary = summarise_results(frame)
    facts = made_by(command) | {
        "jobs": backend or jobs or available_cores(),
        "runs": len(cells),
        "computed": len(computed),
        "wall_seconds": time.perf_counter() - start,
        "cell_seconds": store.seconds(cells),
    }
    return Compared(summary, write_results(out, frame, summary, facts))


def plan_on_tables(
    data: Sequence[str] | None,
    roles: Mapping[str, Any],
    seeds_of: Mapping[str, Sequence[int]],
    **wanted: Any,
) -> list[RunSpec]:
    """List the cells of a comparison, with what the columns of tables are; see `plan`.

    ``roles`` are those of tables; what is no option of a table is one of the data sets.
    """
    names = PAPER_DATA if data is None else data
    of_tables = [name for name in roles if name in TABLE_OPTIONS]
    if of_tables and not any(map(is_table, names)):
        option = as_given(of_tables[0])
        raise FFMLError(f"{option} is for tables of your own; give one with --data")
    of_data_sets = {name: value for name, value in roles.items() if name not in TABLE_OPTIONS}
    resolved = {
        name: find_table(name, dict(roles if is_table(name) else of_data_sets)) for name in names
    }
    options = {table.data: table.options for table in resolved.values()}
    return plan(
        list(options),
        data_options=options,
        fingerprints={name: open_table(name).fingerprint() for name in options if is_table(name)},
        seeds_of={
            resolved[name].data if name in resolved else name: seeds
            for name, seeds in seeds_of.items()
        },
        **wanted,
    )
