"""Is it a constraint? Gaps against a plain computation, masked entries, weights and padding."""

from collections.abc import Callable, Iterator
from typing import Any

import jax
import numpy as np

from ffml.base import Batch, Constraint, Problem, Schema
from ffml.checks._toy import MORE_GROUPS, TWO_GROUPS, alike, require, toy_task
from ffml.problem.classification import fair_classification
from ffml.problem.gaps import constraint, effective_rows, gaps, judged_gaps
from ffml.problem.models import linear

ROWS, BOUND = 60, 0.1
CLOSE = {"rtol": 1e-3, "atol": 1e-5}


def check_constraint(factory: Callable[[float], Constraint]) -> None:
    """Check a fairness notion: ``factory(bound) -> Constraint``.

    With two groups, and with several columns and groups: there is one entry for each condition and
    contrast, and gaps are the differences of group means that a plain computation gives. Padding,
    the order of rows and the unit of weights do not matter, and a row of weight 2 counts as two
    rows. An entry that cannot be measured has gap 0 and no gradient. Gradients are finite, also
    where all logits are the same.

    >>> import ffml
    >>> check_constraint(ffml.constraints.equalized_odds)
    """
    for schema in (TWO_GROUPS, MORE_GROUPS):
        problem = fair_classification(schema, linear(), factory(BOUND))
        batch = _toy_batch(schema)
        _check_entries(problem, batch)
        _check_gaps(problem, batch)
        _check_rows_that_change_nothing(problem, batch)
        _check_slopes(problem, batch)
        _check_masked(problem, batch)


def _check_entries(problem: Problem, batch: Batch) -> None:
    entries = len(problem.constraints[0].conditions) * len(problem.schema.contrasts)
    names = problem.constraint_names
    require(len(set(names)) == entries, f"entries share a name: {', '.join(names)}")
    for condition in problem.constraints[0].conditions:
        rows = np.asarray(condition.rows(batch))
        place = f"condition '{condition.name}'"
        require(
            rows.shape == batch.y.shape, f"{place} returns shape {rows.shape}; one number a row"
        )
        require((rows >= 0).all(), f"{place} gives a row a negative weight")
        require(
            not rows[batch.mask == 0].any(), f"{place} counts padding; multiply by batch.weight"
        )


def _check_gaps(problem: Problem, batch: Batch) -> None:
    """Compare with means that are taken group by group, in NumPy."""
    notion, logits = problem.constraints[0], _logits(batch)
    for what, score in (("score", notion.score), ("judged", notion.judged)):
        values = np.asarray(score(logits, batch), float)
        require(values.shape == logits.shape, f"{what} returns {values.shape}; one number a row")
        expected = [
            _mean(values, rows * member) - _mean(values, rows * (1 - member))
            for rows in (np.asarray(c.rows(batch), float) for c in notion.conditions)
            for member in batch.s.T
        ]
        found = _measured(problem, logits, batch)[what]
        require(
            alike(found, np.array(expected), **CLOSE),
            f"gaps of {what} are {found}, and group means differ by {np.array(expected)}",
        )


def _check_rows_that_change_nothing(problem: Problem, batch: Batch) -> None:
    logits = _logits(batch)
    before = _measured(problem, logits, batch)
    for what, rows, changed in _equivalent(batch):
        after = _measured(problem, logits[rows], changed)
        require(alike(before, after, **CLOSE), f"{what} changes gaps from {before} to {after}")


def _equivalent(batch: Batch) -> Iterator[tuple[str, np.ndarray, Batch]]:
    """Describe the same people in other ways; yield what was done, and which rows were taken."""
    rng = np.random.default_rng(1)
    everyone, real = np.arange(len(batch.y)), np.flatnonzero(batch.mask)
    yield "leaving out padding", real, _taken(batch, real)
    shuffled = rng.permutation(everyone)
    yield "another order of rows", shuffled, _taken(batch, shuffled)
    yield "another unit of weights", everyone, batch._replace(weight=batch.weight * 3)
    twice = np.repeat(everyone, np.where(batch.weight == 2, 2, 1))
    single = _taken(batch, twice)
    yield "writing rows of weight 2 twice", twice, single._replace(weight=single.mask)
    noise = np.where(batch.mask[:, None] > 0, batch.x, 5.0).astype(np.float32)
    groups = np.where(batch.mask[:, None] > 0, batch.s, 1.0).astype(np.float32)
    yield "other numbers in padding", everyone, batch._replace(x=noise, s=groups)


def _check_slopes(problem: Problem, batch: Batch) -> None:
    for logits in (_logits(batch), np.zeros_like(batch.y)):
        slopes = jax.jacobian(lambda h: _gaps_of(problem, h, batch))(logits)
        require(np.isfinite(slopes).all(), "the score has gradients that are not finite")
    slopes = jax.jacobian(lambda h: _gaps_of(problem, h, batch))(_logits(batch))
    require(np.any(slopes), "the score has no slope, so that nothing can be learned from it")
    require(not np.any(slopes[:, batch.mask == 0]), "padding has a slope")


def _check_masked(problem: Problem, batch: Batch) -> None:
    """Let everybody belong to one group: there is nobody to compare with."""
    alone = batch._replace(s=np.zeros_like(batch.s))
    params = jax.tree.map(lambda leaf: leaf + 0.3, problem.init(jax.random.key(0)))
    values = constraint(problem, params, alone), gaps(problem, params, alone)
    slopes = jax.jacobian(lambda theta: constraint(problem, theta, alone))(params)
    require(not np.any(effective_rows(problem, alone)), "rows are counted where a group is missing")
    require(not np.any(values), "an entry whose group is missing has a gap; it must be 0")
    require(
        not any(np.any(leaf) for leaf in jax.tree.leaves(slopes)),
        "an entry whose group is missing has a gradient; it must have none",
    )


def _toy_batch(schema: Schema) -> Batch:
    """Rows of weight 1 and 2, and some padding."""
    task, padding = toy_task(0, ROWS, schema), 8
    mask = np.pad(np.ones(ROWS, np.float32), (0, padding))
    return Batch(
        x=np.pad(task.x, ((0, padding), (0, 0))),
        y=np.pad(task.y.astype(np.float32), (0, padding)),
        s=np.pad(schema.memberships(task.groups), ((0, padding), (0, 0))),
        mask=mask,
        weight=mask * (1 + np.arange(ROWS + padding) % 2).astype(np.float32),
        pool_size=np.int32(ROWS),
        distinct_share=mask,
    )


def _logits(batch: Batch) -> np.ndarray:
    return (batch.x @ np.array([1.0, -0.5, 0.3]) + 0.1).astype(np.float32)


def _measured(problem: Problem, logits: np.ndarray, batch: Batch) -> dict[str, Any]:
    return {
        "score": np.asarray(_gaps_of(problem, logits, batch)),
        "judged": np.asarray(judged_gaps(problem, logits, batch)),
    }


def _gaps_of(problem: Problem, logits: Any, batch: Batch) -> Any:
    given = problem._replace(model=problem.model._replace(apply=lambda h, x: h))
    return gaps(given, logits, batch)


def _taken(batch: Batch, rows: np.ndarray) -> Batch:
    return jax.tree.map(lambda leaf: leaf[rows] if np.ndim(leaf) else leaf, batch)


def _mean(values: np.ndarray, weights: np.ndarray) -> float:
    return float(values @ weights / weights.sum()) if weights.sum() > 0 else 0.0
