"""Runs that are measured with growing supports on the way, many at a time."""

import time
from collections.abc import Callable, Sequence
from itertools import islice
from typing import Any

from ffml.base import FFMLError
from ffml.online.loop import step
from ffml.online.state import Round
from ffml.recipe.build import build, num_rounds
from ffml.recipe.sharing import shared_functions
from ffml.research.reproduce._curves import CurveSpec, CurveStore, packed_curves
from ffml.studies.compare import Event, Store, event_of, locked, packed_cell
from ffml.studies.efficiency import Point, by_adapting, by_updating, learning_curve
from ffml.studies.parallel import failure_message, run_jobs

# Those who never adapt learn rows of a new task by their own steps.
LEARNING = {
    "ffml": by_adapting,
    "m-ftml": by_adapting,
    "twp": by_updating,
    "ogdlc": by_updating,
    "adp-olc": by_updating,
    "gen-olc": by_updating,
}


def run_curves(
    cells: Sequence[CurveSpec],
    curves: CurveStore,
    runs: Store,
    *,
    workers: int | None = None,
    backend: str | None = None,
    progress: Callable[[Event], None] = lambda event: None,
) -> None:
    """Compute the curves that are not in the store, and the runs they belong to.

    The first seed's runs come first: the others find their programs compiled.

    Raises:
        FFMLError: runs failed; raised after all others are finished, with the reasons.
    """
    missing = [cell for cell in cells if not curves.finished(cell)]
    if not missing:
        return

    def tell(kind: str, cell: CurveSpec, *details: Any) -> None:
        progress(event_of(kind, cell.run, details, curves.path(cell)))

    def keep(cell: CurveSpec, found: tuple[bytes, bytes]) -> None:
        if not runs.finished(cell.run):
            runs.save(cell.run, found[0])
        curves.save(cell, found[1])

    order = sorted(missing, key=lambda cell: cell.run.config.seed)
    with locked(curves.folder):
        failures = run_jobs(compute, order, keep, workers=workers, backend=backend, tell=tell)
    if failures:
        raise FFMLError(failure_message(failures, len(missing)))


def compute(cell: CurveSpec, on_round: Callable[[int, int | None], None]) -> tuple[bytes, bytes]:
    """Play a run, measuring before each round; return the files of the run and of its curves."""
    began, measuring = time.perf_counter(), 0.0
    config = cell.run.config
    experiment = build(config, functions=shared_functions)
    loop, state = experiment.loop, experiment.state
    total = num_rounds(config, experiment.stream)
    learn = LEARNING[config.recipe.method](loop)
    found: list[list[Point]] = []
    rounds: list[Round] = []
    for task in islice(experiment.stream.tasks(), config.rounds):
        on_round(len(rounds) + 1, total)
        before = time.perf_counter()
        found.append(learning_curve(loop, state, task, learn, cell.sizes))
        measuring += time.perf_counter() - before
        state, record = step(loop, state, task)
        rounds.append(record)
    seconds = time.perf_counter() - began - measuring
    run = packed_cell(cell.run, experiment, rounds, seconds)
    return run, packed_curves(cell, found, measuring)
