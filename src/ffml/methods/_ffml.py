"""Follow the fair meta leader (FFML): Algorithm 1 of the paper."""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax

from ffml.base import Array, Batch, LabelledTask, Learner, Pair, Params, Problem, plain
from ffml.border import at_least, one_of, positive
from ffml.methods._inner import Inner, primal_dual_steps
from ffml.methods._primal_dual import (
    ascend,
    descend,
    looked_at,
    nothing_seen,
    project_to_ball,
)
from ffml.methods._stopping import Stop, all_steps
from ffml.methods.outer import Drawn, Outer, Seen, mean_over_tasks
from ffml.methods.sampling import draw_support_and_query

OPTIMIZERS = {"sgd": optax.identity, "adam": optax.scale_by_adam}
SCHEDULES = {"constant": lambda t: 1.0, "inverse": lambda t: 1.0 / (t + 1)}


class FFMLState(NamedTuple):
    """The meta pair (θ, λ), the optimiser's memory, and the rounds so far."""

    params: Params
    multipliers: Array
    optimizer_state: Any
    round: Array


def ffml(
    problem: Problem,
    inner: Inner | None = None,
    outer: Outer | None = None,
    stop: Stop | None = None,
    *,
    outer_lr: float = 0.01,
    dual_lr: float | None = None,
    num_outer_steps: int = 3000,
    damping: float = 50.0,
    radius: float = 100.0,
    initial_multiplier: float = 0.0,
    optimizer: str | optax.GradientTransformation = "sgd",
    schedule: str = "constant",
    shots: int = 100,
) -> Learner:
    """Learn a pair (θ, λ) from which a few constrained steps fit a new task.

    Inner level, on a task's support rows (Eq. 6–7): ``θ'_k = inner(θ, λ, support_k)``.

    Outer level, on the query rows of the tasks in memory, ``num_outer_steps`` times a round, from
    the second round on (Eq. 8–10)::

        L(θ, λ) = mean_k { f(θ'_k) + Σ_i (λ_i g_i(θ'_k) - δη₂/2 λ_i²) }
        θ ← Π_B(θ - η₂ ∇_θ L)                              λ ← [λ + η₂ ∇_λ L]₊

    Both outer gradients go through the inner steps: θ'_k depends on θ and on λ.

    Args:
        problem: loss and constraints, see `ffml.fair_classification`.
        inner: how a task adapts; `primal_dual_steps` is the paper's.
        outer: what the tasks ask for together; `mean_over_tasks` is the paper's.
        stop: when a round ends; `all_steps` is the paper's.
        outer_lr: η₂, step size of θ; with the inverse schedule, μ_f of Theorem 2.
        dual_lr: step size of λ; None means η₂ as in the paper.
        num_outer_steps: N_iter, outer iterations a round (with another ``stop``: at most).
        damping: δ of the augmented term in λ²; it multiplies the dual step size.
        radius: R of the ball B that θ is projected onto.
        initial_multiplier: λ₁ of every constraint.
        optimizer: what turns ∇_θ L into a direction: "sgd" (plain descent, the paper's), "adam",
            or any optax transformation without a learning rate.
        schedule: "constant", or "inverse" for η₂ = μ_f/(t+1) in round t (Theorem 2).
        shots: support rows and query rows drawn for each class.

    Defaults are those of the paper for Bank.

    Reference: Zhao, Chen & Thuraisingham, "Fairness-Aware Online Meta-learning", KDD 2021.
    """
    positive(outer_lr=outer_lr, radius=radius)
    at_least(1, num_outer_steps=num_outer_steps, shots=shots)
    at_least(0, damping=damping, initial_multiplier=initial_multiplier)
    dual_lr = outer_lr if dual_lr is None else dual_lr
    positive(dual_lr=dual_lr)
    inner = inner or primal_dual_steps()
    outer = outer or mean_over_tasks()
    stop = stop or all_steps()
    shrink = one_of("schedule", schedule, SCHEDULES)
    direction = (
        one_of("optimizer", optimizer, OPTIMIZERS)() if isinstance(optimizer, str) else optimizer
    )

    def init(key: Array) -> FFMLState:
        params = project_to_ball(problem.init(key), radius)  # line 1
        multipliers = jnp.full(problem.num_constraints, initial_multiplier, float)
        return FFMLState(params, multipliers, direction.init(params), jnp.zeros((), int))

    def adapt(pair: Pair, support: Batch) -> Params:
        return inner(problem, pair.params, pair.multipliers, support)

    def lagrangian(
        theta: Params, lam: Array, drawn: Drawn, dual_step: Array
    ) -> tuple[Array, Seen]:  # Eq. 8
        adapted = jax.vmap(partial(inner, problem, theta, lam))(drawn.supports)
        seen = outer(problem, adapted, drawn)
        price = lam * seen.constraint - damping * dual_step / 2 * lam**2
        return seen.loss + seen.share @ price + seen.penalty, seen

    def update(key: Array, state: FFMLState, task: LabelledTask, memory: LabelledTask):
        t = state.round + 1
        primal_step, dual_step = outer_lr * shrink(t), dual_lr * shrink(t)

        def iterate(i: Array, carry):  # lines 10-17
            theta, lam, moments, info = carry
            drawn = draw(jax.random.fold_in(key, i), memory, shots)
            slopes = jax.grad(lagrangian, argnums=(0, 1), has_aux=True)
            (slope, dual_slope), seen = slopes(theta, lam, drawn, dual_step)
            ahead, moments = direction.update(slope, moments, theta)
            theta = project_to_ball(descend(theta, ahead, primal_step), radius)  # Eq. 9
            measured = jnp.where(seen.share > 0, dual_slope, 0.0)  # others keep their multiplier
            lam = ascend(lam, measured, dual_step)  # Eq. 10
            return theta, lam, moments, looked_at(info, seen.loss, seen.constraint, seen.gaps)

        steps = jnp.where(t >= 2, num_outer_steps, 0)  # line 7
        start = (*state[:3], nothing_seen(problem))
        theta, lam, moments, info = stop(steps, iterate, start)
        return FFMLState(theta, lam, moments, t), info

    return Learner(
        init,
        adapt,
        lambda params, x: plain(problem.apply(params, x)),
        update,
        knowledge=lambda state: Pair(state.params, state.multipliers),
    )


def draw(key: Array, tasks: LabelledTask, shots: int) -> Drawn:
    """Draw support and query rows of every task (lines 11 and 14)."""
    keys = jax.random.split(key, len(tasks.totals))
    parts = jax.vmap(partial(draw_support_and_query, shots=shots))(keys, tasks)
    return Drawn(*parts, tasks.totals.sum(1) * 1.0)
