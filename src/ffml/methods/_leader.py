"""Follow the leader: start from the best fit to all tasks, adapt as much as has paid so far."""

from typing import NamedTuple

import numpy as np

from ffml.base import Array, Batch, Info, LabelledTask, Learner, Pair, Params, Problem
from ffml.border import at_least, positive
from ffml.methods._refit import needed
from ffml.methods.classifiers import Balanced, logistic
from ffml.methods.trust import TRUSTS, add_losses, best_trust, generator, halves
from ffml.problem.classification import label_costs

MOST_STEPS = 25  # of Newton; it stops once steps are tiny
MOST_HALVINGS = 20  # of a step that does not lower the loss
WIDE = 500  # with more features, only the diagonal of the curvature is kept


class Leader(NamedTuple):
    """The fit to all tasks in memory, its curvature, and how well each trust has done."""

    weights: np.ndarray  # (features + 1,) θ̄, the intercept last
    curvature: np.ndarray  # (features + 1, features + 1) P, or its diagonal where features are many
    losses: np.ndarray  # (trusts,)


def leader(problem: Problem, *, inverse_l2: float = 1.0, shots: int = 100) -> Learner:
    """Fit a logistic regression to all tasks in memory, and adapt it to each new task.

    Leader, after each round: ``θ̄ = argmin C Σ_rows c_y ℓ(x θ, y) + ‖θ‖²/2``, both labels counting
    the same. Adaptation to a task's support rows, each of which counts c times beside the rows of
    all others (P is the curvature of the leader's objective)::

        θ' = argmin Σ_support c_y ℓ(x θ, y) + ½ (θ - θ̄)ᵀ (P/c) (θ - θ̄)

    c is chosen among 0, 1, 3, … 1000: the one that has done best on the tasks so far, each tried
    before it was learned from. With c = 0 there is no adaptation. Of more than 500 features, only
    the diagonal of P is used.

    Args:
        problem: its constraints are not learned from and the model is linear, whatever it says;
            what a missed positive costs is heeded.
        inverse_l2: C, the smaller, the smaller the weights.
        shots: rows of each label that a task just revealed is tried with.

    Differs from the paper: the leader of "follow the meta leader" is best *after* adaptation;
    this one is best before, and is found exactly.

    Reference: Finn, Rajeswaran, Kakade & Levine, "Online Meta-Learning", 2019; Rajeswaran, Finn,
    Kakade & Levine, "Meta-Learning with Implicit Gradients", 2019 (for the proximal term).
    """
    positive(inverse_l2=inverse_l2)
    at_least(1, shots=shots)
    needed("sklearn")
    width = len(problem.schema.features)
    costs = np.array(label_costs(problem.positive_weight))
    no_multiplier = np.zeros(problem.num_constraints, np.float32)

    def init(key: Array) -> Leader:
        del key
        plain = np.ones(width + 1) / inverse_l2
        curvature = plain if width > WIDE else np.diag(plain)
        return Leader(np.zeros(width + 1), curvature, np.zeros(len(TRUSTS)))

    def adapt(known: Leader, support: Batch) -> Params:
        theta = adapted(known, float(best_trust(known.losses)), *rows_of(support))
        return {"w": theta[:-1], "b": theta[-1]}

    def rows_of(batch: Batch) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the features with a one, the labels, and what each row counts."""
        y = np.asarray(batch.y, float)
        rows = np.asarray(batch.mask * batch.distinct_share, float)
        return _with_one(batch.x, width), y, rows * _evenly(y, rows) * costs[y.astype(int)]

    def tried(known: Leader, task: LabelledTask, key: Array) -> np.ndarray:
        """Take in how each trust would have done on a task just revealed."""
        support, query = halves(generator(key), task, shots)
        x, y, weight = rows_of(query)
        if not 0 < y.sum() < len(y) or not np.asarray(support.mask).all():
            return known.losses
        given = rows_of(support)
        loss = [_loss(adapted(known, trust, *given), x, y, weight) for trust in TRUSTS]
        return add_losses(known.losses, np.array(loss) / weight.sum(), len(y))

    def update(key: Array, state: Leader, task: LabelledTask, memory: LabelledTask):
        losses = tried(state, task, key)
        x, y, times = _seen(memory, width)
        info = Info(0.0, no_multiplier, no_multiplier, 1)
        if not 0 < y.sum() < len(y):
            return state._replace(losses=losses), info
        model = Balanced(logistic(inverse_l2), problem.positive_weight)
        fitted = model.fit(x[:, :-1], y, times).kept()
        theta = np.append(fitted["w"], fitted["b"])
        weight = times * _evenly(y, times) * costs[y.astype(int)]
        plain = np.append(np.full(width, 1 / inverse_l2), 0.0)
        return Leader(theta, _curvature(theta, x, weight, plain), losses), info

    return Learner(
        init,
        adapt,
        lambda params, x: x[:, :width] @ params["w"] + params["b"],
        update,
        knowledge=lambda state: state,
        pair=lambda state: Pair({"w": state.weights[:-1], "b": state.weights[-1]}, no_multiplier),
        pure=False,
        constrained=False,
    )


def adapted(
    known: Leader, trust: float, x: np.ndarray, y: np.ndarray, weight: np.ndarray
) -> np.ndarray:
    """Return θ' by Newton steps, each halved until it lowers the objective."""
    start, theta = known.weights, known.weights
    if trust == 0 or not weight.any():
        return theta
    prior = known.curvature / trust

    def objective(theta: np.ndarray) -> float:
        moved = theta - start
        return _loss(theta, x, y, weight) + 0.5 * moved @ _times(prior, moved)

    now = objective(theta)
    for _ in range(MOST_STEPS):
        p = _sigmoid(x @ theta)
        slope = x.T @ (weight * (p - y)) + _times(prior, theta - start)
        step = _solve(prior, x, weight * p * (1 - p), slope)
        for _ in range(MOST_HALVINGS):
            ahead = objective(theta - step)
            if ahead <= now:
                break
            step = step / 2
        else:
            return theta
        theta, gained, now = theta - step, now - ahead, ahead
        if gained <= 1e-9 * (1 + abs(now)):
            break
    return theta


