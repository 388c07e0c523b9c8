"""Online gradient descent with long-term constraints (OGDLC)."""

import jax

from ffml.base import Array, Batch, Learner, Params, Problem
from ffml.border import at_least, positive
from ffml.methods._online import online_learner
from ffml.methods._primal_dual import ascend, descend, lagrangian, project_to_ball
from ffml.problem.gaps import constraint, measurable


def ogdlc(
    problem: Problem,
    *,
    lr: float = 0.1,
    damping: float = 1.0,
    radius: float = 100.0,
    num_steps: int = 50,
    shots: int = 100,
) -> Learner:
    """Descend in θ and ascend in λ on the regularised Lagrangian of the current task.

    On a draw of the current task, ``num_steps`` times a round::

        L_t(θ, λ) = f_t(θ) + Σ_i (λ_i g_i(θ) - δη/2 λ_i²)
        θ ← Π_B(θ - η ∇_θ L_t(θ, λ))            λ ← [λ + η (g(θ) - δηλ)]₊

    Both steps are taken at the old (θ, λ), which starts with λ = 0. An entry that the draw
    cannot measure keeps its multiplier.

    Args:
        problem: loss and constraints, see `ffml.fair_classification`.
        lr: η, step size of θ and of λ. The paper's is of the order R/(G√T) for T steps.
        damping: δ of the term in λ². The paper's bound asks for δ ≥ (m+1)G² + 2δ²η², with G
            bounding the slopes of f and g.
        radius: R of the ball B that θ is projected onto.
        num_steps: gradient steps on each task.
        shots: rows drawn for each class and step.

    Differs from the paper: one η is chosen, as T is not known; several steps a task.

    Reference: Mahdavi, Jin & Yang, "Trading Regret for Efficiency: Online Convex Optimization
    with Long Term Constraints", JMLR 13, 2012 (Algorithm 1).
    """
    positive(lr=lr)
    at_least(0, damping=damping)

    def rule(theta: Params, lam: Array, rows: Batch, t: Array) -> tuple[Params, Array]:
        slope = jax.grad(lagrangian, argnums=1)(problem, theta, lam, rows)
        dual_slope = constraint(problem, theta, rows) - damping * lr * lam
        new_theta = project_to_ball(descend(theta, slope, lr), radius)
        return new_theta, ascend(lam, measurable(problem, rows) * dual_slope, lr)

    return online_learner(problem, rule, radius=radius, num_steps=num_steps, shots=shots)
