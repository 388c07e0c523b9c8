"""The two levels of FFML: adaptation of a task, and the objective over tasks through it."""

import jax
import jax.numpy as jnp
from jax import lax

from ffml.base import Array, Batch, Params, Problem
from ffml.primal_dual import ascend, descend, lagrangian


def adapt_pair(
    problem: Problem,
    params: Params,
    multipliers: Array,
    support: Batch,
    *,
    step_size: Array,
    num_steps: int,
    constrained: bool = True,
    first_order: bool = False,
) -> tuple[Params, Array]:
    """Inner level on the support set (Eq. 6–7), ``num_steps`` times.

    ``θ_k ← θ_k - η₁ ∇_θ [f + Σ λ_{k,i} g_i](θ_k)``;  ``λ_k ← [λ_k + η₁ g(θ_k)]₊``

    The dual step uses the new ``θ_k``. Without ``constrained`` the inner problem is the loss
    alone. ``first_order`` treats the inner gradients as constants in the outer derivative.
    """

    def step(pair: tuple[Params, Array], _: None) -> tuple[tuple[Params, Array], None]:
        theta, lam = pair
        weights = lam if constrained else jnp.zeros_like(lam)
        gradient = jax.grad(lagrangian, argnums=1)(problem, theta, weights, support)
        if first_order:
            gradient = lax.stop_gradient(gradient)
        theta = descend(theta, gradient, step_size)
        slope = problem.constraint(theta, support)
        if first_order:
            slope = lax.stop_gradient(slope)
        return (theta, ascend(lam, slope, step_size)), None

    pair, _ = lax.scan(step, (params, multipliers), None, length=num_steps, unroll=num_steps <= 5)
    return pair


def task_objective(
    problem: Problem,
    adapted: Params,
    multipliers: Array,
    query: Batch,
    *,
    damping: Array,
    constrained: bool = True,
) -> tuple[Array, tuple[Array, Array, Array]]:
    """One task's part of the outer Lagrangian (Eq. 8), at its adapted parameters θ'_k.

    ``f(θ'_k) + Σ_i (λ_i g_i(θ'_k) - damping/2 · λ_i²)`` with damping = δη₂. Entries that the
    query cannot measure are left out, so that their multipliers stay.
    """
    loss = problem.loss(adapted, query)
    values, measurable = problem.constraint(adapted, query), problem.measurable(query)
    entries = multipliers * values - damping / 2 * multipliers**2
    objective = loss + (measurable @ entries if constrained else 0.0)
    return objective, (loss, values, measurable)
