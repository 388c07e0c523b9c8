"""The values of the loop: what is known between two rounds, and what happened in one."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import jax
import numpy as np

from ffml.base import Features, FFMLError, Learner, Problem, Schema, Task
from ffml.border import at_least
from ffml.online.drift import Drift, InputWatch
from ffml.online.judge import NO_DECISION, Decided
from ffml.online.memory import Memory, MemorySettings
from ffml.online.waiting import Waiting
from ffml.runtime import compiled
from ffml.tables.scaling import RunningScaler


@dataclass(frozen=True, repr=False)
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
    alone: dict[str, np.ndarray] = field(default_factory=dict)  # as tables, had each come alone
    n_unlabelled: int = 0  # people decided about whose labels are not there yet
    ceilings: dict[str, np.ndarray] = field(default_factory=dict)  # column -> those of DP and EO
    decided: Decided = NO_DECISION  # what was decided about whom
    extra: dict[str, float] = field(default_factory=dict)  # numbers of the method's own

    def __repr__(self) -> str:
        """Say which round it was, and how many were decided about and how."""
        table = next(iter(self.tables.values()), np.zeros((1, 3, 2), int)).sum((0, 1))
        decided = f"{table.sum():,} decided about, {table[1]:,} of them favourably"
        return f"<Round {self.round} ({self.task}): {decided}>"


def check_judging(validation_fraction: float, shots: int | None, judge_min_rows: int) -> None:
    """Refuse settings of a round that cannot work."""
    if not 0 < validation_fraction < 1:
        raise FFMLError(f"validation_fraction must be between 0 and 1, got {validation_fraction}")
    at_least(1, shots=1 if shots is None else shots)
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
    shots: int | None = 100  # of each label; None adapts to all labelled rows
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


class LoopState(NamedTuple):
    """What is known after a round: all that the next one needs."""

    round: int
    learner: Any  # the learner's state
    features: Any  # that of the features, None where nobody adds any
    scaler: RunningScaler | None  # None: the stream's features are standardised already
    watch: InputWatch | None  # None: inputs are not watched for changes
    memory: Memory
    waiting: tuple[Waiting, ...]  # tasks that wait for labels
    violation: np.ndarray  # (m,) Σ_t g_i
    clipped_violation: np.ndarray  # (m,) Σ_t [g_i]₊
    recent: np.ndarray  # (≤ MOST_RECENT, columns) people met lately, described, as they came

    def scaled(self, x: np.ndarray) -> np.ndarray:
        """Standardise features as they came."""
        return x if self.scaler is None else self.scaler.transform(x)

    def where(self, task: Task) -> str:
        """Name a step of this round, for messages."""
        return f"round {self.round} (task '{task.name}')"
