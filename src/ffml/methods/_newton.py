"""Logistic regression near a given point: exactly by Newton's method, of many columns by L-BFGS."""

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit

from ffml.methods.curvature import solved, times

MOST_STEPS = 25  # of Newton; it stops once steps are tiny
MOST_HALVINGS = 20  # of a step that does not lower the loss
ENOUGH = 1e-9  # a step that gains less, relative to the objective, is the last
MOST_WIDE_STEPS = 200  # of L-BFGS
WIDE_ENOUGH = 1e-7


def logistic_loss(
    theta: np.ndarray,
    x: np.ndarray,
    y: np.ndarray,
    weight: np.ndarray,
    offset: np.ndarray | float = 0.0,
) -> float:
    """Return ``Σ w ℓ(x θ + offset, y)``."""
    logits = x @ theta + offset
    return float(weight @ (np.logaddexp(0, logits) - y * logits))


def minimised(
    prior: np.ndarray,
    center: np.ndarray,
    theta: np.ndarray,
    x: np.ndarray,
    y: np.ndarray,
    weight: np.ndarray,
    offset: np.ndarray | float = 0.0,
) -> np.ndarray:
    """Return ``argmin Σ w ℓ(x θ + offset, y) + ½ (θ - center)ᵀ prior (θ - center)`` by Newton.

    Each step is halved until it lowers the objective.

    Args:
        prior: a matrix, or its diagonal.
        center: where the quadratic is lowest.
        theta: where to start.
        x: features, with a one.
        y: labels 0 or 1.
        weight: what each row counts.
        offset: ``(n,)`` of the logits.
    """

    def objective(theta: np.ndarray) -> float:
        moved = theta - center
        return logistic_loss(theta, x, y, weight, offset) + 0.5 * moved @ times(prior, moved)

    now = objective(theta)
    for _ in range(MOST_STEPS):
        p = expit(x @ theta + offset)
        slope = x.T @ (weight * (p - y)) + times(prior, theta - center)
        step = solved(prior, x, weight * p * (1 - p), slope)
        for _ in range(MOST_HALVINGS):
            ahead = objective(theta - step)
            if ahead <= now:
                break
            step = step / 2
        else:
            return theta
        theta, gained, now = theta - step, now - ahead, ahead
        if gained <= ENOUGH * (1 + abs(now)):
            break
    return theta


def minimised_wide(
    ridge: np.ndarray, theta: np.ndarray, x: np.ndarray, y: np.ndarray, weight: np.ndarray
) -> np.ndarray:
    """Return nearly ``argmin Σ w ℓ(x θ, y) + ½ Σ ridge θ²``, without a matrix of all columns.

    Columns are scaled by their curvature, so that L-BFGS needs few steps.
    """
    scale = 1 / np.sqrt(ridge + 0.25 * (weight @ x**2))

    def objective(scaled: np.ndarray) -> tuple[float, np.ndarray]:
        theta = scaled * scale
        logits = x @ theta
        loss = weight @ (np.logaddexp(0, logits) - y * logits) + 0.5 * ridge @ theta**2
        return loss, scale * (x.T @ (weight * (expit(logits) - y)) + ridge * theta)

    solution = minimize(
        objective,
        theta / scale,
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": MOST_WIDE_STEPS, "ftol": WIDE_ENOUGH},
    )
    return solution.x * scale
