"""The inner level: from the meta pair (θ, λ) and a task's support rows to the task's own θ_k."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jax import lax

from ffml.base import Array, Batch, Params, Problem
from ffml.border import at_least, positive
from ffml.methods._primal_dual import ascend, descend, lagrangian
from ffml.problem.gaps import measures

Inner = Callable[[Problem, Params, Array, Batch], Params]  # problem, θ, λ, support -> θ_k

MOST_UNROLLED_STEPS = 8  # a few steps run faster written out; many would take long to compile


def primal_dual_steps(lr: float = 0.01, num_steps: int = 5, shrinkage: float = 0.0) -> Inner:
    """Descend in θ and ascend in λ on the support rows (Eq. 6–7), ``num_steps`` times.

    ``θ_k ← θ_k - η₁ ∇_θ [f + Σ λ_{k,i} g_i](θ_k)``;  ``λ_k ← [λ_k + η₁ g(θ_k)]₊``

    The dual step uses the new ``θ_k``.

    Args:
        lr: η₁, step size of the adaptation.
        num_steps: N_step, steps of the adaptation.
        shrinkage: a task whose support stands for n rows takes steps of ``η₁ · n/(n + shrinkage)``,
            so that small tasks stay near the meta parameters; 0 is the paper's.
    """
    return _steps(lr, num_steps, shrinkage, constrained=True)


def gradient_steps(lr: float = 0.01, num_steps: int = 5, shrinkage: float = 0.0) -> Inner:
    """Descend on the loss of the support rows alone: ``θ_k ← θ_k - η₁ ∇f(θ_k)``.

    Args:
        lr: η₁, step size of the adaptation.
        num_steps: N_step, steps of the adaptation.
        shrinkage: as of `primal_dual_steps`.
    """
    return _steps(lr, num_steps, shrinkage, constrained=False)


def _steps(lr: float, num_steps: int, shrinkage: float, constrained: bool) -> Inner:
    positive(**{"inner.lr": lr})
    at_least(1, **{"inner.num_steps": num_steps})
    at_least(0, **{"inner.shrinkage": shrinkage})

    def inner(problem: Problem, params: Params, multipliers: Array, support: Batch) -> Params:
        rows = support.pool_size
        step_size = lr * jnp.where(rows > 0, rows / jnp.maximum(rows + shrinkage, 1), 0.0)
        if not constrained:
            problem = problem._replace(constraints=())
            multipliers = jnp.zeros(0)

        def look(theta: Params) -> tuple[Array, Array]:
            seen = measures(problem, theta, support)
            return seen.loss, seen.constraint

        def dual_then_primal(pair: tuple[Params, Array]) -> tuple[Params, Array]:
            theta, lam = pair
            (loss, g), slopes = jax.vjp(look, theta)  # one look at θ_k serves both steps
            lam = ascend(lam, g, step_size)  # Eq. 7
            (slope,) = slopes((jnp.ones_like(loss), lam))
            return descend(theta, slope, step_size), lam  # Eq. 6

        slope = jax.grad(lagrangian, argnums=1)(problem, params, multipliers, support)
        pair = descend(params, slope, step_size), multipliers  # Eq. 6
        if num_steps > MOST_UNROLLED_STEPS:
            return lax.fori_loop(1, num_steps, lambda _, pair: dual_then_primal(pair), pair)[0]
        for _ in range(1, num_steps):
            pair = dual_then_primal(pair)
        return pair[0]  # nobody asks for the λ_k of the last step

    return inner


INNER: dict[str, Callable[..., Inner]] = {
    "primal-dual": primal_dual_steps,
    "gradient": gradient_steps,
}
