"""Play a stream with many settings at once, and judge each."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import Any

import jax
import numpy as np

from ffml.base import FFMLError
from ffml.online.decide import decided_about, find_rule
from ffml.online.judge import NO_DECISION, Judgement, judge_decisions
from ffml.online.learn import learn_or_wait
from ffml.online.loop import Arrived, arrive, is_judged, known, start
from ffml.online.state import Loop, LoopState
from ffml.recipe.build import Experiment, num_rounds
from ffml.studies._evenness import gap_columns
from ffml.studies.jobs import failure_message, run_jobs
from ffml.studies.play import locked, open_cell
from ffml.studies.tuning._chunks import Chunk
from ffml.studies.tuning._program import Program, compile_program, many_learners
from ffml.studies.tuning._search import last_round
from ffml.studies.tuning._store import ChunkStore, Judged
from ffml.threads import one_thread

Progress = Callable[[str, Chunk, int], None]  # "round" or "finished", chunk, round


def run_chunks(
    chunks: Sequence[Chunk],
    store: ChunkStore,
    *,
    backend: str | None = None,
    progress: Progress = lambda kind, chunk, at: None,
) -> None:
    """Compute chunks, and keep what each one gives.

    An interruption loses what is being computed; the others are kept.

    Args:
        chunks: of `unfinished_chunks`.
        store: where results are kept.
        backend: "ray" or "dask": each chunk on a core of that cluster, see
            `ffml.studies.jobs`. None: one after another, each on all devices.
        progress: told of every round that begins and of every finished chunk.

    Raises:
        FFMLError: chunks failed.
    """
    if not chunks:
        return

    def keep(chunk: Chunk, found: tuple[Judged, float]) -> None:
        store.save(chunk.cells, *found)

    with locked(store.folder):
        if backend is None:
            compute, say = ChunkPlayer(), partial(progress, "round")
            for chunk in chunks:
                keep(chunk, compute(chunk, partial(say, chunk)))
                progress("finished", chunk, 0)
            return

        def tell(kind: str, chunk: Chunk, *details: Any) -> None:
            if kind == "finished":
                progress(kind, chunk, 0)

        if failures := run_jobs(ChunkPlayer(), chunks, keep, backend=backend, tell=tell):
            raise FFMLError(failure_message(failures, len(chunks)))


@dataclass
class ChunkPlayer:
    """Plays chunks, and compiles only what differs from the chunk before."""

    compiled: tuple[tuple[int, int], Program] | None = None

    def __call__(self, chunk: Chunk, on_round: Callable[[int], None]) -> tuple[Judged, float]:
        """Return how a chunk was judged, and how long that took."""
        start = time.perf_counter()
        experiment = open_cell(chunk.cells[0])
        place = (chunk.program, chunk.size)
        if self.compiled is None or self.compiled[0] != place:
            config, schema = experiment.config, experiment.stream.schema
            names = tuple(chunk.values)
            program = compile_program(config, schema, names, chunk.size, chunk.num_devices)
            self.compiled = (place, program)
        return play(chunk, self.compiled[1], experiment, on_round), time.perf_counter() - start


def play(
    chunk: Chunk, program: Program, experiment: Experiment, on_round: Callable[[int], None]
) -> Judged:
    """Play the stream up to the end of its second third; return how each setting was judged."""
    loop, state = many_loop(chunk, program, experiment)
    rounds: list[int] = []
    sizes: list[int] = []
    judgements: list[list[Judgement]] = []
    for task in islice(experiment.stream.tasks(), last_round(_rounds(experiment))):
        on_round(state.round + 1)
        with one_thread():
            before = state
            state, arrived = arrive(loop, before, task)
            if is_judged(loop, state.round, arrived):
                rounds.append(state.round)
                sizes.append(int((task.y[arrived.rows.validation] >= 0).sum()))
                judgements.append(judge_each(loop, before, arrived, len(chunk.cells)))
            state, _ = learn_or_wait(loop, state, arrived.as_it_came, NO_DECISION)
    if not judgements:
        raise FFMLError(
            f"no round of seed {chunk.seed} has {loop.judge_min_rows} validation rows; give a "
            "smaller --min-validation"
        )
    groups = {column.name: column.groups for column in loop.schema.sensitive}
    numbers = [[j.metrics | _gaps(j, groups) for j in row] for row in judgements]
    metrics = tuple(numbers[0][0])
    values = [[list(found.values()) for found in row] for row in numbers]
    return Judged(rounds, sizes, metrics, np.array(values, float).swapaxes(0, 1))


def _gaps(judgement: Judgement, groups: Mapping[str, Sequence[str]]) -> dict[str, float]:
    """Return what a round adds to typical and long-run gaps."""
    tables = {name: table[None] for name, table in judgement.tables.items()}
    return {name: float(values[0]) for name, values in gap_columns(tables, groups).items()}


def judge_each(loop: Loop, before: LoopState, arrived: Arrived, settings: int) -> list[Judgement]:
    """Judge the decisions of each setting; one that has diverged is judged by them as well."""
    task, rows = arrived.as_it_came, arrived.rows
    found = find_rule(loop, known(loop, before), task, rows.support, rows.validation)
    judgements = []
    with np.errstate(all="ignore"):
        for i in range(settings):
            rule = found._replace(params=jax.tree.map(lambda leaf, i=i: leaf[i], found.params))
            decided = decided_about(loop, rule, task, rows.validation)
            judgements.append(judge_decisions(loop.problem, loop.schema, task, decided))
    return judgements


def many_loop(chunk: Chunk, program: Program, experiment: Experiment) -> tuple[Loop, LoopState]:
    """Return a loop like the experiment's own, for all settings of a chunk at once.

    Splits, supports and draws are the same for all of them.
    """
    learner = many_learners(program, chunk.values)
    loop = replace(experiment.loop, problem=program.problem, learner=learner, step_sizes=None)
    return loop, start(loop, experiment.state.scaler)


def _rounds(experiment: Experiment) -> int:
    return num_rounds(experiment.config, experiment.stream) or 0
