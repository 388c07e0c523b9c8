"""Adaptive online learning with long-term constraints (AdpOLC): steps that shrink with t."""

import jax

from ffml.base import Array, Batch, FFMLError, Learner, Params, Problem
from ffml.border import positive
from ffml.methods._online import online_learner
from ffml.methods._primal_dual import ascend, descend, lagrangian, project_to_ball
from ffml.problem.gaps import constraint, measurable


def adp_olc(
    problem: Problem,
    *,
    radius: float = 1.0,
    gradient_bound: float = 1.0,
    exponent: float = 0.5,
    num_steps: int = 50,
    shots: int = 100,
) -> Learner:
    """Do as OGDLC does, with step sizes and damping that need no horizon.

    On a draw of the current task, ``num_steps`` times a round; t = 1, 2, … counts the steps over
    all rounds, as each draw is a new loss f_t::

        L_t(θ, λ) = f_t(θ) + Σ_i (λ_i g_i(θ) - σ_t/2 λ_i²)          σ_t = 6RG/t^β
        θ ← Π_B(θ - η_t ∇_θ L_t(θ, λ))                              η_t = R/(G t^β)
        λ ← [λ + μ_t (g(θ) - σ_t λ)]₊                               μ_t = 1/(σ_t (t+1))

    Both steps are taken at the old (θ, λ), which starts with λ = 0. An entry that the draw
    cannot measure keeps its multiplier. β trades regret, O(max(T^β, T^{1-β})), for violation,
    O(T^{1-β/2}).

    Args:
        problem: loss and constraints, see `ffml.fair_classification`.
        radius: R of the ball B that θ is projected onto. All steps scale with it, so that a
            ball much wider than needed means wild first steps and next to no multiplier.
        gradient_bound: G, bounding the slopes of f and g.
        exponent: β, between 0 and 1.
        num_steps: gradient steps on each task.
        shots: rows drawn for each class and step.

    Differs from the paper: several steps a task; R and G are round numbers, not bounds of the
    data at hand.

    Reference: Jenatton, Huang & Archambeau, "Adaptive Algorithms for Online Convex Optimization
    with Long-term Constraints", ICML 2016 (Theorem 1).
    """
    positive(radius=radius, gradient_bound=gradient_bound)
    if not isinstance(exponent, jax.core.Tracer) and not 0 < exponent < 1:
        raise FFMLError(f"exponent must be between 0 and 1, got {exponent}")

    def rule(theta: Params, lam: Array, rows: Batch, t: Array) -> tuple[Params, Array]:
        damping = 6 * radius * gradient_bound / t**exponent  # σ_t
        primal_step = radius / (gradient_bound * t**exponent)  # η_t
        dual_step = 1 / (damping * (t + 1))  # μ_t
        slope = jax.grad(lagrangian, argnums=1)(problem, theta, lam, rows)
        dual_slope = constraint(problem, theta, rows) - damping * lam
        new_theta = project_to_ball(descend(theta, slope, primal_step), radius)
        return new_theta, ascend(lam, measurable(problem, rows) * dual_slope, dual_step)

    return online_learner(problem, rule, radius=radius, num_steps=num_steps, shots=shots)
