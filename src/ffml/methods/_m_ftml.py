"""Follow the meta leader (m-FTML): meta-learning over memory, and no constraint."""

import optax

from ffml.base import Learner, Problem
from ffml.methods._ffml import ffml


def m_ftml(
    problem: Problem,
    *,
    inner_lr: float = 0.1,
    outer_lr: float = 0.01,
    num_inner_steps: int = 3,
    num_outer_steps: int = 50,
    tolerance: float = 0.0,
    outer_schedule: str = "constant",
    optimizer: str | optax.GradientTransformation = "adam",
    radius: float = 100.0,
    shots: int = 100,
    inner_shrinkage: float = 200.0,
    task_weighting: str = "size",
    first_order: bool = False,
) -> Learner:
    """Learn parameters from which a few steps on the loss alone fit a new task.

    On a task's support rows, ``num_inner_steps`` times, and on the query rows of the tasks in
    memory, ``num_outer_steps`` times a round from the second round on (MAML)::

        θ_k ← θ_k - η₁ ∇f(θ_k)                θ ← Π_B(θ - η₂ ∇_θ mean_k f(θ'_k))

    It is FFML without either level's constraints, so all settings mean what they mean in
    `ffml.methods.ffml`; the multipliers stay 0. "m" stands for data from which the protected
    attribute was removed: here it is never a feature, for any method.

    Differs from the paper: nothing but the defaults, which are those of `ffml.methods.ffml`.

    Reference: Finn, Rajeswaran, Kakade & Levine, "Online Meta-Learning", ICML 2019.
    """
    return ffml(
        problem,
        inner_lr=inner_lr,
        outer_lr=outer_lr,
        num_inner_steps=num_inner_steps,
        num_outer_steps=num_outer_steps,
        tolerance=tolerance,
        outer_schedule=outer_schedule,
        optimizer=optimizer,
        radius=radius,
        shots=shots,
        inner_shrinkage=inner_shrinkage,
        task_weighting=task_weighting,
        first_order=first_order,
        initial_multiplier=0.0,
        inner_constraints=False,
        outer_constraints=False,
    )
