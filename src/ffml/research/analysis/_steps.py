"""The step sizes that Theorems 1 and 2 ask for."""

import math
from typing import Any

from ffml.base import FFMLError
from ffml.border import at_least, positive
from ffml.research.analysis._constants import Constants


def largest_inner_step(constants: Constants, mean_multiplier: float = 0.0) -> float:
    """Return the largest η₁ that Theorem 1 allows.

    ``η₁ <= min{ (μ_f + λ̄mμ_g) / (8 (L_f + λ̄mL_g)(ρ_f + λ̄mρ_g)),  1 / (2 (β_f + λ̄mβ_g)) }``

    Then the outer Lagrangian through one inner step is strongly convex and smooth in θ, see
    `guaranteed_curvature`. The printed proof bounds the length of a difference of slopes from
    below, which by itself would also hold for a concave function; the same two terms bound the
    smallest eigenvalue of the Hessian, which gives the claim.

    Args:
        constants: bounds such as those of `logistic_constants`.
        mean_multiplier: λ̄, the mean of the multipliers; the larger, the smaller the step.
    """
    at_least(0, mean_multiplier=mean_multiplier)
    lipschitz, smooth, hessian, convex = _of_lagrangian(constants, mean_multiplier)
    by_curvature = convex / (8 * lipschitz * hessian) if lipschitz * hessian > 0 else math.inf
    by_smoothness = 1 / (2 * smooth) if smooth > 0 else math.inf
    return min(by_curvature, by_smoothness)


def guaranteed_curvature(constants: Constants, mean_multiplier: float = 0.0) -> tuple[float, float]:
    """Return the strong convexity and the smoothness that Theorem 1 promises.

    ``(μ_f + λ̄mμ_g)/8`` and ``9/8 (β_f + λ̄mβ_g)``, of ``L_t(·, λ)`` (Eq. 8) in θ.
    """
    at_least(0, mean_multiplier=mean_multiplier)
    _, smooth, _, convex = _of_lagrangian(constants, mean_multiplier)
    return convex / 8, 9 / 8 * smooth


def outer_step(constants: Constants, round: int) -> float:
    """Return Theorem 2's ``η₂ = μ_f/(t+1)`` for round t.

    It is FFML's ``outer_lr=μ_f`` with ``schedule="inverse"``. The telescoping sum in the
    proof needs ``1/η₂`` to grow by at most μ_f a round, and it grows by 1/μ_f: the two agree for
    μ_f >= 1. With a smaller μ_f the steps shrink faster than the argument assumes, and several
    outer iterations a round make up for it.
    """
    at_least(1, round=round)
    return constants.loss_strong_convexity / (round + 1)


def damping_range(constants: Constants, inner_lr: float, round: int = 1) -> tuple[float, float]:
    """Return the smallest and the largest δ that Theorem 2's condition allows in round t.

    ``δ >= max{ 4m(G⁴η₁²m² + δ²η₂²),  4G²η₁²H²(m+1)² }``

    δ is on both sides: the first term is a quadratic inequality, with solutions only if
    ``8 m² G² η₁ η₂ <= 1``. η₂ shrinks by round, and what holds in round 1 holds later. The second
    term is printed as it is: it vanishes with η₁ although the slope that it bounds in the proof
    does not.

    Args:
        constants: bounds such as those of `logistic_constants`.
        inner_lr: η₁.
        round: t.
    """
    positive(inner_lr=inner_lr)
    allowed = _allowed_damping(constants, inner_lr, round)
    if allowed is None:
        raise FFMLError(
            f"no damping satisfies Theorem 2 with inner_lr={inner_lr:.3g}: make it smaller, "
            "see theorem_settings"
        )
    return allowed


def theorem_settings(constants: Constants, mean_multiplier: float = 1.0) -> dict[str, Any]:
    """Return settings of FFML that satisfy Theorem 1 and Theorem 2, as a recipe takes them.

    One inner step, η₁ within Theorem 1's bound and halved until a δ exists that satisfies Theorem 2
    from round 1 on, the smallest such δ, and η₂ = μ_f/(t+1) for both variables. Only the number of
    outer iterations is left to choose::

        recipe = Recipe("ffml", settings=theorem_settings(constants) | {"num_outer_steps": 2})
        learner = build_method(recipe, shots=8)(problem)  # of ffml.recipe.recipes

    Args:
        constants: bounds such as those of `logistic_constants`, with μ_f > 0.
        mean_multiplier: λ̄, the largest mean of the multipliers that the run is to meet.
    """
    if not constants.loss_strong_convexity > 0:
        raise FFMLError("the theorems need a strongly convex loss: set l2 > 0")
    positive(loss_smoothness=constants.loss_smoothness)
    inner_lr = largest_inner_step(constants, mean_multiplier)
    while (allowed := _allowed_damping(constants, inner_lr, round=1)) is None:
        inner_lr /= 2
    return {
        "inner.lr": inner_lr,
        "inner.num_steps": 1,
        "outer_lr": constants.loss_strong_convexity,
        "schedule": "inverse",
        "damping": allowed[0],
        "radius": constants.radius,
    }


def _allowed_damping(
    constants: Constants, inner_lr: float, round: int
) -> tuple[float, float] | None:
    m, gradient = constants.num_constraints, constants.gradient_bound
    constant = 4 * m**3 * gradient**4 * inner_lr**2
    square = 4 * m * outer_step(constants, round) ** 2  # square·δ² - δ + constant <= 0
    inside = 1 - 4 * square * constant
    if inside < 0:
        return None
    low = 2 * constant / (1 + math.sqrt(inside))
    high = (1 + math.sqrt(inside)) / (2 * square) if square > 0 else math.inf
    low = max(low, 4 * (gradient * inner_lr * constants.smoothness * (m + 1)) ** 2)
    return (low, high) if low <= high else None


def _of_lagrangian(
    constants: Constants, mean_multiplier: float
) -> tuple[float, float, float, float]:
    """Return L, β, ρ and μ of ``f + Σ_i λ_i g_i``, as Theorem 1 adds them up."""
    price = mean_multiplier * constants.num_constraints  # λ̄m
    return (
        constants.loss_lipschitz + price * constants.constraint_lipschitz,
        constants.loss_smoothness + price * constants.constraint_smoothness,
        constants.loss_hessian_lipschitz + price * constants.constraint_hessian_lipschitz,
        constants.loss_strong_convexity + price * constants.constraint_strong_convexity,
    )
