"""How much a new task's labelled rows should count beside everything seen: learned as one goes.

A fit to all tasks is where adaptation starts. Near it, the loss of all those rows is a quadratic
with curvature P, so that letting each of the task's own rows count c times means minimising

    Σ_own ℓ(θ) + ½ (θ - θ̄)ᵀ (P/c) (θ - θ̄)

c = 0 is the fit to all tasks itself, c = 1 a fit to all rows, a large c the task's own fit. Each
task that is revealed shows which c would have done best on it, before anything is learned from it.
"""

from typing import NamedTuple

import numpy as np

from ffml.base import Batch, LabelledTask

TRUSTS = np.array([0.0, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0])
UNTRIED = 1  # the place of c = 1, with which one starts
MEMORY = 0.95  # what a task counts beside the next one
MOST_ROWS = 8192  # of a label that are adapted to
HALF_TRUSTED_ROWS = 50.0  # a task judged on n rows counts n/(n + 50)


class Halves(NamedTuple):
    """A revealed task, split at random into rows to adapt to and rows to judge by."""

    support: Batch
    query: Batch
    rows: np.ndarray  # (n,) which rows of the task those of the query are


def best_trust(losses: np.ndarray) -> np.ndarray:
    """Return the c of the smallest loss so far; 1 where nothing was tried yet.

    Args:
        losses: ``(trusts,)`` or ``(trusts, several)`` of `add_losses`.

    >>> best_trust(np.zeros(8)).item(), best_trust(np.arange(8.0)[::-1]).item()
    (1.0, 1000.0)
    """
    tried = (losses != losses[:1]).any(0)
    return TRUSTS[np.where(tried, losses.argmin(0), UNTRIED)]


def add_losses(losses: np.ndarray, new: np.ndarray, rows: float) -> np.ndarray:
    """Take in the losses on one more task, judged on so many rows."""
    return MEMORY * losses + rows / (rows + HALF_TRUSTED_ROWS) * new


def halves(rng: np.random.Generator, task: LabelledTask, shots: int | None) -> Halves:
    """Split a task's rows by label: half of them judge, the others are adapted to."""
    return both_halves(rng, task, shots)[0]


def both_halves(
    rng: np.random.Generator, task: LabelledTask, shots: int | None
) -> tuple[Halves, Halves]:
    """Split a task's rows by label; each half is adapted to while the other one judges.

    The support is like those of decisions (`support_of`). The query has each of its rows once.
    """
    counts = np.asarray(task.counts)
    orders = [rng.permutation(int(n)) for n in counts]
    orders[1] = orders[1] + counts[0]
    first = [order[: (len(order) + 1) // 2] for order in orders]
    second = [order[(len(order) + 1) // 2 :] for order in orders]
    return _split(task, first, second, shots), _split(task, second, first, shots)


def all_judge(task: LabelledTask, shots: int | None) -> Halves:
    """Let all rows of a task judge, and adapt to none: labels come later than decisions."""
    negatives, positives = np.asarray(task.counts)
    nobody = np.zeros(0, int)
    everybody = [np.arange(negatives), negatives + np.arange(positives)]
    return _split(task, [nobody, nobody], everybody, shots)


def _split(
    task: LabelledTask, support: list[np.ndarray], query: list[np.ndarray], shots: int | None
) -> Halves:
    x, s, totals = np.asarray(task.x), np.asarray(task.s), np.asarray(task.totals)
    rates = totals / max(int(totals.sum()), 1)
    given = support_of(x, s, support, shots, rates)
    return Halves(given, _as_they_are(x, s, query, rates), np.concatenate(query))


def support_of(
    x: np.ndarray, s: np.ndarray, pools: list[np.ndarray], shots: int | None, rates: np.ndarray
) -> Batch:
    """Take rows to adapt to from the front of the pools of both labels.

    Args:
        x: features of all rows.
        s: memberships of all rows.
        pools: positions of the rows of label 0 and of label 1, in random order.
        shots: rows of each label; None takes them all, up to `MOST_ROWS` of a label.
        rates: of the labels, which the rows of each together stand for.
    """
    if shots is not None:
        return balanced_support(x, s, pools, shots, rates)
    known = sum(map(len, pools))
    batch = _as_they_are(x, s, [pool[:MOST_ROWS] for pool in pools], rates)
    return batch._replace(pool_size=np.int32(known))


def balanced_support(
    x: np.ndarray, s: np.ndarray, pools: list[np.ndarray], shots: int, rates: np.ndarray
) -> Batch:
    """Take ``shots`` rows of each label from the front of its pool, which is gone through again.

    A label without rows is masked.
    """
    chosen = np.concatenate([np.resize(pool if len(pool) else [0], shots) for pool in pools])
    counts = np.array([len(pool) for pool in pools])
    mask = np.repeat(np.float32(counts > 0), shots)
    return Batch(
        x=x[chosen],
        y=np.repeat(np.array([0, 1], np.float32), shots),
        s=s[chosen],
        mask=mask,
        weight=mask * np.repeat(np.float32(rates), shots),
        pool_size=np.int32(counts.sum()),
        distinct_share=np.repeat(np.float32(np.minimum(counts / shots, 1)), shots),
    )


def _as_they_are(x: np.ndarray, s: np.ndarray, rows: list[np.ndarray], rates: np.ndarray) -> Batch:
    counts = np.array([len(part) for part in rows])
    chosen = np.concatenate(rows)
    ones = np.ones(len(chosen), np.float32)
    each = np.where(counts > 0, rates / np.maximum(counts, 1), 0.0) * counts.sum()
    return Batch(
        x=x[chosen],
        y=np.repeat(np.array([0, 1], np.float32), counts),
        s=s[chosen],
        mask=ones,
        weight=np.repeat(np.float32(each), counts),
        pool_size=np.int32(len(chosen)),
        distinct_share=ones,
    )
