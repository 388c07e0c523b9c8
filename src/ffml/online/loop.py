"""The online loop: decide, be judged, learn. A round takes a value and returns the next one."""

import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import jax
import numpy as np

from ffml.base import (
    Learner,
    Pair,
    Problem,
    Stream,
    Task,
    pair_of,
)
from ffml.draws import SPLIT, draws
from ffml.methods.trust import MOST_ROWS
from ffml.online.decide import (
    Known,
    decided_about,
    described_by,
    find_rule,
    met_lately,
    refuse_divergence,
)
from ffml.online.drift import Drift, InputWatch
from ffml.online.judge import (
    NO_DECISION,
    NOBODY,
    Decided,
    Judgement,
    Split,
    decision_counts,
    judge_decisions,
    not_judged,
    split_rows,
)
from ffml.online.learn import learn_or_wait
from ffml.online.memory import Memory
from ffml.online.state import Loop, LoopState, Round
from ffml.online.waiting import split_by_label
from ffml.runtime import compiled
from ffml.tables.scaling import RunningScaler
from ffml.threads import one_thread


class Arrived(NamedTuple):
    """A task at the beginning of its round."""

    task: Task  # features standardised, with the columns that were added
    as_it_came: Task  # the same before they were standardised
    rows: Split  # who supports the decision and who is decided about
    drift: tuple[Drift, ...]


def start(
    loop: Loop, scaler: RunningScaler | None = None, watch: InputWatch | None = None
) -> LoopState:
    """Return what is known before the first round."""
    init = compiled(loop.learner.init) if loop.learner.traits.pure else loop.learner.init
    learner = jax.device_get(init(loop.key(0)))
    features = None if loop.features is None else loop.features.init()
    nothing = np.zeros(loop.problem.num_constraints)
    schema = loop.schema if loop.features is None else loop.features.schema
    recent = np.zeros((0, schema.num_columns), np.float32)
    return LoopState(0, learner, features, scaler, watch, Memory(), (), nothing, nothing, recent)


def step(loop: Loop, state: LoopState, task: Task) -> tuple[LoopState, Round]:
    """Play one round: adapt, be judged, learn.

    Raises:
        FFMLError: the learner's numbers are no longer finite.
    """
    with one_thread():
        began = time.perf_counter()
        after, arrived = arrive(loop, state, task)
        rows, decided, judgement = _judged(loop, state, arrived)
        alone = _decided_alone(loop, state, arrived.as_it_came, rows.validation)
        arrived = arrived._replace(rows=rows)
        after, record = _ended(loop, after, arrived, decided, judgement, began)
        return after, replace(record, alone=alone)


def absorb(loop: Loop, state: LoopState, task: Task, decided: Decided) -> tuple[LoopState, Round]:
    """Play the round of a task whose people were decided about one by one: be judged, learn."""
    with one_thread():
        began = time.perf_counter()
        state, arrived = arrive(loop, state, task)
        arrived = arrived._replace(rows=Split(NOBODY.support, decided.rows))
        judgement = judge_decisions(loop.problem, loop.schema, task, decided)
        return _ended(loop, state, arrived, decided, judgement, began)


def _ended(
    loop: Loop,
    state: LoopState,
    arrived: Arrived,
    decided: Decided,
    judgement: Judgement,
    began: float,
) -> tuple[LoopState, Round]:
    """Learn from a task that was judged, or let it wait, and say what happened."""
    task, rows = arrived.as_it_came, arrived.rows
    measured = np.nan_to_num(judgement.constraint)
    state = state._replace(
        violation=state.violation + measured,
        clipped_violation=state.clipped_violation + np.maximum(measured, 0),
    )
    state, learned = learn_or_wait(loop, state, task, decided)
    labels, judging = task.y[rows.support], task.y[rows.validation]
    most = MOST_ROWS if loop.shots is None else loop.shots
    return state, Round(
        round=state.round,
        task=task.name,
        n_rows=len(task.y),
        n_support=sum(min(most, int((labels == label).sum())) for label in (0, 1)),
        n_validation=int((judging >= 0).sum()),
        n_unlabelled=int((judging < 0).sum()),
        **judgement._asdict(),
        multipliers=np.asarray(pair(loop, state).multipliers),
        violation=state.violation,
        clipped_violation=state.clipped_violation,
        **learned._asdict(),
        seconds=time.perf_counter() - began,
        drift=arrived.drift,
        decided=decided,
    )


