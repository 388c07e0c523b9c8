"""Who belongs to which group, as far as features and labels tell.

The rows of past tasks show groups, so the share of a group among people with given features and
label can be estimated, and with it the gap of decisions about people whose groups nobody has asked
for. The share is linear in the columns of x, the label y and a one::

    q(x, y) = (x, y, 1) φ

φ fits the tasks in memory; a new task's labelled rows move it, each counting c times beside the
rows in memory. For each group, c is the one that has done best on the tasks so far (`trust`).
"""

from typing import NamedTuple

import numpy as np
from scipy.sparse.linalg import lsqr

from ffml.base import Array, Batch, LabelledTask
from ffml.methods.curvature import curvature, solved
from ffml.methods.rows import each, rows_of
from ffml.methods.trust import TRUSTS, Halves, add_losses, best_trust

RIDGE = 10.0  # strength of the ridge, in rows


class Membership(NamedTuple):
    """What is known of groups: the fit to the tasks in memory, and how well each trust has done."""

    weights: np.ndarray  # (columns + 2, contrasts) φ; the last rows are those of y and of the one
    curvature: np.ndarray  # (columns + 2, columns + 2) of the least squares, or its diagonal
    losses: np.ndarray  # (trusts, contrasts)


def nothing_known(num_columns: int, num_contrasts: int) -> Membership:
    """Start without any knowledge: nobody belongs to any group."""
    size = num_columns + 2
    return Membership(
        np.zeros((size, num_contrasts)),
        curvature(np.full(size, RIDGE), np.zeros((0, size)), np.zeros(0)),
        np.zeros((len(TRUSTS), num_contrasts)),
    )


def learn_membership(known: Membership, tasks: LabelledTask) -> Membership:
    """Fit φ to tasks (leading axis): ``φ = (Σ w z zᵀ + rI)⁻¹ Σ w z s`` with z = (x, y, 1).

    Rows are weighed so that the label rates of a task are its own and that it counts as much as it
    has rows here.
    """
    parts = []
    for task in each(tasks):
        x, y, s, times = rows_of(task)
        parts.append((_regressors(known, x, y), s, times * len(y) / max(times.sum(), 1.0)))
    z, s, weight = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    products = curvature(np.full(z.shape[1], RIDGE), z, weight)
    if products.ndim == 2:
        weights = np.linalg.solve(products, (z * weight[:, None]).T @ s)
    else:
        weights = _many_columns(z, s, np.sqrt(weight))
    return known._replace(weights=weights, curvature=products)


def _many_columns(z: np.ndarray, s: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """Fit φ without the matrix of all products."""
    if not len(z):
        return np.zeros((z.shape[1], s.shape[1]))
    rows = z * scale[:, None]
    fits = [lsqr(rows, scale * member, damp=np.sqrt(RIDGE))[0] for member in s.T]
    return np.stack(fits, axis=1)


def of_task(known: Membership, support: Batch) -> np.ndarray:
    """Return φ for a task, as its labelled rows show it: ``(columns + 2, contrasts)``."""
    trusts = best_trust(known.losses)
    weights = known.weights.copy()
    for trust in np.unique(trusts):
        theirs = trusts == trust
        weights[:, theirs] = _moved(known, float(trust), support)[:, theirs]
    return weights


def shares(weights: np.ndarray, x: Array, y: float) -> np.ndarray:
    """Estimate each group's share among people with these features and this label ``(n, C)``."""
    x = np.asarray(x, float)[:, : len(weights) - 2]
    return np.clip(x @ weights[:-2] + y * weights[-2] + weights[-1], 0.0, 1.0)


def try_trusts(known: Membership, parts: Halves) -> np.ndarray:
    """Take in how each trust would have done on a task just revealed, by squared errors."""
    support, query, _ = parts
    if not len(query.y) or not np.asarray(support.mask).any():
        return known.losses
    z = _regressors(known, query.x, query.y)
    weight = query.weight / query.weight.sum()
    errors = [
        weight @ (np.clip(z @ _moved(known, trust, support), 0, 1) - query.s) ** 2
        for trust in TRUSTS
    ]
    return add_losses(known.losses, np.array(errors), len(query.y))


def _moved(known: Membership, trust: float, support: Batch) -> np.ndarray:
    """Return ``φ + (P/c + ZᵀWZ)⁻¹ ZᵀW (s - Zφ)``."""
    rows = np.asarray(support.mask * support.distinct_share, float)
    total = float(np.sum(support.weight))
    if trust == 0 or total <= 0:
        return known.weights
    weight = np.asarray(support.weight, float) / total * rows.sum()
    z = _regressors(known, support.x, support.y)
    missed = np.asarray(support.s, float) - z @ known.weights
    slope = (z * weight[:, None]).T @ missed
    return known.weights + solved(known.curvature / trust, z, weight, slope)


def _regressors(known: Membership, x: Array, y: Array) -> np.ndarray:
    """Return z = (x, y, 1), of the columns that were there when all this began."""
    x = np.asarray(x, float)[:, : len(known.weights) - 2]
    return np.concatenate([x, np.asarray(y, float)[:, None], np.ones((len(x), 1))], axis=1)
