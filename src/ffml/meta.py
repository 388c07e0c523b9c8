"""The two levels of FFML: adaptation of a task, and the objective over tasks through it."""

import jax
import jax.numpy as jnp
from jax import lax
from jax.flatten_util import ravel_pytree

from ffml.base import Array, Batch, Params, Problem
from ffml.primal_dual import ascend, descend, lagrangian

MOST_UNROLLED_STEPS = 8  # a few steps run faster written out; many would take long to compile
LEAST_SLOPE = 1e-4  # of squared slopes: a gap that no parameter moves is left as it is
OVERLAP = 0.01  # of the sum of squared slopes: entries may ask for nearly the same


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
    shift: Array = 0.0,
) -> tuple[Params, Array]:
    """Inner level on the support set (Eq. 6–7), ``num_steps`` times.

    ``θ_k ← θ_k - η₁ ∇_θ [f + Σ λ_{k,i} g_i](θ_k)``;  ``λ_k ← [λ_k + η₁ g(θ_k)]₊``

    The dual step uses the new ``θ_k``. Without ``constrained`` the inner problem is the loss
    alone. ``first_order`` treats the inner gradients as constants in the outer derivative.
    Constraints are those of gaps moved by ``shift``.
    """

    def step(pair: tuple[Params, Array]) -> tuple[Params, Array]:
        theta, lam = pair
        weights = lam if constrained else jnp.zeros_like(lam)
        gradient = jax.grad(lagrangian, argnums=1)(problem, theta, weights, support, shift)
        if first_order:
            gradient = lax.stop_gradient(gradient)
        theta = descend(theta, gradient, step_size)
        slope = problem.constraint(theta, support, shift)
        if first_order:
            slope = lax.stop_gradient(slope)
        return theta, ascend(lam, slope, step_size)

    pair = (params, multipliers)
    if num_steps > MOST_UNROLLED_STEPS:
        return lax.fori_loop(0, num_steps, lambda _, pair: step(pair), pair)
    for _ in range(num_steps):
        pair = step(pair)
    return pair


def even_out(
    problem: Problem, params: Params, support: Batch, gap_spread: Array, first_order: bool = False
) -> Params:
    """Move θ_k until its own gaps are within the bounds, as far as the support rows can tell.

    The gap that ``e`` rows show is the task's own and chance. If the tasks' own gaps have b times
    the variance of a single decision, then ``κ = b e/(1 + b e)`` of what is seen is to be expected
    of the task's other rows (the shrinkage of a random-effects model). What of that exceeds the
    bounds is taken out, to first order, by the smallest step that does so and leaves the gaps
    within their bounds about where they are::

        θ_k ← θ_k - Jᵀ (J Jᵀ + ρI)⁻¹ (κ gap - clip(κ gap, -ε, ε))        J = ∂gap/∂θ at θ_k

    ρ is a hundredth of the trace of J Jᵀ and a little more, for entries that ask for nearly the
    same and for gaps that no parameter moves. Gaps are taken as seen: by how much those of new
    tasks differ from them (`ffml.surprise`) is left to the outer level, which learns through this.

    Args:
        problem: its gaps and bounds.
        params: θ_k, after the inner steps.
        support: the rows that it was adapted to.
        gap_spread: b; 0 leaves θ_k as it is.
        first_order: treat the step as a constant in the outer derivative.
    """
    theta, unflatten = ravel_pytree(params)

    def gaps(theta: Array) -> Array:
        return problem.gaps(unflatten(theta), support)

    believed = gap_spread * problem.evidence(support)
    expected = believed / (1 + believed) * gaps(theta)
    excess = expected - jnp.clip(expected, -problem.bounds, problem.bounds)
    step = least_step(jax.jacrev(gaps)(theta), excess)
    return unflatten(theta - (lax.stop_gradient(step) if first_order else step))


def least_step(slopes: Array, wanted: Array) -> Array:
    """Return the smallest step that changes gaps of these slopes ``(m, n)`` by so much: ``(n,)``.

    ``Jᵀ (J Jᵀ + ρI)⁻¹ wanted``, with ρ as in `even_out`.
    """
    gram = slopes @ slopes.T
    ridge = OVERLAP * jnp.trace(gram) + LEAST_SLOPE
    return slopes.T @ jnp.linalg.solve(gram + ridge * jnp.eye(len(wanted)), wanted)


def outer_objective(
    problem: Problem,
    adapted: Params,
    multipliers: Array,
    queries: Batch,
    weights: Array,
    *,
    damping: Array,
    constrained: bool = True,
    pooled: bool = False,
    gap_weights: Array | None = None,
    shift: Array = 0.0,
    gap_penalty: Array | None = None,
) -> tuple[Array, tuple[Array, Array, Array]]:
    """Compute the outer Lagrangian (Eq. 8) at the tasks' adapted parameters θ'_k.

    ``Σ_k w_k { f(θ'_k) + Σ_i (λ_i g_i(θ'_k) - damping/2 · λ_i²) }`` with damping = δη₂ and
    weights that sum to 1; the constraints may have weights of their own. Entries that a query
    cannot measure are left out, so that their multipliers stay. With ``pooled``, ``g_i`` is
    ``|mean_k gap_i(θ'_k)| - ε_i``: the noise of small tasks, which makes each of their gaps large,
    averages out, and so do gaps of tasks that differ. ``gap_penalty`` = ρ > 0 adds what the latter
    cost, ``ρ Σ_i mean_k gap_i(θ'_k)²``, each square less the variance that chance gives it: what is
    left is that of decisions on many rows, without bias.

    Args:
        problem: loss and constraints.
        adapted: θ'_k, with a leading axis over tasks.
        multipliers: λ.
        queries: query rows, with a leading axis over tasks.
        weights: ``(tasks,)`` what each task counts.
        damping: δη₂.
        constrained: False leaves the constraints out.
        pooled: constrain the mean gap instead of the mean size of the gaps.
        gap_weights: ``(tasks, m)`` what each task's constraints count, 0 where they cannot be
            measured; None takes the tasks' own weights.
        shift: ``(m,)`` what is added to every gap.
        gap_penalty: ρ; None leaves it out.

    Returns:
        The objective, and (loss, constraint values, mean gaps) for those who look on.
    """
    loss = weights @ jax.vmap(problem.loss)(adapted, queries)
    if gap_weights is None:
        gap_weights = weights[:, None] * jax.vmap(problem.measurable)(queries)
    share = gap_weights.sum(0)

    def mean(values: Array) -> Array:
        return (gap_weights * values).sum(0) / jnp.where(share > 0, share, 1)

    own_gaps = jax.vmap(problem.gaps)(adapted, queries)
    gaps = mean(own_gaps)
    if pooled:
        values = jnp.where(share > 0, jnp.abs(gaps + shift) - problem.bounds, 0.0)
    else:
        values = mean(jax.vmap(problem.constraint, (0, 0, None))(adapted, queries, shift))
    penalty = share @ (multipliers * values - damping / 2 * multipliers**2)
    if gap_penalty is not None:
        by_chance = jax.vmap(problem.gap_variance)(adapted, queries)
        penalty += gap_penalty * mean((own_gaps + shift) ** 2 - by_chance).sum()
    return loss + (penalty if constrained else 0.0), (loss, values, gaps)
