"""The online loop: play, be judged, learn."""

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import jax
import numpy as np

from ffml.base import FFMLError, Learner, Params, Problem, Schema, Stream, Task
from ffml.checks import at_least
from ffml.evaluation import (
    NOBODY,
    Judgement,
    Split,
    judge,
    not_judged,
    split_rows,
    support_batch,
    with_people,
)
from ffml.memory import Memory, MemorySettings, padded_rows
from ffml.runtime import shard_tasks
from ffml.scaling import RunningScaler

# Every random choice has its own stream of numbers, so that no method changes another's data.
SPLIT, SUPPORT, KEEP, DRAW, ROTATE, CROWD = range(6)


@dataclass(frozen=True)
class Round:
    """What happened in one round: how the decision was judged, and what was learned."""

    round: int
    task: str
    n_rows: int
    n_support: int  # labelled rows that the decision was adapted to; 0 if it was not judged
    n_validation: int  # rows that judged it; 0 if it was not judged
    metrics: dict[str, float]  # see `ffml.metrics.judge`, and loss, dbc; NaN where undefined
    undefined: dict[str, str]  # metric -> why it is undefined
    tables: dict[str, np.ndarray]  # sensitive column -> counts[group, label, decision]
    constraint: np.ndarray  # (m,) on the validation rows, NaN where not measurable
    multipliers: np.ndarray  # (m,) after learning
    violation: np.ndarray  # (m,) Σ_t g_i so far
    clipped_violation: np.ndarray  # (m,) Σ_t [g_i]₊ so far
    iterations: int
    seconds: float


def check_judging(validation_fraction: float, shots: int, judge_min_rows: int) -> None:
    """Refuse settings of a round that cannot work."""
    if not 0 < validation_fraction < 1:
        raise FFMLError(f"validation_fraction must be between 0 and 1, got {validation_fraction}")
    at_least(1, shots=shots)
    at_least(0, judge_min_rows=judge_min_rows)


@dataclass
class OnlineLoop:
    """Plays one task after another. Everything that the next round needs is in its fields.

    In round t the learner decides with what it knew before (adapted to the task's support
    rows), is judged on the validation rows, and only then sees the whole task. Rounds up to
    ``judge_after``, and those with fewer validation rows than ``judge_min_rows``, are learned from
    without a decision: some methods take long to decide.
    """

    problem: Problem
    learner: Learner
    schema: Schema
    seed: int = 0
    validation_fraction: float = 0.5
    shots: int = 100
    memory_settings: MemorySettings = field(default_factory=MemorySettings)
    judge_after: int = 0
    judge_min_rows: int = 0
    scaler: RunningScaler | None = None  # None: the stream's features are standardised already
    round: int = 0
    state: Any = None
    memory: Memory = field(init=False)
    violation: np.ndarray = field(init=False)
    clipped_violation: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        check_judging(self.validation_fraction, self.shots, self.judge_min_rows)
        at_least(0, judge_after=self.judge_after)
        compiled = jax.jit if self.learner.pure else (lambda function: function)
        self._adapt, self._update = compiled(self.learner.adapt), compiled(self.learner.update)
        self._key = jax.random.key(self.seed)
        if self.state is None:
            self.state = jax.device_get(self.learner.init(jax.random.fold_in(self._key, 0)))
        self.memory = Memory(self.schema, self.memory_settings)
        self.violation = np.zeros(self.problem.num_constraints)
        self.clipped_violation = np.zeros(self.problem.num_constraints)

    def step(self, task: Task) -> Round:
        """Play one round: adapt, be judged, learn."""
        start = time.perf_counter()
        self.round += 1
        revealed, task = task, self._standardised(task)
        rows = split_rows(len(task.y), self.validation_fraction, self._rng(SPLIT))
        if self.round > self.judge_after and len(rows.validation) >= self.judge_min_rows:
            judgement = self._judged(task, rows)
        else:
            rows, judgement = NOBODY, not_judged(self.problem, self.schema)
        measured = np.nan_to_num(judgement.constraint)
        self.violation = self.violation + measured
        self.clipped_violation = self.clipped_violation + np.maximum(measured, 0)
        iterations = self._learn(revealed)
        labels = task.y[rows.support]
        return Round(
            round=self.round,
            task=task.name,
            n_rows=len(task.y),
            n_support=sum(min(self.shots, int((labels == label).sum())) for label in (0, 1)),
            n_validation=len(rows.validation),
            metrics=judgement.metrics,
            undefined=judgement.undefined,
            tables=judgement.tables,
            constraint=judgement.constraint,
            multipliers=np.asarray(self.state.multipliers),
            violation=self.violation,
            clipped_violation=self.clipped_violation,
            iterations=iterations,
            seconds=time.perf_counter() - start,
        )

    def _judged(self, task: Task, rows: Split) -> Judgement:
        params = self._decision(task, rows)
        return judge(self.problem, self.learner, params, task, self.schema, rows.validation)

    def _decision(self, task: Task, rows: Split) -> Params:
        support = support_batch(task, self.schema, rows.support, self.shots, self._rng(SUPPORT))
        people = task.x[rows.validation]  # who is to be decided about, without labels and groups
        support = with_people(support, self.learner, people, self._rng(CROWD))
        return jax.device_get(self._adapt(self.state, support))

    def _standardised(self, task: Task) -> Task:
        if self.scaler is None:
            return task
        self.scaler = self.scaler.update(task.x)
        return task._replace(x=self.scaler.transform(task.x))

    def _learn(self, task: Task) -> int:
        """Remember the task as it came, and learn from a draw of those remembered."""
        kept = self.memory.add(task, self._rng(KEEP))
        newest = padded_rows(kept, self.memory_settings.rows_per_task)
        drawn = self.memory.draw(self._rng(DRAW))
        if self.scaler is not None:
            newest = newest._replace(x=self.scaler.transform(newest.x))
            drawn = drawn._replace(x=self.scaler.transform(drawn.x))
        key = jax.random.fold_in(self._key, self.round)
        # Between rounds the state is on the host: the same kind of argument every time, so the
        # first round compiles and no later one does.
        self.state, info = jax.device_get(self._update(key, self.state, newest, shard_tasks(drawn)))
        return int(info.iterations)

    def _rng(self, purpose: int) -> np.random.Generator:
        return np.random.default_rng([self.seed, self.round, purpose])


def play(problem: Problem, learner: Learner, stream: Stream, **settings: Any) -> Iterator[Round]:
    """Run a learner over a stream, yielding one `Round` a task as it goes.

    Args:
        problem: what is minimised and what is constrained.
        learner: the method, built for that problem.
        stream: the tasks in their order.
        **settings: ``seed``, ``validation_fraction``, ``shots``, ``memory_settings``,
            ``judge_after`` and ``judge_min_rows`` of `OnlineLoop`.
    """
    loop = OnlineLoop(problem, learner, stream.schema, **settings)
    for task in stream.tasks():
        yield loop.step(task)
