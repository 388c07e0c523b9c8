"""A problem and tasks on which every step of a method has a closed form."""

import jax
import jax.numpy as jnp
import numpy as np

from ffml.base import LabelledTask, Problem, Sides


def scalar_problem(limit):
    """min ½(θ - mean x)² subject to θ <= limit: every step has a closed form."""

    def mean(batch):
        return batch.x[:, 0] @ batch.mask / batch.mask.sum()

    return Problem(
        init=lambda key: jnp.zeros(()),
        apply=lambda params, x: params * jnp.ones(len(x)),
        loss=lambda params, batch: 0.5 * (params - mean(batch)) ** 2,
        constraint=lambda params, batch, shift=0.0: jnp.reshape(params - limit, (1,)),
        constraint_at=lambda logits, batch: logits[:1] - limit,
        gaps=lambda params, batch: jnp.reshape(params, (1,)),
        gaps_at=lambda logits, batch: logits[:1],
        judged_gaps=lambda params, batch: jnp.reshape(params, (1,)),
        gap_variance=lambda params, batch: jnp.zeros(1),
        bounds=jnp.full(1, limit),
        evidence=lambda batch: jnp.ones(1),
        sides=lambda batch: Sides(jnp.ones((1, 1)), jnp.ones((1, 1))),
        constraint_names=("limit",),
    )


def constant_tasks(values, rows=8):
    """Tasks whose rows all hold the same number, so that every draw is the same."""
    tasks = len(values)
    return LabelledTask(
        x=np.broadcast_to(np.reshape(values, (tasks, 1, 1)), (tasks, rows, 1)) * 1.0,
        s=np.zeros((tasks, rows, 1)),
        counts=np.full((tasks, 2), rows // 2),
        totals=np.full((tasks, 2), rows // 2),
    )


def learn(learner, memories):
    """Run one compiled update a memory; return the last state and info."""
    update, state = jax.jit(learner.update), learner.init(jax.random.key(0))
    for t, memory in enumerate(memories):
        newest = jax.tree.map(lambda leaf: leaf[-1], memory)
        state, info = update(jax.random.key(t), state, newest, memory)
    return state, info
