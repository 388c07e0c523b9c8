"""Rows of a task as the numerics want them, and how a decision on them is judged."""

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

import jax
import numpy as np

from ffml import metrics
from ffml.base import Array, Batch, Problem, Schema, Task
from ffml.methods.trust import support_of
from ffml.metrics.labels import NO_LABELS, why_unmeasured
from ffml.metrics.reliability import COUNTS, NUM_BINS, reliability_counts
from ffml.online.memory import bucket
from ffml.problem.gaps import effective_rows, judged_gaps, judged_higher_rates, violation
from ffml.problem.notions import decision

SMALLEST_BUCKET = 256
LABEL_FREE = ("demographic-parity", "dbc")  # notions that compare everybody


class Split(NamedTuple):
    """Positions of the rows labelled before the decision, and of those that judge it."""

    support: np.ndarray
    validation: np.ndarray


class Decided(NamedTuple):
    """What was decided about people of a task; positive where the logit is above 0."""

    rows: np.ndarray  # (n,) their positions in the task
    logits: np.ndarray  # (n,) float32
    probabilities: np.ndarray  # (n,) of label 1, as people are told
    unpriced: np.ndarray  # (n,) bool: what would be decided if no gap were bounded


NO_DECISION = Decided(np.zeros(0, int), np.zeros(0, np.float32), np.zeros(0), np.zeros(0, bool))
NOBODY = Split(np.zeros(0, int), np.zeros(0, int))


class Judgement(NamedTuple):
    """How a decision did on its validation rows."""

    metrics: dict[str, float]
    undefined: dict[str, str]
    tables: dict[str, np.ndarray]  # sensitive column -> counts[group, label or unknown, decision]
    constraint: np.ndarray  # (m,) NaN where not measurable
    reliability: np.ndarray  # (10, 3), see `ffml.metrics.reliability`
    unpriced: dict[str, np.ndarray]  # as tables, if no gap were bounded
    ceilings: dict[str, np.ndarray]  # sensitive column -> noise ceilings of DP and EO


def split_rows(num_rows: int, validation_fraction: float, rng: np.random.Generator) -> Split:
    """Split a task at random, without a look at its labels; at least one row judges."""
    num_validation = min(max(round(num_rows * validation_fraction), 1), num_rows)
    order = rng.permutation(num_rows)
    return Split(np.sort(order[num_validation:]), np.sort(order[:num_validation]))


def support_batch(
    task: Task, schema: Schema, rows: np.ndarray, shots: int | None, rng: np.random.Generator
) -> Batch:
    """Draw ``shots`` support rows of each class; a class with fewer is gone through repeatedly.

    The shape is then always ``2 shots``; a class without rows is masked. None takes all rows.
    """
    pools = [rng.permutation(rows[task.y[rows] == label]) for label in (0, 1)]
    rates = np.array([len(pool) for pool in pools]) / max(len(rows), 1)
    memberships = schema.memberships(task.groups)
    return support_of(task.x, memberships, pools, shots, rates)


def padded_batch(task: Task, schema: Schema, rows: np.ndarray) -> Batch:
    """Take rows as they are, padded to a power of four, so that few shapes are ever compiled."""
    missing = bucket(len(rows), SMALLEST_BUCKET) - len(rows)
    mask = np.pad(np.ones(len(rows), np.float32), (0, missing))
    return Batch(
        x=np.pad(task.x[rows], ((0, missing), (0, 0))),
        y=np.pad(task.y[rows].astype(np.float32), (0, missing)),
        s=np.pad(schema.memberships(task.groups[rows]), ((0, missing), (0, 0))),
        mask=mask,
        weight=mask,
        pool_size=np.int32(len(rows)),
        distinct_share=mask,
    )


def judge_decisions(problem: Problem, schema: Schema, task: Task, decided: Decided) -> Judgement:
    """Count everybody decided about; compare with labels those who have one."""
    labels, groups = task.y[decided.rows], task.groups[decided.rows]
    tables, free = (
        decision_counts(schema, task, decided.rows, positive)
        for positive in (decided.logits > 0, decided.unpriced)
    )
    judged = [metrics.judge(tables[column.name], column.groups) for column in schema.sensitive]
    worst, known = metrics.worst(judged), labels >= 0
    values = dict(worst.values) | {
        "loss": cross_entropy(decided.logits[known], labels[known]),
        "dbc": decision_boundary_covariance(decided.logits, schema.memberships(groups)),
    }
    undefined = dict(worst.undefined)
    if np.isnan(values["dbc"]):
        undefined["dbc"] = "only one group has rows"
    if not known.any():
        undefined["loss"] = NO_LABELS
    return Judgement(
        values,
        undefined,
        tables,
        _constraint(problem, schema, task, decided, not why_unmeasured(_any(tables))),
        reliability_counts(decided.probabilities[known], labels[known]),
        free,
        {name: _ceilings(judgement) for name, judgement in zip(tables, judged, strict=True)},
    )


