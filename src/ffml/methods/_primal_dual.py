"""The two steps that gradient methods are made of, and what a round of them shows."""

import jax
import jax.numpy as jnp
import optax

from ffml.base import Array, Batch, Info, Params, Problem
from ffml.problem.gaps import measures


def lagrangian(problem: Problem, params: Params, multipliers: Array, batch: Batch) -> Array:
    """``f(θ) + Σ_i λ_i g_i(θ)``, Eq. (5) of the paper."""
    seen = measures(problem, params, batch)
    return seen.loss + multipliers @ seen.constraint


def descend(params: Params, gradient: Params, step_size: Array) -> Params:
    """``θ - η ∇``."""
    return jax.tree.map(lambda theta, slope: theta - step_size * slope, params, gradient)


def ascend(multipliers: Array, gradient: Array, step_size: Array) -> Array:
    """``[λ + η ∇]₊``."""
    return jnp.maximum(multipliers + step_size * gradient, 0.0)


def project_to_ball(params: Params, radius: Array) -> Params:
    """Π_B: the nearest point of the l2 ball of the given radius around the origin."""
    largest = optax.tree.max(jax.tree.map(jnp.abs, params))
    unit = jnp.where(largest > 1e15, largest, 1.0)  # squares of so large numbers overflow
    norm = optax.tree.norm(jax.tree.map(lambda theta: theta / unit, params))
    scale = jnp.where(norm > radius / unit, radius / jnp.maximum(norm, 1e-30), unit)
    return jax.tree.map(lambda theta: theta / unit * scale, params)


def nothing_seen(problem: Problem) -> Info:
    """Begin a round's `Info`."""
    entries = jnp.zeros(problem.num_constraints)
    return Info(jnp.zeros(()), entries, entries, jnp.zeros((), int))


def looked_at(before: Info, loss: Array, constraint: Array, gaps: Array) -> Info:
    """Keep the newest values, and the mean of gaps over about 10 iterations."""
    mean = jnp.where(before.iterations == 0, gaps, 0.9 * before.gaps + 0.1 * gaps)
    return Info(loss, constraint, mean, before.iterations + 1)
