"""Computing cells: those that are missing, in parallel, each kept as soon as it is finished."""

import json
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from ffml.base import FFMLError
from ffml.border import at_least
from ffml.datasets import DATASETS
from ffml.online.loop import step
from ffml.online.state import Round
from ffml.recipe.build import Experiment, assemble, build, check_config, num_rounds
from ffml.recipe.sources import open_stream, table_document
from ffml.runtime import available_cores
from ffml.store import durable
from ffml.studies.cells import RunSpec, Store, packed_cell
from ffml.studies.efficiency import Point, learning_curve, way_to_learn
from ffml.studies.jobs import (
    Compute,
    Tell,
    check_backend,
    failure_message,
    nobody,
    run_jobs,
)


class Work(NamedTuple):
    """What is to be computed, for those who watch it."""

    words: str  # say what, and where; empty if there is nothing to say
    total: int  # cells, the finished ones included
    left: Callable[[], int]  # counts those that are not finished
    folder: Path  # they are kept in


Watch = Callable[[Work], AbstractContextManager[Tell]]


def unwatched(work: Work) -> AbstractContextManager[Tell]:
    """Compute without telling anybody."""
    return nullcontext(nobody)


def run_missing(
    cells: Sequence[RunSpec],
    store: Store,
    *,
    workers: int | None = None,
    backend: str | None = None,
    watch: Watch = unwatched,
) -> list[RunSpec]:
    """Check all cells that are not in the store, then compute them as `run_cells` does.

    ``watch`` returns a context in which they are computed, with what is told of each.
    """
    check_backend(backend, workers)
    missing = unfinished(cells, store)
    check_cells(missing)
    workers = min(workers or available_cores(), max(len(missing), 1))
    where = backend or f"{workers} process{'es' if workers > 1 else ''}"
    words = _words(len(cells), len(missing), where)
    work = Work(words, len(cells), lambda: len(unfinished(cells, store)), store.folder)
    with watch(work) as tell:
        return run_cells(missing, store, workers=workers, backend=backend, tell=tell)


def _words(total: int, missing: int, where: str) -> str:
    """Say how many cells are computed.

    >>> _words(5, 2, "ray"), _words(5, 0, "ray")
    ('5 runs, 3 of them finished already; computing 2 on ray', 'all 5 runs are finished already; \
nothing is computed again')
    """
    if not missing:
        return f"all {total} runs are finished already; nothing is computed again" if total else ""
    kept = f", {total - missing} of them finished already" if total > missing else ""
    return f"{total} runs{kept}; computing {missing} on {where}"


def run_cells(
    cells: Sequence[RunSpec],
    store: Store,
    *,
    workers: int | None = None,
    backend: str | None = None,
    tell: Tell = nobody,
) -> list[RunSpec]:
    """Compute the cells that are not in the store; return those that were computed now.

    A cell that fails, or whose process is killed, does not keep the others from finishing. An
    interruption stops all processes at once; what is finished stays. Scripts must call this under
    ``if __name__ == "__main__":``, because every process imports the script anew.

    ``workers`` are processes at a time, one for each core by default; with the ``backend`` "ray" or
    "dask" a cluster computes instead. ``tell`` hears what happens, as `ffml.studies.jobs.run_jobs`
    says it; a cell says round by round which of how many it plays.
    """
    at_least(1, workers=1 if workers is None else workers)
    missing = unfinished(cells, store)
    run_and_keep(compute, missing, store, workers=workers, backend=backend, tell=tell)
    return missing


def run_and_keep(
    compute: Compute,
    jobs: Sequence[Any],
    store: Store,
    *,
    workers: int | None = None,
    backend: str | None = None,
    tell: Tell = nobody,
) -> None:
    """Compute jobs, each a cell or several ``cells`` at once, as `ffml.studies.jobs.run_jobs` does.

    ``compute`` returns what `packed_cell` makes of each cell. Nobody else can compute for the
    store meanwhile.

    Raises:
        FFMLError: jobs failed; raised after all others are finished, with the reasons. The
            traceback of an unexpected error is beside the results, in a file ``….error.txt``.
    """

    def keep(job: Any, files: Sequence[bytes]) -> None:
        for cell, packed in zip(job.cells, files, strict=True):
            store.save(cell, packed)

    def noted(kind: str, job: Any, *details: Any) -> None:
        if kind == "failed" and details[1]:
            durable.write_atomically(store.folder / f"{job.stem}.error.txt", details[1])
        tell(kind, job, *details)

    if not jobs:
        return
    with _locked(store.folder):
        failures = run_jobs(compute, jobs, keep, workers=workers, backend=backend, tell=noted)
    if failures:
        raise FFMLError(failure_message(failures, len(jobs)))


