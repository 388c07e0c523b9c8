"""The online loop: decide, be judged, learn. A round takes a value and returns the next one."""

import time
from collections.abc import Iterator
from typing import Any, NamedTuple

import jax
import numpy as np

from ffml.base import (
    LabelledTask,
    Learner,
    Pair,
    Problem,
    Stream,
    Task,
    pair_of,
)
from ffml.draws import DRAW, KEEP, SPLIT, draws
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
    judge_decisions,
    not_judged,
    split_rows,
)
from ffml.online.memory import (
    Memory,
    draw_tasks,
    padded_rows,
    padded_tasks,
    remember,
)
from ffml.online.state import Loop, LoopState, Round
from ffml.online.waiting import Waiting, labelled_rows, split_by_label
from ffml.runtime import compiled, shard_tasks
from ffml.tables.scaling import RunningScaler
from ffml.threads import one_thread


class Arrived(NamedTuple):
    """A task at the beginning of its round."""

    task: Task  # features standardised, with the columns that were added
    as_it_came: Task  # the same before they were standardised
    rows: Split  # who supports the decision and who is decided about
    drift: tuple[Drift, ...]


class Learned(NamedTuple):
    """What learning took, and the numbers that a method wants to show."""

    iterations: int
    extra: dict[str, float]


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
        before = state
        state, arrived = arrive(loop, before, task)
        rows, decided, judgement = _judged(loop, before, arrived)
        measured = np.nan_to_num(judgement.constraint)
        state = state._replace(
            violation=state.violation + measured,
            clipped_violation=state.clipped_violation + np.maximum(measured, 0),
        )
        state, learned = learn_or_wait(loop, state, arrived.as_it_came, decided)
        labels, judging = task.y[rows.support], task.y[rows.validation]
        return state, Round(
            round=state.round,
            task=task.name,
            n_rows=len(task.y),
            n_support=sum(min(loop.shots, int((labels == label).sum())) for label in (0, 1)),
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
    standardised = described._replace(x=_scaled(state, described.x))
    return state, Arrived(standardised, described, rows, drift)


def is_judged(loop: Loop, round_: int, arrived: Arrived) -> bool:
    """Tell whether a round is judged, rather than only learned from."""
    judges = len(arrived.rows.validation) >= loop.judge_min_rows
    return (round_ > loop.judge_after and judges) or bool((arrived.task.y < 0).any())


def learn_or_wait(
    loop: Loop, state: LoopState, task: Task, decided: Decided
) -> tuple[LoopState, Learned]:
    """End a round: learn from its task as it came, or let it wait for labels."""
    if not loop.label_delay and (task.y >= 0).all():
        return _learn(loop, state, task, state.round)
    waiting = (*state.waiting, Waiting(state.round, task, decided))
    return learn_due(loop, state._replace(waiting=waiting))


def learn_due(loop: Loop, state: LoopState) -> tuple[LoopState, Learned]:
    """Learn from the waiting tasks whose labels are there."""
    total = Learned(0, {})
    for one in state.waiting:
        if one.is_due(state.round, loop.label_delay, loop.shots):
            state, learned = _learn(loop, state, labelled_rows(one.task), one.round)
            total = Learned(total.iterations + learned.iterations, learned.extra)
            left = (w._replace(learned=True) if w is one else w for w in state.waiting)
            waiting = tuple(w for w in left if not (w.learned and w.complete))
            state = state._replace(waiting=waiting)
    return state, total


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


def _scaled(state: LoopState, x: np.ndarray) -> np.ndarray:
    return x if state.scaler is None else state.scaler.transform(x)


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
    where = _where(before.round + 1, task)
    rule = find_rule(loop, known(loop, before), task, rows.support, rows.validation, where)
    with np.errstate(over="ignore", invalid="ignore"):  # seen in the logits
        decided = decided_about(loop, rule, task, rows.validation)
        judged = judge_decisions(loop.problem, loop.schema, task, decided)
    refuse_divergence(loop.step_sizes, before.learner, decided.logits, task.x, where)
    return rows, decided, judged


def _learn(loop: Loop, state: LoopState, task: Task, round_: int) -> tuple[LoopState, Learned]:
    """Remember the task of a round as it came, and learn from a draw of those remembered."""
    settings, key, width = loop.memory_settings, loop.key(round_), len(loop.schema.features)
    rng = draws(loop.seed, round_, KEEP)
    memory, kept = remember(state.memory, task, loop.schema, settings, rng)
    tasks = draw_tasks(memory, settings, draws(loop.seed, round_, DRAW))

    def scaled(task: LabelledTask) -> LabelledTask:
        return task._replace(x=_scaled(state, task.x))

    newest = padded_rows(scaled(kept), settings.rows_per_task)
    drawn = padded_tasks([scaled(task) for task in tasks], settings, width)
    # Between rounds the state is on the host: the same kind of argument every time, so the
    # first round compiles and no later one does.
    shared = shard_tasks(drawn) if loop.learner.traits.pure else drawn
    learner, info = jax.device_get(loop.update(key, state.learner, newest, shared))
    features = state.features
    if loop.features is not None:
        as_they_came = drawn if state.scaler is None else padded_tasks(tasks, settings, width)
        features = loop.features.fit(key, features, kept, as_they_came)
    where = _where(state.round, task)
    refuse_divergence(loop.step_sizes, state.learner, (learner, features), task.x, where)
    state = state._replace(learner=learner, features=features, memory=memory)
    return state, Learned(
        int(info.iterations), {k: float(v) for k, v in (info.extra or {}).items()}
    )


def _where(round_: int, task: Task) -> str:
    return f"round {round_} (task '{task.name}')"
