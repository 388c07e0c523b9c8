"""Curvatures of sums over rows: a matrix, or only its diagonal where columns are many."""

import numpy as np

WIDE = 500  # from more columns on, only the diagonal is kept


def curvature(ridge: np.ndarray, x: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Return ``diag(ridge) + xᵀ diag(weight) x``, or its diagonal if x has many columns.

    >>> curvature(np.ones(2), np.array([[1.0, 2.0]]), np.array([4.0])).tolist()
    [[5.0, 8.0], [8.0, 17.0]]
    """
    if x.shape[1] > WIDE:
        return ridge + weight @ x**2
    rows = x * np.sqrt(weight)[:, None]
    return np.diag(ridge) + rows.T @ rows


def times(matrix: np.ndarray, vector: np.ndarray) -> np.ndarray:
    """Multiply a matrix, or one that is known by its diagonal, with a vector."""
    return matrix * vector if matrix.ndim == 1 else matrix @ vector


def solved(
    prior: np.ndarray, x: np.ndarray, weight: np.ndarray, right_side: np.ndarray
) -> np.ndarray:
    """Return ``(prior + xᵀ diag(weight) x)⁻¹ right_side``, of which there may be several columns.

    With a prior known by its diagonal, Woodbury's formula solves for the rows instead of for the
    columns.
    """
    counts = weight > 0
    if not counts.all():
        x, weight = x[counts], weight[counts]
    rows = x * np.sqrt(weight)[:, None]
    if prior.ndim == 2:
        return np.linalg.solve(prior + rows.T @ rows, right_side)
    spread = rows / prior
    inner = np.eye(len(rows)) + spread @ rows.T
    alone = (right_side.T / prior).T
    return alone - spread.T @ np.linalg.solve(inner, rows @ alone)
