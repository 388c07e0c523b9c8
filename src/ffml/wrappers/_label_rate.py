"""The rate of label 1 in a task: from its labelled rows, from the tasks before, or by a shift.

Logits speak of labels that are drawn evenly. A task's label rate π turns them into probabilities::

    p = sigmoid(logit + log π/(1 - π))

Where no row of the task is labelled yet, the rate of the tasks before is taken for π. But people
may have changed and the rate not: then the mean of p is not π. A shift of all logits by a, such
that it is, helps on some streams and harms on others. So t·a is added, with the t of 0, ½ and 1
that has done best on the tasks so far, each tried before it was learned from.
"""

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit, logit

from ffml.base import Batch
from ffml.methods.trust import add_losses

PRIOR_ROWS = 20.0  # a task's label rate is mixed with that of all tasks, which counts so many rows
SHIFTS = np.array([0.0, 0.5, 1.0])  # t
FARTHEST = 10.0  # shift of a logit


def label_rate(labels: np.ndarray, support: Batch) -> float:
    """Estimate the task's rate of label 1 from its labelled rows and from the tasks before.

    Args:
        labels: ``(2,)`` rows of each label so far.
        support: rows of the task.
    """
    everywhere = (labels[1] + 1) / (labels.sum() + 2)
    total = float(np.sum(support.weight))
    own = float(support.weight @ support.y) / total if total > 0 else 0.0
    rows = float(support.pool_size) if total > 0 else 0.0
    return float(np.clip((rows * own + PRIOR_ROWS * everywhere) / (rows + PRIOR_ROWS), 1e-3, 0.999))


def shift_to(rate: float, logits: np.ndarray, weight: np.ndarray) -> float:
    """Return the a with which the mean of ``sigmoid(logits + a)`` is a rate.

    >>> round(shift_to(0.5, np.array([1.0, 3.0]), np.ones(2)), 6)
    -2.0
    """
    if not weight.sum() > 0:
        return 0.0

    def missed(a: float) -> float:
        return float(np.average(expit(logits + a), weights=weight)) - rate

    if not missed(-FARTHEST) < 0 < missed(FARTHEST):  # too far, or not finite
        return 0.0
    return float(brentq(missed, -FARTHEST, FARTHEST, xtol=1e-9))


def best_shift(losses: np.ndarray) -> float:
    """Return the t of the smallest loss so far; 0 where nothing was tried yet."""
    return float(SHIFTS[losses.argmin()])


def try_shifts(losses: np.ndarray, logits: np.ndarray, rate: float, query: Batch) -> np.ndarray:
    """Take in how each t would have done on a task just revealed, by the loss of its labels."""
    a = shift_to(rate, logits, query.weight)
    share = query.weight / query.weight.sum()
    shifted = logits + a * SHIFTS[:, None]
    new = (np.logaddexp(0, shifted) - query.y * shifted) @ share
    return add_losses(losses, new, len(query.y))


def moved(rate: float, by: float) -> float:
    """Return the rate whose log odds are higher by so much."""
    return float(expit(logit(rate) + by))
