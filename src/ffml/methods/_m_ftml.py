"""Follow the meta leader (m-FTML): meta-learning over memory, and no constraint."""

from ffml.base import Learner, Problem, Traits
from ffml.methods._ffml import ffml
from ffml.methods._inner import Inner, gradient_steps
from ffml.methods._stopping import Stop
from ffml.methods.outer import Outer, loss_only


def m_ftml(
    problem: Problem,
    inner: Inner | None = None,
    outer: Outer | None = None,
    stop: Stop | None = None,
    *,
    outer_lr: float = 0.01,
    num_outer_steps: int = 3000,
    radius: float = 100.0,
    optimizer: str = "sgd",
    schedule: str = "constant",
    shots: int = 100,
) -> Learner:
    """Learn parameters from which a few steps on the loss alone fit a new task.

    On a task's support rows, and on the query rows of the tasks in memory, ``num_outer_steps``
    times a round from the second round on (MAML)::

        θ_k ← θ_k - η₁ ∇f(θ_k)                θ ← Π_B(θ - η₂ ∇_θ mean_k f(θ'_k))

    It is `ffml.methods.ffml` with the inner level `gradient_steps` and the outer level `loss_only`;
    λ stays 0. "m" stands for data from which the protected attribute was removed: here it is never
    a feature, for any method.

    Args:
        problem: loss and constraints; only the loss is used.
        inner: how a task adapts.
        outer: what the tasks ask for together.
        stop: when a round ends.
        outer_lr: η₂, step size of θ.
        num_outer_steps: N_iter, outer iterations a round.
        radius: R of the ball B that θ is projected onto.
        optimizer: what turns the slope into a direction: "sgd" or "adam".
        schedule: "constant", or "inverse" for η₂/(t+1) in round t.
        shots: support rows and query rows drawn for each class.

    Reference: Finn, Rajeswaran, Kakade & Levine, "Online Meta-Learning", ICML 2019.
    """
    learner = ffml(
        problem,
        inner or gradient_steps(),
        outer or loss_only(),
        stop,
        outer_lr=outer_lr,
        num_outer_steps=num_outer_steps,
        radius=radius,
        optimizer=optimizer,
        schedule=schedule,
        shots=shots,
    )
    return learner._replace(traits=Traits(constrained=False))