def compute(cell: RunSpec, on_round: Callable[[int, int | None], None]) -> list[bytes]:
    """Play all rounds of a cell; return its file.

    Cells that differ in their seeds share a program: a process traces and loads it once.
    """
    began, measuring = time.perf_counter(), 0.0
    experiment = open_cell(cell)
    loop, state = experiment.loop, experiment.state
    total = cell.last or num_rounds(cell.config, experiment.stream)
    learn = way_to_learn(cell.config.recipe.method, loop)
    rounds: list[Round] = []
    curves: list[list[Point]] = []
    for task in islice(experiment.stream.tasks(), cell.last or cell.config.rounds):
        on_round(len(rounds) + 1, total)
        if cell.sizes:
            before = time.perf_counter()
            curves.append(learning_curve(loop, state, task, learn, cell.sizes))
            measuring += time.perf_counter() - before
        state, record = step(loop, state, task)
        rounds.append(record)
    seconds = time.perf_counter() - began - measuring
    return [packed_cell(cell, experiment, rounds, seconds, curves, measuring)]


def open_cell(cell: RunSpec) -> Experiment:
    """Open a cell's data and build its learner; refuses a table that has changed."""
    experiment = build(cell.config)
    if table_document(experiment.stream).get("fingerprint", "") != cell.fingerprint:
        raise FFMLError(f"{cell.config.data} has changed since this began; start again")
    return experiment


def unfinished(cells: Sequence[RunSpec], store: Store) -> list[RunSpec]:
    """Return the cells to compute, in a good order.

    One cell of every program comes first, so that the others find it compiled; then the longest,
    so that none is left alone at the end.
    """
    by_key = {cell.key: cell for cell in sorted(cells, key=lambda cell: len(cell.sizes))}
    missing = [cell for cell in by_key.values() if not store.finished(cell)]
    first = {cell.key for cell in _programs(missing, validation_fraction=0.5).values()}
    return sorted(missing, key=lambda cell: (cell.key in first, _cost(cell)), reverse=True)


def check_cells(cells: Sequence[RunSpec]) -> None:
    """Open every data set once (downloading it if need be) and build every learner.

    Raises:
        FFMLError: data, an optional library or a setting is not what it must be.
    """
    streams: dict[str, Any] = {}
    for cell in _programs(cells).values():
        config = cell.config
        check_config(config)
        source = json.dumps([config.data, config.data_options], sort_keys=True, default=str)
        if source not in streams:
            streams[source] = open_stream(config.data, config.data_options, seed=config.seed)
        assemble(config, *streams[source])


def _programs(cells: Sequence[RunSpec], **same: Any) -> dict[str, RunSpec]:
    """Return the first of all cells that differ in their seeds, and in ``same``, alone."""
    first: dict[str, RunSpec] = {}
    for cell in cells:
        first.setdefault(replace(cell, config=replace(cell.config, seed=0, **same)).key, cell)
    return first


def _cost(cell: RunSpec) -> tuple[float, ...]:
    """Guess which of two cells takes longer."""
    settings = cell.config.settings
    steps = settings.get("num_outer_steps", settings.get("num_steps", 1))
    steps *= 1 + settings.get("inner.num_steps", 0)
    refits = settings.get("max_iter", 0)  # of fairlearn, each of them several fits
    rows = DATASETS[cell.config.data].num_rows if cell.config.data in DATASETS else 0
    return refits, steps, rows


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Keep a second process from computing the same cells."""
    folder.mkdir(parents=True, exist_ok=True)
    descriptor = durable.lock(folder)
    try:
        yield
    finally:
        if descriptor is not None:
            os.close(descriptor)