def _times(matrix: np.ndarray, vector: np.ndarray) -> np.ndarray:
    return matrix * vector if matrix.ndim == 1 else matrix @ vector


def _solve(prior: np.ndarray, x: np.ndarray, weight: np.ndarray, slope: np.ndarray) -> np.ndarray:
    """Return ``(prior + xᵀ diag(weight) x)⁻¹ slope``; a diagonal prior takes Woodbury's formula."""
    if prior.ndim == 2:
        return np.linalg.solve(prior + (x * weight[:, None]).T @ x, slope)
    rows = x[weight > 0] * np.sqrt(weight[weight > 0])[:, None]
    spread = rows / prior
    inner = np.eye(len(rows)) + spread @ rows.T
    return slope / prior - spread.T @ np.linalg.solve(inner, spread @ slope)


def _curvature(
    theta: np.ndarray, x: np.ndarray, weight: np.ndarray, plain: np.ndarray
) -> np.ndarray:
    p = _sigmoid(x @ theta)
    by_row = weight * p * (1 - p)
    if len(theta) > WIDE + 1:
        return by_row @ x**2 + plain + 1e-6
    return (x * by_row[:, None]).T @ x + np.diag(plain + 1e-6)


def _seen(memory: LabelledTask, width: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Write the rows of all tasks out: features with a one, labels, and what each stands for."""
    counts, totals = np.asarray(memory.counts), np.asarray(memory.totals)
    kept = counts.sum(1)
    x = np.concatenate([np.asarray(memory.x[k, :n]) for k, n in enumerate(kept)])
    y = np.concatenate([np.repeat([0.0, 1.0], each) for each in counts])
    times = totals / np.maximum(counts, 1)
    return (
        _with_one(x, width),
        y,
        np.concatenate([np.repeat(t, each) for t, each in zip(times, counts, strict=True)]),
    )


def _with_one(x: Array, width: int) -> np.ndarray:
    x = np.asarray(x, float)[:, :width]
    return np.concatenate([x, np.ones((len(x), 1))], axis=1)


def _evenly(y: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return the factors with which both labels count the same, and as much as before together."""
    by_label = np.array([rows @ (1 - y), rows @ y])
    return (by_label.sum() / (2 * np.maximum(by_label, 1e-30)))[y.astype(int)]


def _loss(theta: np.ndarray, x: np.ndarray, y: np.ndarray, weight: np.ndarray) -> float:
    logits = x @ theta
    return float(weight @ (np.logaddexp(0, logits) - y * logits))


def _sigmoid(logits: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-np.clip(logits, -30, 30)))
