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

from ffml.base import Array, Batch, LabelledTask
from ffml.methods.trust import TRUSTS, Halves, add_losses, best_trust

RIDGE = 10.0  # strength of the ridge, in rows
WIDE = 500  # with more columns, only the diagonal of the curvature is kept


class Membership(NamedTuple):
    """What is known of groups: the fit to the tasks in memory, and how well each trust has done."""

    weights: np.ndarray  # (columns + 2, contrasts) φ; the last rows are those of y and of the one
    curvature: np.ndarray  # (columns + 2, columns + 2) of the least squares, or its diagonal
    losses: np.ndarray  # (trusts, contrasts)


def nothing_known(num_columns: int, num_contrasts: int) -> Membership:
    """Start without any knowledge: nobody belongs to any group."""
    size = num_columns + 2
    plain = np.full(size, RIDGE)
    return Membership(
        np.zeros((size, num_contrasts)),
        plain if num_columns > WIDE else np.diag(plain),
        np.zeros((len(TRUSTS), num_contrasts)),
    )


def learn_membership(known: Membership, tasks: LabelledTask) -> Membership:
    """Fit φ to tasks (leading axis): ``φ = (Σ w z zᵀ + rI)⁻¹ Σ w z s`` with z = (x, y, 1).

    Rows are weighed so that the label rates of a task are its own and that it counts as much as it
    has rows here.
    """
    products, targets = np.zeros_like(known.curvature), np.zeros_like(known.weights)
    for x, s, counts, totals in zip(*map(np.asarray, tasks), strict=True):
        kept = int(counts.sum())
        if not kept:
            continue
        worth = kept * totals / totals.sum() / np.maximum(counts, 1)
        z = _regressors(x[:kept], np.repeat([0.0, 1.0], counts))
        weight = np.repeat(worth, counts)
        weighted = z * weight[:, None]
        products = products + (weight @ z**2 if products.ndim == 1 else weighted.T @ z)
        targets = targets + weighted.T @ s[:kept]
    ridge = np.full(len(targets), RIDGE)
    if products.ndim == 1:
        curvature = products + ridge
        return known._replace(weights=targets / curvature[:, None], curvature=curvature)
    curvature = products + np.diag(ridge)
    return known._replace(weights=np.linalg.solve(curvature, targets), curvature=curvature)


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
    x = np.asarray(x, float)
    return np.clip(x @ weights[:-2] + y * weights[-2] + weights[-1], 0.0, 1.0)


def try_trusts(known: Membership, parts: Halves) -> np.ndarray:
    """Take in how each trust would have done on a task just revealed, by squared errors."""
    support, query = parts
    if not len(query.y) or not np.asarray(support.mask).any():
        return known.losses
    z = _regressors(query.x, query.y)
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
    if trust == 0 or not rows.any() or total <= 0:
        return known.weights
    weight = np.asarray(support.weight, float) / total * rows.sum()
    z = _regressors(support.x, support.y)
    missed = np.asarray(support.s, float) - z @ known.weights
    weighted = z * weight[:, None]
    prior = known.curvature / trust
    if prior.ndim == 2:
        return known.weights + np.linalg.solve(prior + weighted.T @ z, weighted.T @ missed)
    spread = z / prior  # Woodbury's formula, for a diagonal prior
    inner = np.diag(1 / np.maximum(weight, 1e-12)) + spread @ z.T
    return known.weights + spread.T @ np.linalg.solve(inner, missed)


def _regressors(x: Array, y: Array) -> np.ndarray:
    x = np.asarray(x, float)
    return np.concatenate([x, np.asarray(y, float)[:, None], np.ones((len(x), 1))], axis=1)
