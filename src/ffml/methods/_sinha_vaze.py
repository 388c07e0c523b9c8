"""Online learning with adversarial constraints: a price that grows with what was broken so far."""

import math
from typing import NamedTuple

import jax
import jax.numpy as jnp
import optax
from jax import lax

from ffml.base import Array, Batch, Info, LabelledTask, Learner, Params, Problem
from ffml.border import at_least, positive
from ffml.methods._online import online_learner
from ffml.methods._primal_dual import (
    descend,
    looked_at,
    nothing_seen,
    project_to_ball,
)
from ffml.methods.sampling import draw_support_and_query
from ffml.problem.gaps import measurable, measures

MOST = 30.0  # of λQ: beyond it the loss no longer counts, and squares of slopes would overflow


class PricedState(NamedTuple):
    """θ and the prices of the constraints, with all that the next step needs."""

    params: Params
    multipliers: Array  # (m,) Φ'(Q)/V, what a unit of [g]₊ costs in units of the loss
    queue: Array  # (m,) Q
    squares: Array  # () Σ ‖∇‖² so far
    step: Array


def sinha_vaze(
    problem: Problem,
    *,
    radius: float = 1.0,
    gradient_bound: float = 1.0,
    loss_weight: float = 1.0,
    horizon: int | None = None,
    num_steps: int = 50,
    shots: int = 100,
) -> Learner:
    """Descend on the loss plus clipped constraints, whose price grows with what was broken so far.

    On a draw of the current task, ``num_steps`` times a round; t = 1, 2, … counts the steps over
    all rounds, as each draw is a new loss f_t::

        Q_i ← Q_i + α [g_i(θ)]₊                                     α = 1/(2GD), D = 2R
        ∇_t = α ∇_θ { V f_t(θ) + Σ_i Φ'(Q_i) [g_i(θ)]₊ }            Φ(Q) = e^{λQ} - 1
        θ ← Π_B(θ - η_t ∇_t)                                        η_t = D/√(2 Σ_{s≤t} ‖∇_s‖²)

    With λ = 1/(2√T), regret is O(√T) and Σ_t [g(θ_t)]₊ is O(√T log T) against any fixed θ that
    keeps every g_t, for convex losses and constraints chosen by an adversary. Without a
    ``horizon``, λ_t = 1/(2√t): the same rates hold after every step (the anytime version).

    Args:
        problem: loss and constraints, see `ffml.fair_classification`.
        radius: R of the ball B that θ is projected onto. Steps scale with it: the first is as
            long as the ball is wide.
        gradient_bound: G, bounding the slopes of f and g.
        loss_weight: V, what the loss counts; 1 in the paper.
        horizon: T, steps in all rounds together; None if nobody knows.
        num_steps: gradient steps on each task.
        shots: rows drawn for each class and step.

    Differs from the paper: of several constraints, each has a Q of its own, where the paper takes
    the largest g; several steps a task; λQ is cut at 30; G and R are round numbers, not bounds of
    the data at hand. The factor of the anytime λ_t is that of the known horizon.

    Reference: Sinha & Vaze, "Optimal Algorithms for Online Convex Optimization with Adversarial
    Constraints", NeurIPS 2024; Sarkar & Sinha, "Optimal Anytime Algorithms for Online Convex
    Optimization with Adversarial Constraints", 2025.
    """
    positive(radius=radius, gradient_bound=gradient_bound, loss_weight=loss_weight)
    at_least(1, horizon=1 if horizon is None else horizon)
    scale = 1 / (4 * gradient_bound * radius)  # α

    def look(theta: Params, rows: Batch) -> tuple[tuple[Array, Array], Array]:
        seen = measures(problem, theta, rows)
        return (seen.loss, jnp.maximum(seen.constraint, 0.0)), seen

    def move(state: PricedState, rows: Batch, info: Info) -> tuple[PricedState, Info]:
        t = state.step + 1
        (_, broken), slopes, seen = jax.vjp(lambda p: look(p, rows), state.params, has_aux=True)
        queue = state.queue + scale * broken
        rate = 0.5 / jnp.sqrt(t if horizon is None else horizon)  # λ
        price = rate * jnp.exp(jnp.minimum(rate * queue, MOST))  # Φ'(Q)
        (slope,) = slopes((jnp.ones_like(seen.loss) * loss_weight, price))
        slope = jax.tree.map(lambda leaf: scale * leaf, slope)
        squares = state.squares + optax.tree.norm(slope, squared=True)
        step_size = math.sqrt(2) * radius / jnp.sqrt(jnp.where(squares > 0, squares, 1.0))
        theta = project_to_ball(descend(state.params, slope, step_size), radius)
        known = measurable(problem, rows) > 0
        prices = jnp.where(known, price / loss_weight, state.multipliers)
        info = looked_at(info, seen.loss, seen.constraint, seen.gaps)
        return PricedState(theta, prices, queue, squares, t), info

    def init(key: Array) -> PricedState:
        params = project_to_ball(problem.init(key), radius)
        nothing = jnp.zeros(problem.num_constraints)
        return PricedState(params, nothing, nothing, jnp.zeros(()), jnp.zeros((), int))

    def update(key: Array, state: PricedState, task: LabelledTask, memory: LabelledTask):
        del memory  # of tasks before: it learns from the current one alone

        def one(i: Array, carry: tuple[PricedState, Info]) -> tuple[PricedState, Info]:
            rows, _ = draw_support_and_query(jax.random.fold_in(key, i), task, shots)
            return move(carry[0], rows, carry[1])

        return lax.fori_loop(0, num_steps, one, (PricedState(*state), nothing_seen(problem)))

    # Nothing is adapted, as with all online methods.
    shared = online_learner(
        problem, lambda *state: state[:2], radius=radius, num_steps=num_steps, shots=shots
    )
    return shared._replace(init=init, update=update)