def knowledge(loop: Loop, state: LoopState) -> Any:
    """Return what the learner's decisions need of its state."""
    return jax.device_get(loop.learner.knowledge(state.learner))


def pair(loop: Loop, state: LoopState) -> Pair:
    """Return θ and λ, as they are now."""
    return pair_of(knowledge(loop, state), loop.problem.num_constraints)


def known(loop: Loop, state: LoopState) -> Known:
    """Return what decisions need of a state."""
    return Known(state.round, knowledge(loop, state), state.features, state.scaler, state.recent)


def arrive(loop: Loop, state: LoopState, task: Task) -> tuple[LoopState, Arrived]:
    """Begin a round: describe and standardise the task, and split its rows."""
    drift = () if state.watch is None else tuple(state.watch.compare(task))
    described = task._replace(x=described_by(loop, state.features, task.x))
    state = state._replace(
        round=state.round + 1,
        watch=state.watch and state.watch.update(task),
        scaler=state.scaler and state.scaler.update(described.x),
    )
    rows = _split(loop, state, task)
    people = rows.validation if len(rows.validation) else rows.support
    state = state._replace(recent=met_lately(state.recent, described.x[people]))
    standardised = described._replace(x=state.scaled(described.x))
    return state, Arrived(standardised, described, rows, drift)


def is_judged(loop: Loop, round_: int, arrived: Arrived) -> bool:
    """Tell whether a round is judged, rather than only learned from."""
    judges = len(arrived.rows.validation) >= loop.judge_min_rows
    return (round_ > loop.judge_after and judges) or bool((arrived.task.y < 0).any())


def play(problem: Problem, learner: Learner, stream: Stream, **settings: Any) -> Iterator[Round]:
    """Run a learner over a stream, yielding one `Round` a task as it goes.

    Args:
        problem: what is minimised and what is constrained.
        learner: the method, built for that problem.
        stream: the tasks in their order.
        **settings: ``seed``, ``validation_fraction``, ``shots``, ``memory_settings``,
            ``judge_after`` and ``judge_min_rows`` of `Loop`.
    """
    loop = Loop(problem, learner, stream.schema, **settings)
    state = start(loop)
    for task in stream.tasks():
        state, record = step(loop, state, task)
        yield record


def _split(loop: Loop, state: LoopState, task: Task) -> Split:
    if loop.label_delay:
        return Split(np.arange(0), np.arange(len(task.y)))
    if (task.y < 0).any():
        return split_by_label(task.y)
    rng = draws(loop.seed, state.round, SPLIT)
    return split_rows(len(task.y), loop.validation_fraction, rng)


def _judged(loop: Loop, before: LoopState, arrived: Arrived) -> tuple[Split, Decided, Judgement]:
    task, rows = arrived.as_it_came, arrived.rows
    if not is_judged(loop, before.round + 1, arrived):
        return NOBODY, NO_DECISION, not_judged(loop.problem, loop.schema)
    where = before._replace(round=before.round + 1).where(task)
    rule = find_rule(loop, known(loop, before), task, rows.support, rows.validation, where)
    with np.errstate(over="ignore", invalid="ignore"):  # seen in the logits
        decided = decided_about(loop, rule, task, rows.validation)
        judged = judge_decisions(loop.problem, loop.schema, task, decided)
    refuse_divergence(loop.step_sizes, before.learner, decided.logits, task.x, where)
    return rows, decided, judged


def _decided_alone(
    loop: Loop, before: LoopState, task: Task, rows: np.ndarray
) -> dict[str, np.ndarray]:
    """Count what the people would have got who are decided about here, had each come alone.

    Prices that are found on the very people who are decided about fit their chance as well. The
    standing rule was found before on others, so that its gaps forecast those of people to come.
    Nothing is known before the first people were met, nor of a learner without prices.
    """
    if not loop.learner.traits.uses_unlabelled or not len(rows) or not len(before.recent):
        return {}
    decided = decided_about(loop, find_rule(loop, known(loop, before)), task, rows)
    return decision_counts(loop.schema, task, rows, decided.logits > 0)
