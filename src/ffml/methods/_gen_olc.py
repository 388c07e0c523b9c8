"""Online learning with cumulative constraints (GenOLC): clipped, with the dual in closed form."""

import jax
import jax.numpy as jnp

from ffml.base import Array, Batch, Learner, Params, Problem
from ffml.border import positive
from ffml.methods._online import online_learner
from ffml.methods._primal_dual import descend, project_to_ball
from ffml.problem.gaps import constraint, measurable, measures


def gen_olc(
    problem: Problem,
    *,
    lr: float = 0.1,
    strong_convexity: float | None = None,
    gradient_bound: float = 1.0,
    radius: float = 100.0,
    num_steps: int = 50,
    shots: int = 100,
) -> Learner:
    """Descend on the loss plus clipped constraints, with the multiplier that maximises.

    On a draw of the current task, ``num_steps`` times a round; t = 1, 2, … counts the steps over
    all rounds, as each draw is a new loss f_t::

        L_t(θ, λ) = f_t(θ) + Σ_i (λ_i [g_i(θ)]₊ - ση_t/2 λ_i²)      σ = (m+1)G²
        θ ← Π_B(θ - η_t ∇_θ L_t(θ, λ))
        λ ← [g(θ)]₊/(σ η_t), at the new θ

    [g]₊ keeps rounds with slack from paying for violations elsewhere: Σ_t ([g(θ_t)]₊)² is
    bounded. η_t is ``lr`` for convex losses, and H₁/(t+1) for strongly convex ones, if
    ``strong_convexity`` is given. It starts with λ = 0; an entry that the draw cannot measure
    keeps its multiplier.

    Args:
        problem: loss and constraints, see `ffml.fair_classification`; its ``l2`` makes
            the loss of a linear model strongly convex.
        lr: η for convex losses. The paper's is of the order 1/√T for T steps.
        strong_convexity: H₁; None for the convex case.
        gradient_bound: G, bounding the slopes of the constraints.
        radius: R of the ball B that θ is projected onto.
        num_steps: gradient steps on each task.
        shots: rows drawn for each class and step.

    Differs from the paper: σ is (m+1)G²/(2(1-α)) there, which is ours for α = 1/2; one η is
    chosen, as T is not known; several steps a task.

    Reference: Yuan & Lamperski, "Online Convex Optimization for Cumulative Constraints",
    NeurIPS 2018 (Algorithm 1 and its strongly convex case).
    """
    positive(lr=lr, gradient_bound=gradient_bound)
    if strong_convexity is not None:
        positive(strong_convexity=strong_convexity)
    scale = (problem.num_constraints + 1) * gradient_bound**2  # σ

    def clipped_lagrangian(theta: Params, lam: Array, rows: Batch) -> Array:
        seen = measures(problem, theta, rows)
        return seen.loss + lam @ jnp.maximum(seen.constraint, 0.0)

    def rule(theta: Params, lam: Array, rows: Batch, t: Array) -> tuple[Params, Array]:
        step_size = lr if strong_convexity is None else strong_convexity / (t + 1)  # η_t
        slope = jax.grad(clipped_lagrangian)(theta, lam, rows)
        new_theta = project_to_ball(descend(theta, slope, step_size), radius)
        best = jnp.maximum(constraint(problem, new_theta, rows), 0.0) / (scale * step_size)
        return new_theta, jnp.where(measurable(problem, rows) > 0, best, lam)

    return online_learner(problem, rule, radius=radius, num_steps=num_steps, shots=shots)
