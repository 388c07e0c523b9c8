"""The best fixed meta-parameters in hindsight, to a certified tolerance."""

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import numpy as np

from ffml.base import FFMLError, Params
from ffml.border import positive
from ffml.problem.gaps import bounds
from ffml.research.analysis._game import Game, Outcome, flattened, on_device, outcome

MOST_ITERATIONS = 30  # updates of the multipliers
FIRST_PENALTY, LARGEST_PENALTY = 30.0, 1e5
FEASIBLE = 1e-5  # a mean constraint may be this much above 0, however large the tolerance
MOST_POLISHED = 256  # parameters for which slopes are driven to 0 by their differences


class Comparator(NamedTuple):
    """The best fixed parameters for the first ``num_rounds`` rounds."""

    num_rounds: int
    params: Params
    loss: float  # mean over the rounds of f_t(Alg_t(θ))
    at_least: float  # where the problem is convex, no feasible parameters have a smaller one
    constraint: np.ndarray  # (m,) mean over the rounds of g_{t,i}
    multipliers: np.ndarray  # (m,) the price of each constraint


class _Objective(NamedTuple):
    """The full-information problem of some rounds."""

    evaluate: Callable[[np.ndarray], Outcome]  # flat θ
    weight: np.ndarray  # (T,) what a round counts: 1/n or 0
    slack: np.ndarray  # (m,) Σ_t weight · ε_i over the rounds that can measure entry i
    radius: float


def best_in_hindsight(
    game: Game,
    rounds: Sequence[int] | None = None,
    *,
    radius: float = 100.0,
    tolerance: float = 1e-6,
) -> list[Comparator]:
    """Minimise the full-information objective of Eq. 4 over the feasible parameters.

    For the first n rounds of the game::

        min_θ 1/n Σ_t f_t(Alg_t(θ))   s.t.   1/n Σ_t g_{t,i}(Alg_t(θ)) <= 0,   ‖θ‖ <= R

    Alg_t is the learner's own adaptation in round t, to the same support rows and with the
    multipliers it had then: Eq. 4 minimises over θ alone. Rounds that cannot measure an entry
    take no part in its sum.

    Method: ``g = |gap| - ε``, so the gaps of all rounds lie in an l1 ball. The multipliers' method
    projects onto it, which makes its objective smooth although g is not; L-BFGS minimises that in
    double precision, and Powell's hybrid method takes over where its digits are used up.

    Certificate: the dual variables ν_t, with ``|ν_t| <= λ``, are the multiplier times a slope of
    the absolute value. ``L(θ, ν) = 1/n Σ_t (f_t + ν_t gap_t)(Alg_t(θ)) - Σ_i λ_i ε_i`` is nowhere
    above the loss of a feasible θ. Where L is convex in θ, its tangent plane at the result bounds
    it from below on the whole ball; ``at_least`` is that bound.

    L is convex for a linear model with constraint ``dbc`` and a method that does not adapt, or
    that adapts by one inner step with η₁ within Theorem 1's bound (`largest_inner_step`) as long
    as the gap of no support set changes sign. In other cases the result satisfies the first-order
    conditions to the same tolerance, but another θ may be better. See docs/theory.md.

    Args:
        game: what was played, see `record`.
        rounds: the numbers n, ascending; all rounds if not given.
        radius: R, as the learner's.
        tolerance: the most that ``loss - at_least`` may be; also the most that the mean of any
            g_i may be, if it is below 1e-5, which is the most in any case.

    Returns:
        A comparator for each n.
    """
    positive(radius=radius, tolerance=tolerance)
    horizons = checked_rounds(game, rounds)
    if np.any(bounds(game.problem).share):
        raise FFMLError("the best in hindsight is known for largest gaps only; ask for max_gap")
    game = on_device(game)
    template = jax.tree.map(lambda leaf: leaf[0], game.params)

    def evaluate(theta: np.ndarray) -> Outcome:
        params = jax.tree.map(
            lambda leaf: np.broadcast_to(leaf, (game.num_rounds, *leaf.shape)),
            unflattened(theta, template),
        )
        return outcome(game, params)

    measurable = ~np.isnan(game.constraint)
    theta, dual = flattened(game.params, 1)[-1], np.zeros(game.constraint.shape)
    comparators = []
    for n in horizons:
        weight = (np.arange(game.num_rounds) < n) / n
        slack = weight @ measurable * np.asarray(bounds(game.problem).width, float)
        objective = _Objective(evaluate, weight, slack, radius)
        theta, dual, comparator = _solve(objective, theta, dual, tolerance, int(n))
        comparators.append(comparator._replace(params=unflattened(theta, template)))
    return comparators


def _solve(
    objective: _Objective, theta: np.ndarray, dual: np.ndarray, tolerance: float, n: int
) -> tuple[np.ndarray, np.ndarray, Comparator]:
    """Alternate between θ and the multipliers until the duality gap is closed."""
    penalty, before = FIRST_PENALTY, np.inf
    ball_dual, feasible = np.zeros_like(theta), min(tolerance, FEASIBLE)
    for _ in range(MOST_ITERATIONS):
        theta = _minimised(objective, theta, dual, ball_dual, penalty, tolerance)
        now = objective.evaluate(theta)
        ball_dual = penalty * _outside_ball(theta + ball_dual / penalty, objective.radius)
        dual = penalty * _outside(now.gaps + dual / penalty, objective)[0]
        comparator, infeasible = _certified(objective, theta, dual, now, n)
        gap = comparator.loss - comparator.at_least
        if gap <= tolerance and infeasible <= feasible:
            return theta, dual, comparator
        if infeasible > before / 4 and infeasible > feasible:
            penalty = min(10 * penalty, LARGEST_PENALTY)
        before = infeasible
    raise FFMLError(
        f"the best parameters in hindsight of {n} rounds are certain to {gap:.1e} and feasible to "
        f"{infeasible:.1e}, not to {tolerance:.1e} and {feasible:.1e}: raise tolerance, or lower "
        "radius to what the learner needs"
    )


