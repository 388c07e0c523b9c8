"""The online loop: play, be judged, learn."""

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import jax
import numpy as np

from ffml.base import FFMLError, LabelledTask, Learner, Pair, Params, Problem, Schema, Stream, Task
from ffml.border import at_least
from ffml.draws import DRAW, KEEP, SPLIT, draws
from ffml.online.decide import asked, decide, refuse_divergence
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
from ffml.online.memory import Memory, MemorySettings, padded_rows
from ffml.online.waiting import Waiting, labelled_rows, split_by_label
from ffml.runtime import compiled, shard_tasks
from ffml.tables.scaling import RunningScaler
from ffml.threads import one_thread


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
    tables: dict[str, np.ndarray]  # sensitive column -> counts[group, label or unknown, decision]
    reliability: np.ndarray  # (10, 3) counts by tenths of probability
    constraint: np.ndarray  # (m,) on the validation rows, NaN where not measurable
    multipliers: np.ndarray  # (m,) after learning
    violation: np.ndarray  # (m,) Σ_t g_i so far
    clipped_violation: np.ndarray  # (m,) Σ_t [g_i]₊ so far
    iterations: int
    seconds: float
    drift: tuple[Drift, ...] = ()  # inputs that differ from those of the tasks before
    unpriced: dict[str, np.ndarray] = field(default_factory=dict)  # as tables, without any price
    n_unlabelled: int = 0  # people decided about whose labels are not there yet
    ceilings: dict[str, np.ndarray] = field(default_factory=dict)  # column -> those of DP and EO


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
    without a decision: some methods take long to decide. A round that fails changes nothing.

    Labels may come later. With a ``label_delay`` of d the labels of round t are known after the
    decision of round t + d: nothing supports a decision, all rows judge it, and the task is learned
    from then. Where a task lacks labels itself (-1), its labelled rows support the decision about
    the others, and it waits until it has `enough_labels`.
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
    label_delay: int = 0
    scaler: RunningScaler | None = None  # None: the stream's features are standardised already
    watch: InputWatch | None = None  # None: inputs are not watched for changes
    round: int = 0
    state: Any = None
    waiting: tuple[Waiting, ...] = ()  # tasks that wait for labels
    decided: Decided = NO_DECISION  # in the last round
    memory: Memory = field(init=False)
    violation: np.ndarray = field(init=False)
    clipped_violation: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        check_judging(self.validation_fraction, self.shots, self.judge_min_rows)
        at_least(0, judge_after=self.judge_after, label_delay=self.label_delay)
        program = compiled if self.learner.pure else (lambda function: function)
        self._adapt, self._update = program(self.learner.adapt), program(self.learner.update)
        self._key = jax.random.key(self.seed)
        if self.state is None:
            init = program(self.learner.init)
            self.state = jax.device_get(init(jax.random.fold_in(self._key, 0)))
        self.memory = Memory(self.schema, self.memory_settings)
        self.violation = np.zeros(self.problem.num_constraints)
        self.clipped_violation = np.zeros(self.problem.num_constraints)

    def step(self, task: Task) -> Round:
        """Play one round: adapt, be judged, learn.

        Raises:
            FFMLError: the learner's numbers are no longer finite. The loop is as it was before.
        """
        before, tasks, seen = vars(self).copy(), self.memory.tasks.copy(), self.memory.seen
        try:
            with one_thread():
                return self._played(task)
        except BaseException:
            vars(self).update(before)
            self.memory.tasks, self.memory.seen = tasks, seen
            raise

    def _played(self, task: Task) -> Round:
        start = time.perf_counter()
        self.round += 1
        drift = self._watched(task)
        revealed = task._replace(x=self.learner.describe(self.knowledge, task.x))
        task = self._standardised(revealed)
        rows, self.decided = self._split(task), NO_DECISION
        is_judged = self.round > self.judge_after and len(rows.validation) >= self.judge_min_rows
        if is_judged or (task.y < 0).any():
            judgement = self._judged(task, rows)
        else:
            rows, judgement = NOBODY, not_judged(self.problem, self.schema)
        measured = np.nan_to_num(judgement.constraint)
        self.violation = self.violation + measured
        self.clipped_violation = self.clipped_violation + np.maximum(measured, 0)
        iterations = self._learn_or_wait(revealed)
        labels, judging = task.y[rows.support], task.y[rows.validation]
        return Round(
            round=self.round,
            task=task.name,
            n_rows=len(task.y),
            n_support=sum(min(self.shots, int((labels == label).sum())) for label in (0, 1)),
            n_validation=int((judging >= 0).sum()),
            n_unlabelled=int((judging < 0).sum()),
            metrics=judgement.metrics,
            undefined=judgement.undefined,
            tables=judgement.tables,
            reliability=judgement.reliability,
            unpriced=judgement.unpriced,
            ceilings=judgement.ceilings,
            constraint=judgement.constraint,
            multipliers=np.asarray(self.pair.multipliers),
            violation=self.violation,
            clipped_violation=self.clipped_violation,
            iterations=iterations,
            seconds=time.perf_counter() - start,
            drift=drift,
        )

    @property
    def knowledge(self) -> Any:
        """What the learner's decisions need of its state."""
        return jax.device_get(self.learner.knowledge(self.state))

    @property
    def pair(self) -> Pair:
        """θ and λ, as they are now."""
        return self.learner.pair(self.knowledge)

    def prepared(self, x: np.ndarray) -> np.ndarray:
        """Describe and standardise features of people that the loop has not met, as they came."""
        described = self.learner.describe(self.knowledge, x)
        return described if self.scaler is None else self.scaler.transform(described)

    def decide(
        self,
        task: Task,
        rows: np.ndarray | None = None,
        people: np.ndarray | None = None,
        round_: int | None = None,
        what: str = "the adaptation",
    ) -> Params:
        """Decide about a task whose features are `prepared`; nothing changes.

        Args:
            task: some of its rows are labelled.
            rows: positions of the labelled rows; None means all.
            people: features of the people to be decided about, if known.
            round_: the round to draw as; None means the next.
            what: names the decision, should its numbers not be finite.
        """
        support = asked(
            self.learner,
            self.schema,
            task,
            shots=self.shots,
            seed=self.seed,
            round_=self.round + 1 if round_ is None else round_,
            rows=rows,
            people=people,
        )
        return decide(self.learner, self.knowledge, support, what, self._adapt)

    def _judged(self, task: Task, rows: Split) -> Judgement:
        where, people = self._where(task), task.x[rows.validation]
        params = self.decide(task, rows.support, people, self.round, where)
        with np.errstate(over="ignore", invalid="ignore"):  # seen in the logits
            decided = decisions(self.learner, params, task, rows.validation)
            judged = judge_decisions(self.problem, self.schema, task, decided)
        refuse_divergence(self.learner, self.state, decided.logits, task.x, where)
        self.decided = decided
        return judged

    def _split(self, task: Task) -> Split:
        """Say who supports the decision and who is decided about."""
        if self.label_delay:
            return Split(np.arange(0), np.arange(len(task.y)))
        if (task.y < 0).any():
            return split_by_label(task.y)
        return split_rows(len(task.y), self.validation_fraction, self._rng(SPLIT))

    def _watched(self, task: Task) -> tuple[Drift, ...]:
        if self.watch is None:
            return ()
        found = tuple(self.watch.compare(task))
        self.watch = self.watch.update(task)
        return found

    def _standardised(self, task: Task) -> Task:
        if self.scaler is None:
            return task
        self.scaler = self.scaler.update(task.x)
        return task._replace(x=self.scaler.transform(task.x))

    def _scaled(self, task: LabelledTask) -> LabelledTask:
        return task if self.scaler is None else task._replace(x=self.scaler.transform(task.x))

    def _learn_or_wait(self, task: Task) -> int:
        if not self.label_delay and (task.y >= 0).all():
            return self._learn(task, self.round)
        self.waiting = (*self.waiting, Waiting(self.round, task, self.decided))
        return self.learn_due()

    def learn_due(self) -> int:
        """Learn from the waiting tasks whose labels are there; return the steps taken."""
        iterations = 0
        for one in self.waiting:
            if one.is_due(self.round, self.label_delay, self.shots):
                iterations += self._learn(labelled_rows(one.task), one.round)
                done = one._replace(learned=True)
                left = (done if other is one else other for other in self.waiting)
                self.waiting = tuple(w for w in left if not (w.learned and w.complete))
        return iterations

    def _learn(self, task: Task, round_: int) -> int:
        """Remember the task of a round as it came, and learn from a draw of those remembered."""
        kept = self.memory.add(task, draws(self.seed, round_, KEEP))
        tasks = self.memory.draw(draws(self.seed, round_, DRAW))
        key = jax.random.fold_in(self._key, round_)
        newest = padded_rows(self._scaled(kept), self.memory_settings.rows_per_task)
        drawn = self.memory.padded([self._scaled(task) for task in tasks])
        # Between rounds the state is on the host: the same kind of argument every time, so the
        # first round compiles and no later one does.
        if self.learner.pure:
            drawn = shard_tasks(drawn)
        state, info = jax.device_get(self._update(key, self.state, newest, drawn))
        if self.learner.study is not None:
            as_they_came = drawn if self.scaler is None else self.memory.padded(tasks)
            state = self.learner.study(key, state, as_they_came)
        self._refuse_divergence(task, state)
        self.state = state
        return int(info.iterations)

    def _refuse_divergence(self, task: Task, state: Any) -> None:
        refuse_divergence(self.learner, self.state, state, task.x, self._where(task))

    def _where(self, task: Task) -> str:
        return f"round {self.round} (task '{task.name}')"

    def _rng(self, purpose: int) -> np.random.Generator:
        return draws(self.seed, self.round, purpose)


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
