"""Learn from a task once its labels are there."""

from typing import NamedTuple

import jax

from ffml.base import LabelledTask, Task
from ffml.draws import DRAW, FILL, KEEP, draws
from ffml.online.decide import refuse_divergence
from ffml.online.judge import Decided
from ffml.online.memory import draw_tasks, padded_rows, padded_tasks, remember
from ffml.online.state import Loop, LoopState
from ffml.online.waiting import Waiting, newest_labelled
from ffml.runtime import shard_tasks


class Learned(NamedTuple):
    """What learning took, and the numbers that a method wants to show."""

    iterations: int
    extra: dict[str, float]


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
    total, delay = Learned(0, {}), loop.label_delay
    newest = newest_labelled(state.waiting, state.round, delay)
    for one in state.waiting:
        if one.is_due(state.round, delay, loop.shots, newest):
            task = one.to_learn(draws(loop.seed, one.round, FILL))
            state, learned = _learn(loop, state, task, one.round)
            total = Learned(total.iterations + learned.iterations, learned.extra)
            left = (w._replace(learned=True) if w is one else w for w in state.waiting)
            waiting = tuple(w for w in left if not (w.learned and w.complete))
            state = state._replace(waiting=waiting)
    return state, total


def _learn(loop: Loop, state: LoopState, task: Task, round_: int) -> tuple[LoopState, Learned]:
    """Remember the task of a round as it came, and learn from a draw of those remembered."""
    settings, key, width = loop.memory_settings, loop.key(round_), len(loop.schema.features)
    rng = draws(loop.seed, round_, KEEP)
    memory, kept = remember(state.memory, task, loop.schema, settings, rng)
    tasks = draw_tasks(memory, settings, draws(loop.seed, round_, DRAW))

    def scaled(task: LabelledTask) -> LabelledTask:
        return task._replace(x=state.scaled(task.x))

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
    where = state.where(task)
    refuse_divergence(loop.step_sizes, state.learner, (learner, features), task.x, where)
    state = state._replace(learner=learner, features=features, memory=memory)
    return state, Learned(
        int(info.iterations), {k: float(v) for k, v in (info.extra or {}).items()}
    )
