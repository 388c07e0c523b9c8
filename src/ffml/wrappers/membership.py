"""Who belongs to which group, as far as features tell.

The rows of past tasks show groups and features, so the share of a group among people with given
features can be estimated, and with it the gap of decisions about people whose groups nobody has
asked for: if ``q(x) = E[s | x]``, the gap that decisions are expected to have among such people is
that among the shares q(x) of them.

Tasks differ in how large a group is among people with the same features (most of all where features
are standardised task by task), so q has an intercept that is each task's own::

    q_k(x) = x φ + φ₀ + a_k        a_k ~ (0, v σ²)

with σ² the variance of ``s - q(x)`` within tasks. The tasks in memory tell φ, φ₀ and v; the groups
of a new task's labelled rows tell its a_k, the better the more of them there are.
"""

from typing import NamedTuple

import jax.numpy as jnp

from ffml.base import Array, Batch, LabelledTask

RIDGE = 10.0  # strength of the ridge, in rows


class Membership(NamedTuple):
    """What is known of groups: how features tell them, and how much tasks differ beyond that."""

    weights: Array  # (features + 1, contrasts) φ, φ₀
    spread: Array  # (contrasts,) v: variance between tasks, in variances of a single row


def nothing_known(num_features: int, num_contrasts: int) -> Membership:
    """Start without any knowledge: nobody belongs to any group."""
    return Membership(jnp.zeros((num_features + 1, num_contrasts)), jnp.zeros(num_contrasts))


def learn_membership(tasks: LabelledTask) -> Membership:
    """Learn φ, φ₀ and v from tasks (leading axis).

    ``φ = (Σ w x̃ x̃ᵀ + rI)⁻¹ Σ w x̃ s`` with x̃ = (x, 1): ridge least squares. Rows are weighed so
    that the label rates of a task are its own and that it counts as much as it has rows here.
    The mean residuals e_k of tasks of n_k rows differ by chance and by a_k, so that::

        v = [ Σ n_k e_k² / σ² - (K - 1) ]₊ / ( Σ n_k - Σ n_k² / Σ n_k )

    Reference: DerSimonian & Laird, "Meta-analysis in clinical trials", 1986 (for v).
    """
    kept = tasks.counts.sum(-1, keepdims=True)
    size = jnp.maximum(tasks.totals.sum(-1, keepdims=True), 1)
    # what a row of each label counts, (tasks, 2)
    worth = kept * tasks.totals / size / jnp.maximum(tasks.counts, 1)
    place = jnp.arange(tasks.x.shape[-2])
    positive = place >= tasks.counts[..., :1]
    weight = jnp.where(positive, worth[..., 1:], worth[..., :1]) * (place < kept)  # (tasks, rows)
    x = _with_one(tasks.x)
    weighted = x * weight[..., None]
    products = jnp.einsum("knf,kng->fg", weighted, x)
    targets = jnp.einsum("knf,knc->fc", weighted, tasks.s)
    weights = jnp.linalg.solve(products + RIDGE * jnp.eye(len(products)), targets)
    return Membership(weights, _spread(tasks.s - x @ weights, weight))


def _spread(residuals: Array, weight: Array) -> Array:
    """Estimate v from residuals ``(tasks, rows, contrasts)`` and what the rows count."""
    rows = weight.sum(-1)
    some = jnp.maximum(rows, 1e-30)
    mean = jnp.einsum("kn,knc->kc", weight, residuals) / some[:, None]
    within = jnp.einsum("kn,knc->c", weight, (residuals - mean[:, None]) ** 2)
    variance = jnp.maximum(within / jnp.maximum(rows.sum(), 1), 1e-6)
    beyond_chance = rows @ mean**2 / variance - jnp.maximum((rows > 0).sum() - 1, 0)
    scale = rows.sum() - rows @ rows / jnp.maximum(rows.sum(), 1)
    return jnp.maximum(beyond_chance, 0.0) / jnp.maximum(scale, 1.0)


def of_task(known: Membership, support: Batch) -> Membership:
    """Move φ₀ by what a task's labelled rows show: ``a = n v/(1 + n v) · (mean of s - q)``."""
    missed = support.s - _with_one(support.x) @ known.weights
    mean = support.weight @ missed / jnp.maximum(support.weight.sum(), 1e-30)
    rows = support.mask @ jnp.broadcast_to(support.distinct_share, support.mask.shape)
    certain = rows * known.spread / (1 + rows * known.spread)
    return known._replace(weights=jnp.asarray(known.weights).at[-1].add(certain * mean))


def shares(known: Membership, x: Array) -> Array:
    """Estimate the share of each group among people with these features: ``(n, contrasts)``."""
    return (x @ known.weights[:-1] + known.weights[-1]).clip(0.0, 1.0)


def _with_one(x: Array) -> Array:
    return jnp.concatenate([x, jnp.ones((*x.shape[:-1], 1))], axis=-1)
