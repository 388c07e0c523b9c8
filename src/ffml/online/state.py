"""The values of the loop: what is known between two rounds, and what happened in one."""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from ffml.base import Task
from ffml.online.drift import Drift, InputWatch
from ffml.online.judge import NO_DECISION, Decided
from ffml.online.memory import Memory
from ffml.online.waiting import Waiting
from ffml.tables.scaling import RunningScaler


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
    decided: Decided = NO_DECISION  # what was decided about whom
    extra: dict[str, float] = field(default_factory=dict)  # numbers of the method's own


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

    def scaled(self, x: np.ndarray) -> np.ndarray:
        """Standardise features as they came."""
        return x if self.scaler is None else self.scaler.transform(x)

    def where(self, task: Task) -> str:
        """Name a step of this round, for messages."""
        return f"round {self.round} (task '{task.name}')"
