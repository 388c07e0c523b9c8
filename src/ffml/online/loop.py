"""The online loop: decide, be judged, learn. A round takes a value and returns the next one."""

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import jax
import numpy as np

from ffml.base import (
    Features,
    FFMLError,
    Learner,
    Pair,
    Params,
    Problem,
    Schema,
    Stream,
    Task,
    pair_of,
)
from ffml.border import at_least
from ffml.draws import SPLIT, draws
from ffml.online.decide import adapt_to, asked, refuse_divergence
from ffml.online.drift import Drift, InputWatch
from ffml.online.judge import (
    NO_DECISION,
    NOBODY,
    Decided,
    Judgement,
    Split,
    decisions,
    judge_decisions,
    not_judged,
    split_rows,
)
from ffml.online.learn import learn_or_wait
from ffml.online.memory import (
    Memory,
    MemorySettings,
)
from ffml.online.state import LoopState, Round
from ffml.online.waiting import split_by_label
from ffml.runtime import compiled
from ffml.tables.scaling import RunningScaler
from ffml.threads import one_thread


def check_judging(validation_fraction: float, shots: int, judge_min_rows: int) -> None:
    """Refuse settings of a round that cannot work."""
    if not 0 < validation_fraction < 1:
        raise FFMLError(f"validation_fraction must be between 0 and 1, got {validation_fraction}")
    at_least(1, shots=shots)
    at_least(0, judge_min_rows=judge_min_rows)


@dataclass(frozen=True)
class Loop:
    """How one task after another is played; what is known in between is a `LoopState`.

    In round t the learner decides with what it knew before (adapted to the task's support
    rows), is judged on the validation rows, and only then sees the whole task. Rounds up to
    ``judge_after``, and those with fewer validation rows than ``judge_min_rows``, are learned from
    without a decision: some methods take long to decide.

    Labels may come later. With a ``label_delay`` of d the labels of round t are known after the
    decision of round t + d: nothing supports a decision, all rows judge it, and the task is learned
    from then. Where a task lacks labels itself (-1), its labelled rows support the decision about
    the others, and it waits until it has `enough_labels`.
    """

    problem: Problem
    learner: Learner
    schema: Schema
    features: Features | None = None  # columns to be added to what is told of people
    seed: int = 0
    validation_fraction: float = 0.5
    shots: int = 100
    memory_settings: MemorySettings = field(default_factory=MemorySettings)
    judge_after: int = 0
    judge_min_rows: int = 0
    label_delay: int = 0
    step_sizes: tuple[str, ...] | None = ()  # settings to lower on divergence; None: go on

    def __post_init__(self) -> None:
        check_judging(self.validation_fraction, self.shots, self.judge_min_rows)
        at_least(0, judge_after=self.judge_after, label_delay=self.label_delay)
        self.memory_settings.validate()

    @cached_property
    def adapt(self) -> Any:
        """``learner.adapt``, compiled if it can be."""
        return compiled(self.learner.adapt) if self.learner.traits.pure else self.learner.adapt

    @cached_property
    def update(self) -> Any:
        """``learner.update``, compiled if it can be."""
        return compiled(self.learner.update) if self.learner.traits.pure else self.learner.update

    def key(self, round_: int) -> Any:
        """Return JAX's random numbers of a round."""
        return jax.random.fold_in(jax.random.key(self.seed), round_)


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
    return LoopState(0, learner, features, scaler, watch, Memory(), (), nothing, nothing)


def step(loop: Loop, state: LoopState, task: Task) -> tuple[LoopState, Round]:
    """Play one round: adapt, be judged, learn.

    Raises:
        FFMLError: the learner's numbers are no longer finite.
    """
    with one_thread():
        began = time.perf_counter()
        state, arrived = arrive(loop, state, task)
        rows, decided, judgement = _judged(loop, state, arrived)
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


def prepared(loop: Loop, state: LoopState, x: np.ndarray) -> np.ndarray:
    """Describe and standardise features of people that the loop has not met, as they came."""
    return state.scaled(_described(loop, state, x))


def arrive(loop: Loop, state: LoopState, task: Task) -> tuple[LoopState, Arrived]:
    """Begin a round: describe and standardise the task, and split its rows."""
    drift = () if state.watch is None else tuple(state.watch.compare(task))
    described = task._replace(x=_described(loop, state, task.x))
    state = state._replace(
        round=state.round + 1,
        watch=state.watch and state.watch.update(task),
        scaler=state.scaler and state.scaler.update(described.x),
    )
    standardised = described._replace(x=state.scaled(described.x))
    return state, Arrived(standardised, described, _split(loop, state, task), drift)


def decide(
    loop: Loop,
    state: LoopState,
    task: Task,
    rows: np.ndarray | None = None,
    people: np.ndarray | None = None,
    round_: int | None = None,
    what: str = "the adaptation",
) -> Params:
    """Decide about a task whose features are `prepared`.

    Args:
        loop: how it is played.
        state: what is known.
        task: some of its rows are labelled.
        rows: positions of the labelled rows; None means all.
        people: features of the people to be decided about, if known.
        round_: the round to draw as; None means the next.
        what: names the decision, should its numbers not be finite.
    """
    support = asked(
        loop.learner,
        loop.schema,
        task,
        shots=loop.shots,
        seed=loop.seed,
        round_=state.round + 1 if round_ is None else round_,
        rows=rows,
        people=people,
    )
    known = knowledge(loop, state)
    return adapt_to(loop.learner, known, support, what, loop.step_sizes, loop.adapt)


def is_judged(loop: Loop, state: LoopState, arrived: Arrived) -> bool:
    """Tell whether the round that has begun is judged, rather than only learned from."""
    judges = len(arrived.rows.validation) >= loop.judge_min_rows
    return (state.round > loop.judge_after and judges) or bool((arrived.task.y < 0).any())


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


def _described(loop: Loop, state: LoopState, x: np.ndarray) -> np.ndarray:
    return x if loop.features is None else loop.features.describe(state.features, x)


def _split(loop: Loop, state: LoopState, task: Task) -> Split:
    if loop.label_delay:
        return Split(np.arange(0), np.arange(len(task.y)))
    if (task.y < 0).any():
        return split_by_label(task.y)
    rng = draws(loop.seed, state.round, SPLIT)
    return split_rows(len(task.y), loop.validation_fraction, rng)


def _judged(loop: Loop, state: LoopState, arrived: Arrived) -> tuple[Split, Decided, Judgement]:
    task, rows = arrived.task, arrived.rows
    if not is_judged(loop, state, arrived):
        return NOBODY, NO_DECISION, not_judged(loop.problem, loop.schema)
    where, people = state.where(task), task.x[rows.validation]
    params = decide(loop, state, task, rows.support, people, state.round, where)
    with np.errstate(over="ignore", invalid="ignore"):  # seen in the logits
        decided = decisions(loop.learner, params, task, rows.validation)
        judged = judge_decisions(loop.problem, loop.schema, task, decided)
    refuse_divergence(loop.step_sizes, state.learner, decided.logits, task.x, where)
    return rows, decided, judged