def _minimised(
    objective: _Objective,
    theta: np.ndarray,
    dual: np.ndarray,
    ball_dual: np.ndarray,
    penalty: float,
    tolerance: float,
) -> np.ndarray:
    """Minimise ``F(θ) + ρ/2 dist²(gaps(θ) + ν/ρ, l1 balls) + ρ/2 dist²(θ + ν₀/ρ, ball)``."""
    from scipy.optimize import minimize, root

    weight, radius = objective.weight, objective.radius

    def value_and_slope(theta: np.ndarray) -> tuple[float, np.ndarray]:
        now = objective.evaluate(theta)
        outside, half_squares = _outside(now.gaps + dual / penalty, objective)
        beyond = _outside_ball(theta + ball_dual / penalty, radius)
        value = weight @ now.loss + penalty * (half_squares + beyond @ beyond / 2)
        slope = weight @ now.loss_slope + penalty * beyond
        slope += np.einsum("t,tm,tmd->d", weight, penalty * outside, now.gap_slopes)
        return float(value), slope

    # A slope this small costs the certificate at most half of the tolerance.
    small = tolerance / (4 * radius * math.sqrt(len(theta)))
    options = {"maxiter": 500, "maxcor": 30, "ftol": 0.0, "gtol": small}
    solution = minimize(value_and_slope, theta, jac=True, method="L-BFGS-B", options=options)
    if np.abs(solution.jac).max() > small and len(theta) <= MOST_POLISHED:
        # Values have no more digits to compare; slopes have.
        better = root(lambda theta: value_and_slope(theta)[1], solution.x, method="hybr", tol=1e-15)
        if np.abs(better.fun).max() < np.abs(solution.jac).max():
            return better.x
    return solution.x


def _certified(
    objective: _Objective, theta: np.ndarray, dual: np.ndarray, now: Outcome, n: int
) -> tuple[Comparator, float]:
    """Bound the loss of all feasible parameters from below, by the tangent plane of L at θ."""
    weight, radius = objective.weight, objective.radius
    multipliers = np.abs(dual).max(0)  # λ_i = max_t |ν_{t,i}|
    slope = weight @ now.loss_slope + np.einsum("t,tm,tmd->d", weight, dual, now.gap_slopes)
    lagrangian = weight @ (now.loss + (dual * now.gaps).sum(1)) - multipliers @ objective.slack
    loss, constraint = weight @ now.loss, weight @ np.abs(now.gaps) - objective.slack
    at_least = lagrangian - slope @ theta - radius * np.linalg.norm(slope)
    infeasible = max(constraint.max(initial=0.0), np.linalg.norm(theta) - radius)
    comparator = Comparator(n, None, float(loss), float(at_least), constraint, multipliers)
    return comparator, float(infeasible)


def _outside(points: np.ndarray, objective: _Objective) -> tuple[np.ndarray, float]:
    """Return ``u - Π(u)`` for the l1 ball of each entry, and half of its weighted squares.

    Π moves every |u_t| by one threshold towards 0, so that ``u - Π(u) = clip(u, -τ, τ)``.
    """
    outside = np.zeros_like(points)
    for i, slack in enumerate(objective.slack):
        threshold = l1_threshold(points[:, i], objective.weight, slack)
        outside[:, i] = np.clip(points[:, i], -threshold, threshold)
    return outside, float(objective.weight @ (outside**2).sum(1) / 2)


def l1_threshold(points: np.ndarray, weight: np.ndarray, slack: float) -> float:
    """Return the τ >= 0 with ``Σ_t weight_t [|points_t| - τ]₊ = slack``; 0 if that is met anyway.

    >>> l1_threshold(np.array([3.0, -1.0, 0.5]), np.ones(3), slack=2.5)
    0.75
    """
    counted = weight > 0
    size, weight = np.abs(points[counted]), weight[counted]
    if weight @ size <= slack:
        return 0.0
    order = np.argsort(-size)
    size, weight = size[order], weight[order]
    thresholds = (np.cumsum(weight * size) - slack) / np.cumsum(weight)
    return float(thresholds[max(np.count_nonzero(size > thresholds) - 1, 0)])


def _outside_ball(point: np.ndarray, radius: float) -> np.ndarray:
    norm = np.linalg.norm(point)
    return point * max(0.0, 1 - radius / norm) if norm > 0 else point


def unflattened(vector: np.ndarray, template: Params) -> Params:
    """Turn a flat vector into parameters shaped like the template."""
    leaves, structure = jax.tree.flatten(template)
    sizes = np.cumsum([np.size(leaf) for leaf in leaves])[:-1]
    parts: list[Any] = [
        part.reshape(np.shape(leaf))
        for part, leaf in zip(np.split(vector, sizes), leaves, strict=True)
    ]
    return jax.tree.unflatten(structure, parts)


def checked_rounds(game: Game, rounds: Sequence[int] | None) -> np.ndarray:
    """Refuse numbers of rounds that the game does not have."""
    chosen = np.array([game.num_rounds] if rounds is None else rounds)
    if not len(chosen) or chosen.min() < 1 or chosen.max() > game.num_rounds:
        raise FFMLError(f"rounds must be between 1 and {game.num_rounds}, got {chosen.tolist()}")
    if (np.diff(chosen) <= 0).any():
        raise FFMLError(f"rounds must be ascending, got {chosen.tolist()}")
    return chosen
