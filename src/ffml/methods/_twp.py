"""Train with penalty (TWP): online gradient descent on a loss that violation adds to."""

import jax

from ffml.base import Array, Batch, Learner, Params, Problem
from ffml.border import at_least, positive
from ffml.methods._online import online_learner
from ffml.methods._primal_dual import descend, lagrangian, project_to_ball


def twp(
    problem: Problem,
    *,
    lr: float = 0.1,
    penalty: float = 1.0,
    radius: float = 100.0,
    num_steps: int = 50,
    shots: int = 100,
) -> Learner:
    """Descend on the loss of the current task plus a fixed multiple of its constraints.

    On a draw of the current task, ``num_steps`` times a round::

        θ ← Π_B(θ - η ∇[f_t + β Σ_i g_i](θ))

    The multipliers that rounds report are β, and stay. However small a gap is, it is pushed down:
    the largest gap that is asked for has no slope, and so no say.

    Args:
        problem: loss and constraints, see `ffml.fair_classification`.
        lr: η, step size.
        penalty: β, what a violation costs.
        radius: R of the ball B that θ is projected onto.
        num_steps: gradient steps on each task.
        shots: rows drawn for each class and step.

    Differs from the paper: it names neither β nor the number of steps; the values are ours.

    Reference: the baseline "train with penalty" of Zhao, Chen & Thuraisingham, "Fairness-Aware
    Online Meta-learning", KDD 2021, on online gradient descent (Zinkevich, ICML 2003).
    """
    positive(lr=lr)
    at_least(0, penalty=penalty)

    def rule(theta: Params, beta: Array, rows: Batch, t: Array) -> tuple[Params, Array]:
        slope = jax.grad(lagrangian, argnums=1)(problem, theta, beta, rows)
        return project_to_ball(descend(theta, slope, lr), radius), beta

    return online_learner(
        problem,
        rule,
        radius=radius,
        num_steps=num_steps,
        shots=shots,
        initial_multiplier=penalty,
    )
