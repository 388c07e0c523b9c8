"""Fair online meta-learning where tasks change (FairSAOML): experts that began at other times."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from ffml.base import Array, Batch, Info, LabelledTask, Learner, Pair, Params, Problem, plain
from ffml.border import at_least, positive
from ffml.methods._inner import Inner, primal_dual_steps
from ffml.methods._primal_dual import (
    ascend,
    descend,
    looked_at,
    nothing_seen,
    project_to_ball,
)
from ffml.methods.sampling import draw_support_and_query
from ffml.problem.gaps import Measures, measurable, measures


class Experts(NamedTuple):
    """One expert for each length of interval; every leaf has a leading axis over them."""

    params: Params
    multipliers: Array  # (experts, m)
    regret: Array  # (experts,) R: how much better than the mean pair it did since it began
    change: Array  # (experts,) C: the same, of absolute values


class ExpertState(NamedTuple):
    """The mean pair (θ, λ) that decides, the experts it is the mean of, and the rounds so far."""

    params: Params
    multipliers: Array
    experts: Experts
    round: Array


def fairsaoml(
    problem: Problem,
    inner: Inner | None = None,
    *,
    outer_lr: float = 1.0,
    damping: float = 0.01,
    num_experts: int = 5,
    num_outer_steps: int = 20,
    loss_range: float = 1.0,
    radius: float = 100.0,
    shots: int = 100,
) -> Learner:
    """Follow the weighted mean of experts, each of which has learned from the newest tasks only.

    Expert i lives on intervals of 2^i rounds, ``[k 2^i, (k+1) 2^i - 1]`` for k = 1, 2, …, and
    begins anew, at the mean pair, with each of them. So round t has experts that have seen 1, 2,
    4, … of the newest tasks: whatever changed, some of them began after it. The decision adapts
    the mean pair as FFML does, ``θ' = inner(θ, λ, support)``, with ::

        (θ, λ) = Σ_i p_i (θ_i, λ_i)       p_i ∝ w(R_i, C_i) among the experts that have begun

    Once the task is revealed, regrets grow, and each expert takes ``num_outer_steps`` steps on
    draws of the task, shorter ones the longer its interval::

        r_i = f(θ') - f(θ'_i)             R_i ← R_i + r_i                  C_i ← C_i + |r_i|
        L_i = f(θ'_i) + Σ_j (λ_ij g_j(θ'_i) - δη_i/2 λ_ij²)                η_i = η/√(2^i)
        θ_i ← Π_B(θ_i - η_i ∇_θ L_i)                            λ_i ← [λ_i + η_i ∇_λ L_i]₊

    Both gradients go through the inner steps. Weights are those of AdaNormalHedge, which has no
    rate to choose: ``w(R, C) = ½ (Φ(R+1, C+1) - Φ(R-1, C+1))``, ``Φ(R, C) = exp([R]₊²/(3C))``.

    Args:
        problem: loss and constraints, see `ffml.fair_classification`.
        inner: how a task adapts; `primal_dual_steps` is FFML's.
        outer_lr: η, step size of the expert of one round.
        damping: δ of the augmented term in λ²; it multiplies the step size.
        num_experts: lengths of intervals: 1, 2, 4, …, 2^(num_experts - 1) rounds.
        num_outer_steps: gradient steps of every expert on each task.
        loss_range: by how much losses may differ in a round; regrets are divided by it and cut at
            1, as the weights ask for.
        radius: R of the ball B that θ is projected onto.
        shots: support rows and query rows drawn for each class and step.

    Differs from the paper: written from its description (experts on geometric intervals, each with
    FFML's steps, weighted by regret), not equation by equation. Ours are the fixed number of
    lengths, the mean pair as where an expert begins, several steps a task, and regrets of one draw
    of the task. The intervals are those of Daniely, Gonen & Shalev-Shwartz (2015), the weights
    those of Luo & Schapire (2015).

    Reference: Zhao, Mi, Wu, Jiang, Khan & Chen, "Adaptive Fairness-Aware Online Meta-Learning for
    Changing Environments", KDD 2022.
    """
    positive(outer_lr=outer_lr, loss_range=loss_range, radius=radius)
    at_least(1, num_experts=num_experts, num_outer_steps=num_outer_steps, shots=shots)
    at_least(0, damping=damping)
    inner = inner or primal_dual_steps()
    steps = outer_lr / jnp.sqrt(2.0 ** jnp.arange(num_experts))  # η_i

    def seen_by(theta: Params, lam: Array, support: Batch, query: Batch) -> Measures:
        return measures(problem, inner(problem, theta, lam, support), query)

    def lagrangian(
        theta: Params, lam: Array, step: Array, support: Batch, query: Batch
    ) -> tuple[Array, Measures]:
        seen = seen_by(theta, lam, support, query)
        price = lam * seen.constraint - damping * step / 2 * lam**2
        usable = (support.mask.sum() > 0) & (query.mask.sum() > 0)
        return usable * (seen.loss + measurable(problem, query) @ price), seen

    def move(theta: Params, lam: Array, step: Array, support: Batch, query: Batch):
        slopes = jax.grad(lagrangian, argnums=(0, 1), has_aux=True)
        (slope, dual_slope), seen = slopes(theta, lam, step, support, query)
        theta = project_to_ball(descend(theta, slope, step), radius)
        known = measurable(problem, query) > 0  # others keep their multiplier
        return theta, ascend(lam, jnp.where(known, dual_slope, 0.0), step), seen

    def judged(state: ExpertState, rows: tuple[Batch, Batch], t: Array) -> Experts:
        """Add what the newest task says to the regrets of the experts that have begun."""
        experts = state.experts
        own = jax.vmap(lambda theta, lam: seen_by(theta, lam, *rows).loss)(*experts[:2])
        gain = (seen_by(state.params, state.multipliers, *rows).loss - own) / loss_range
        gain = jnp.where(has_begun(t, num_experts), jnp.clip(gain, -1, 1), 0.0)
        return experts._replace(regret=experts.regret + gain, change=experts.change + jnp.abs(gain))

    def init(key: Array) -> ExpertState:
        pair = project_to_ball(problem.init(key), radius), jnp.zeros(problem.num_constraints)
        params, multipliers = jax.tree.map(
            lambda leaf: jnp.broadcast_to(leaf, (num_experts, *leaf.shape)), pair
        )
        nothing = jnp.zeros(num_experts)
        experts = Experts(params, multipliers, nothing, nothing)
        return ExpertState(*pair, experts, jnp.zeros((), int))

    def update(key: Array, state: ExpertState, task: LabelledTask, memory: LabelledTask):
        del memory  # what is known of earlier tasks is in the experts
        t = state.round + 1

        def draw(i: Array) -> tuple[Batch, Batch]:
            return draw_support_and_query(jax.random.fold_in(key, i), task, shots)

        def step(i: Array, carry: tuple[Params, Array, Info]) -> tuple[Params, Array, Info]:
            theta, lam, info = carry
            theta, lam, seen = jax.vmap(move, (0, 0, 0, None, None))(theta, lam, steps, *draw(i))
            first = jax.tree.map(lambda leaf: leaf[0], seen)  # of the newest expert
            return theta, lam, looked_at(info, first.loss, first.constraint, first.gaps)

        experts = judged(state, draw(jnp.asarray(num_outer_steps)), t)
        start = (*experts[:2], nothing_seen(problem))
        theta, lam, info = lax.fori_loop(0, num_outer_steps, step, start)
        experts = _begun(experts._replace(params=theta, multipliers=lam), t + 1)
        return ExpertState(*_mean(experts, t + 1), experts, t), info

    return Learner(
        init,
        lambda pair, support: inner(problem, pair.params, pair.multipliers, support),
        lambda params, x: plain(problem.apply(params, x)),
        update,
        knowledge=lambda state: Pair(state.params, state.multipliers),
    )


def has_begun(t: Array, num_experts: int) -> Array:
    """Mark the experts that live in round t = 1, 2, …: those whose first interval has begun.

    >>> [has_begun(t, 3).tolist() for t in (1, 3, 4)]
    [[True, False, False], [True, True, False], [True, True, True]]
    """
    return t >= 2 ** jnp.arange(num_experts)


def begins(t: Array, num_experts: int) -> Array:
    """Mark the experts whose next interval begins with round t.

    >>> [begins(t, 3).tolist() for t in (3, 4, 6)]
    [[True, False, False], [True, True, True], [True, True, False]]
    """
    return t % 2 ** jnp.arange(num_experts) == 0


def weights(regret: Array, change: Array) -> Array:
    """Return the weights of AdaNormalHedge, which are positive for regrets above -1.

    >>> found = weights(jnp.array([0.0, 2.0, -2.0]), jnp.array([0.0, 2.0, 2.0]))
    >>> [f"{weight:.3f}" for weight in found]
    ['0.198', '0.800', '0.000']
    """

    def potential(regret: Array) -> Array:
        return jnp.exp(jnp.maximum(regret, 0.0) ** 2 / (3 * (change + 1)))

    return (potential(regret + 1) - potential(regret - 1)) / 2


def _begun(experts: Experts, t: Array) -> Experts:
    """Let the experts whose interval begins with round t start at the mean of all until then."""
    new = begins(t, len(experts.regret))
    mean = _mean(experts, t - 1)
    params, multipliers = jax.tree.map(
        lambda own, mean: jnp.where(_column(new, own), mean, own), tuple(experts[:2]), mean
    )
    return Experts(
        params,
        multipliers,
        jnp.where(new, 0.0, experts.regret),
        jnp.where(new, 0.0, experts.change),
    )


def _mean(experts: Experts, t: Array) -> tuple[Params, Array]:
    """Average the experts of round t by their weights; all count the same if none has any."""
    alive = has_begun(t, len(experts.regret)) * 1.0
    worth = alive * weights(experts.regret, experts.change)
    worth = jnp.where(worth.sum() > 0, worth, alive)
    share = worth / worth.sum()
    return jax.tree.map(lambda leaf: (_column(share, leaf) * leaf).sum(0), tuple(experts[:2]))


def _column(values: Array, like: Array) -> Array:
    return values.reshape(-1, *[1] * (like.ndim - 1))
