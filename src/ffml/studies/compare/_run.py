"""Computing cells: those that are missing, in parallel, each kept as soon as it is finished."""

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from ffml.base import FFMLError
from ffml.border import at_least
from ffml.datasets import DATASETS
from ffml.online.loop import step
from ffml.online.state import Round
from ffml.recipe.build import build, num_rounds
from ffml.recipe.sharing import shared_functions
from ffml.recipe.sources import table_document
from ffml.runs import durable
from ffml.studies.compare._spec import RunSpec
from ffml.studies.compare._store import Store, packed_cell
from ffml.studies.parallel import failure_message, run_jobs


class Event(NamedTuple):
    """What happened to a cell: "started", "round", "finished" or "failed"."""

    kind: str
    cell: RunSpec
    round: int = 0  # the round being played
    rounds: int | None = None
    reason: str = ""
    seconds: float = 0.0  # that a finished cell took


def run_cells(
    cells: Sequence[RunSpec],
    store: Store,
    *,
    workers: int | None = None,
    backend: str | None = None,
    progress: Callable[[Event], None] = lambda event: None,
) -> list[RunSpec]:
    """Compute the cells that are not in the store, in parallel processes or on a cluster.

    A cell that fails, or whose process is killed, does not keep the others from finishing. An
    interruption stops all processes at once; what is finished stays. Scripts must call this under
    ``if __name__ == "__main__":``, because every process imports the script anew.

    Args:
        cells: what to compute; cells with the same settings are computed once.
        store: where results are kept.
        workers: processes at a time, one for each core by default.
        backend: "ray" or "dask": a cluster instead of processes, see `ffml.studies.clusters`.
        progress: told of every `Event`.

    Returns:
        The cells that were computed now.

    Raises:
        FFMLError: cells failed; raised after all others are finished, with the reasons. The
            traceback of an unexpected error is beside the results, in a file ``….error.txt``.
    """
    at_least(1, workers=1 if workers is None else workers)
    missing = unfinished(cells, store)
    if not missing:
        return []

    def tell(kind: str, cell: RunSpec, *details: Any) -> None:
        progress(event_of(kind, cell, details, store.path(cell)))

    with locked(store.folder):
        failures = run_jobs(
            compute, missing, store.save, workers=workers, backend=backend, tell=tell
        )
    if failures:
        raise FFMLError(failure_message(failures, len(missing)))
    return missing


def event_of(kind: str, cell: RunSpec, details: Sequence[Any], path: Path) -> Event:
    """Turn what `run_jobs` tells into an event; a traceback is written beside the results."""
    if kind == "said":
        return Event("round", cell, *details)
    if kind == "finished":
        return Event("finished", cell, seconds=details[0])
    if kind == "failed":
        reason, trace = details
        if trace:
            durable.write_atomically(path.with_suffix(".error.txt"), trace)
        return Event("failed", cell, reason=reason)
    return Event(kind, cell)


def compute(cell: RunSpec, on_round: Callable[[int, int | None], None]) -> bytes:
    """Play all rounds of a cell; return what `Store.save` keeps.

    Cells that differ in their seeds share a program: a process traces and loads it once.
    """
    began = time.perf_counter()
    experiment = build(cell.config, functions=shared_functions)
    if table_document(experiment.stream).get("fingerprint", "") != cell.fingerprint:
        raise FFMLError(f"{cell.config.data} has changed since the comparison began; start again")
    total = num_rounds(cell.config, experiment.stream)
    state = experiment.state
    rounds: list[Round] = []
    for task in islice(experiment.stream.tasks(), cell.config.rounds):
        on_round(len(rounds) + 1, total)
        state, record = step(experiment.loop, state, task)
        rounds.append(record)
    return packed_cell(cell, experiment, rounds, time.perf_counter() - began)


def unfinished(cells: Sequence[RunSpec], store: Store) -> list[RunSpec]:
    """Return the cells to compute, in a good order.

    One cell of every program comes first, so that the others find it compiled; then the longest,
    so that none is left alone at the end.
    """
    by_key = {cell.key: cell for cell in cells}
    missing = [cell for cell in by_key.values() if not store.finished(cell)]
    programs: dict[str, str] = {}
    for cell in missing:
        programs.setdefault(replace(cell, config=replace(cell.config, seed=0)).key, cell.key)
    first = set(programs.values())
    return sorted(missing, key=lambda cell: (cell.key in first, _cost(cell)), reverse=True)


def _cost(cell: RunSpec) -> tuple[float, ...]:
    """Guess which of two cells takes longer."""
    settings = cell.config.settings
    steps = settings.get("num_outer_steps", settings.get("num_steps", 1))
    steps *= 1 + settings.get("inner.num_steps", 0)
    refits = settings.get("max_iter", 0)  # of fairlearn, each of them several fits
    rows = DATASETS[cell.config.data].num_rows if cell.config.data in DATASETS else 0
    return refits, steps, rows


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Keep a second comparison from computing the same cells."""
    folder.mkdir(parents=True, exist_ok=True)
    descriptor = durable.lock(folder)
    try:
        yield
    finally:
        if descriptor is not None:
            os.close(descriptor)
