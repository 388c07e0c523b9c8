"""Play a stream with many settings at once, and judge each."""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import islice

import jax
import numpy as np

from ffml.base import FFMLError
from ffml.online.decide import decided_about, find_rule
from ffml.online.judge import NO_DECISION, Judgement, judge_decisions
from ffml.online.learn import learn_or_wait
from ffml.online.loop import Arrived, arrive, is_judged, known, start
from ffml.online.state import Loop, LoopState, Round
from ffml.recipe.build import Experiment, num_rounds
from ffml.studies.cells import packed_cell
from ffml.studies.play import open_cell
from ffml.studies.tuning._chunks import Chunk
from ffml.studies.tuning._program import Program, compile_program, many_learners
from ffml.studies.tuning._search import last_round
from ffml.threads import one_thread


@dataclass
class ChunkPlayer:
    """Plays chunks, and compiles only what differs from the chunk before."""

    compiled: tuple[tuple[int, int], Program] | None = None

    def __call__(self, chunk: Chunk, on_round: Callable[[int, int], None]) -> list[bytes]:
        """Return the files of a chunk's cells; each has its part of the time."""
        began = time.perf_counter()
        experiment = open_cell(chunk.cells[0])
        place = (chunk.program, chunk.size)
        if self.compiled is None or self.compiled[0] != place:
            config, schema = experiment.config, experiment.stream.schema
            names = tuple(chunk.values)
            program = compile_program(config, schema, names, chunk.size, chunk.num_devices)
            self.compiled = (place, program)
        rounds = play(chunk, self.compiled[1], experiment, on_round)
        seconds = (time.perf_counter() - began) / len(chunk.cells)
        both = zip(chunk.cells, zip(*rounds, strict=True), strict=True)
        return [packed_cell(cell, experiment, own, seconds) for cell, own in both]


def play(
    chunk: Chunk, program: Program, experiment: Experiment, on_round: Callable[[int, int], None]
) -> list[list[Round]]:
    """Play the stream up to the end of its second third; return what judged each setting.

    The list has an item for each round that judges, with a record for each setting.
    """
    loop, state = many_loop(chunk, program, experiment)
    last = last_round(num_rounds(experiment.config, experiment.stream) or 0)
    rounds: list[list[Round]] = []
    for task in islice(experiment.stream.tasks(), last):
        on_round(state.round + 1, last)
        with one_thread():
            before = state
            state, arrived = arrive(loop, before, task)
            if is_judged(loop, state.round, arrived):
                judgements = judge_each(loop, before, arrived, len(chunk.cells))
                rounds.append([_record(loop, state, arrived, judged) for judged in judgements])
            state, _ = learn_or_wait(loop, state, arrived.as_it_came, NO_DECISION)
    if not rounds:
        raise FFMLError(
            f"no round of seed {chunk.seed} has {loop.judge_min_rows} validation rows; give a "
            "smaller --min-validation"
        )
    return rounds


def _record(loop: Loop, state: LoopState, arrived: Arrived, judgement: Judgement) -> Round:
    """Say how a round was judged; what was learned, the settings of a chunk do not tell apart."""
    rows, y = arrived.rows, arrived.task.y
    unknown = np.full(loop.problem.num_constraints, np.nan)
    return Round(
        round=state.round,
        task=arrived.task.name,
        n_rows=len(y),
        n_support=len(rows.support),
        n_validation=int((y[rows.validation] >= 0).sum()),
        **judgement._asdict(),
        multipliers=unknown,
        violation=unknown,
        clipped_violation=unknown,
        iterations=0,
        seconds=0.0,
    )


def judge_each(loop: Loop, before: LoopState, arrived: Arrived, settings: int) -> list[Judgement]:
    """Judge the decisions of each setting; one that has diverged is judged by them as well."""
    task, rows = arrived.as_it_came, arrived.rows
    standing = find_rule(loop, known(loop, before), task, rows.support, rows.validation)
    judgements = []
    with np.errstate(all="ignore"):
        for i in range(settings):
            rule = standing._replace(
                params=jax.tree.map(lambda leaf, i=i: leaf[i], standing.params)
            )
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
