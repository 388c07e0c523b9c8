"""Who belongs to which group, as far as features tell.

The rows of past tasks show groups and features, so the share of a group among people with given
features can be estimated, and with it the gap of decisions about people whose groups nobody has
asked for: if ``q(x) = E[s | x]``, the gap that decisions are expected to have among such people is
that among the shares q(x) of them.
"""

import jax.numpy as jnp

from ffml.base import Array, LabelledTask

RIDGE = 10.0  # rows without any group that are mixed in, in every direction


def membership_weights(tasks: LabelledTask) -> Array:
    """Fit ``q(x) = x̃ φ`` to the memberships in tasks (leading axis): ridge least squares.

    ``φ = (Σ w x̃ x̃ᵀ + rI)⁻¹ Σ w x̃ s`` with x̃ = (x, 1). Rows are weighed so that the label rates of
    a task are its own and that it counts as much as it has rows here.

    Returns:
        φ ``(features + 1, contrasts)``; 0 if there are no rows.
    """
    kept = tasks.counts.sum(-1, keepdims=True)
    size = jnp.maximum(tasks.totals.sum(-1, keepdims=True), 1)
    # what a row of each label counts, (tasks, 2)
    worth = kept * tasks.totals / size / jnp.maximum(tasks.counts, 1)
    place = jnp.arange(tasks.x.shape[-2])
    positive = place >= tasks.counts[..., :1]
    weight = jnp.where(positive, worth[..., 1:], worth[..., :1]) * (place < kept)
    x = _with_one(tasks.x).reshape(-1, tasks.x.shape[-1] + 1)
    weighted = x * weight.reshape(-1, 1)
    products, targets = weighted.T @ x, weighted.T @ tasks.s.reshape(len(x), -1)
    return jnp.linalg.solve(products + RIDGE * jnp.eye(len(products)), targets)


def membership(weights: Array, x: Array) -> Array:
    """Estimate the share of each group among people with these features: ``(n, contrasts)``."""
    return jnp.clip(_with_one(x) @ weights, 0.0, 1.0)


def _with_one(x: Array) -> Array:
    return jnp.concatenate([x, jnp.ones((*x.shape[:-1], 1))], axis=-1)