def decision_counts(
    schema: Schema, task: Task, rows: np.ndarray, positive: np.ndarray
) -> dict[str, np.ndarray]:
    """Count decisions about some people of a task, by column, group and label."""
    labels, groups = task.y[rows], task.groups[rows]
    return {
        column.name: metrics.contingency_table(labels, positive, groups[:, i], len(column.groups))
        for i, column in enumerate(schema.sensitive)
    }


def _any(tables: dict[str, np.ndarray]) -> np.ndarray:
    return next(iter(tables.values()))  # every column counts the same people


def _constraint(
    problem: Problem, schema: Schema, task: Task, decided: Decided, by_label: bool
) -> np.ndarray:
    """Return how far decisions are beyond each bound: of everybody, or of those with a label."""
    known = (task.y[decided.rows] >= 0) & by_label
    everybody = _measured(problem, schema, task, decided, np.ones(len(known), bool))
    if known.all():
        return everybody
    return np.where(
        [name.split("[")[0] in LABEL_FREE for name in problem.constraint_names],
        everybody,
        _measured(problem, schema, task, decided, known),
    )


def _measured(
    problem: Problem, schema: Schema, task: Task, decided: Decided, some: np.ndarray
) -> np.ndarray:
    batch = padded_batch(task, schema, decided.rows[some])
    logits = decided.logits[some]
    padded = np.pad(logits, (0, len(batch.y) - len(logits)))
    rows_behind, constraint = jax.device_get(_constraint_of(problem)(padded, batch))
    return np.where(rows_behind > 0, constraint, np.nan)


def _ceilings(judgement: metrics.Judgement) -> np.ndarray:
    return np.array([judgement.values["dp_ceiling"], judgement.values["eo_ceiling"]])


def not_judged(problem: Problem, schema: Schema) -> Judgement:
    """Judge nobody: every number is undefined."""
    tables = {c.name: np.zeros((len(c.groups), 3, 2), int) for c in schema.sensitive}
    nothing = metrics.worst([metrics.judge(table) for table in tables.values()])
    values = nothing.values | {"loss": np.nan, "dbc": np.nan}
    undefined = dict.fromkeys([*nothing.undefined, "loss", "dbc"], "not judged")
    unmeasured = np.full(problem.num_constraints, np.nan, np.float32)
    nobody = np.zeros((NUM_BINS, len(COUNTS)))
    unknown = {name: np.full(2, np.nan) for name in tables}
    return Judgement(values, undefined, tables, unmeasured, nobody, tables, unknown)


@lru_cache(maxsize=32)
def _constraint_of(problem: Problem) -> Callable:
    """Compile, once a problem, how decisions keep its bounds and on how many rows that rests.

    Records speak of decisions whatever is learned from, but for notions of scores such as dbc.
    """
    of_decisions = tuple(
        c._replace(judged=decision) if c.name in metrics.NOTIONS else c for c in problem.constraints
    )
    problem = problem._replace(constraints=of_decisions)

    def measured(logits: Array, batch: Batch) -> tuple[Array, Array]:
        higher = judged_higher_rates(problem, logits, batch)
        values = violation(problem, judged_gaps(problem, logits, batch), higher)
        return effective_rows(problem, batch), values

    return jax.jit(measured)


def cross_entropy(logits: np.ndarray, labels: np.ndarray) -> float:
    """Mean sigmoid cross-entropy, without the penalty on the parameters; NaN of nobody."""
    if not len(labels):
        return float("nan")
    return float(np.mean(np.logaddexp(0, logits.astype(float)) - labels * logits))


def decision_boundary_covariance(logits: np.ndarray, memberships: np.ndarray) -> float:
    """Return the largest mean difference of logits between a group and the rest (Eq. 1)."""
    inside, outside = memberships.sum(0), (1 - memberships).sum(0)
    both = (inside > 0) & (outside > 0)
    if not both.any():
        return float("nan")
    gaps = (logits @ memberships)[both] / inside[both]
    gaps -= (logits @ (1 - memberships))[both] / outside[both]
    return float(gaps[np.argmax(np.abs(gaps))])
