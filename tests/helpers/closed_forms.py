"""A problem and tasks on which every step of a method has a closed form."""

import jax
import jax.numpy as jnp
import numpy as np

from ffml.base import Band, LabelledTask, Model, Problem, Schema, SensitiveColumn
from ffml.problem.notions import score_constraint

SCHEMA = Schema(("x",), (SensitiveColumn("group", ("a", "b")),))
FAR = 64.0  # a band so wide that gaps only ever meet its upper end


def at_most(limit):
    """The band of gaps up to a limit."""
    return Band(jnp.full(1, limit - FAR), jnp.full(1, FAR))


def scalar_problem(limit):
    """min ½(θ - mean x)² subject to θ <= limit: every step has a closed form."""

    def mean(batch):
        return batch.x[:, 0] @ batch.mask / batch.mask.sum()

    # Group b has the score θ, group a has 0: their gap is θ.
    everybody = {"": lambda batch: batch.weight}
    notion = score_constraint("limit", everybody, 0.0, lambda h, batch: h * batch.s[:, 0])
    return Problem(
        model=Model(lambda key, features: jnp.zeros(()), lambda theta, x: theta + 0 * x[:, 0]),
        cost=lambda theta, logits, batch, weight: 0.5 * (theta - mean(batch)) ** 2,
        constraints=(notion._replace(bound=at_most(limit)),),
        schema=SCHEMA,
    )


def constant_tasks(values, rows=8):
    """Tasks whose rows all hold the same number, so that every draw is the same.

    Negatives are of group a, positives of group b.
    """
    tasks = len(values)
    half = np.full((tasks, 2), rows // 2)
    return LabelledTask(
        x=np.broadcast_to(np.reshape(values, (tasks, 1, 1)), (tasks, rows, 1)) * 1.0,
        s=np.broadcast_to((np.arange(rows) >= rows // 2)[:, None], (tasks, rows, 1)) * 1.0,
        counts=half,
        totals=half,
    )


def learn(learner, memories):
    """Run one compiled update a memory; return the last state and info."""
    update, state = jax.jit(learner.update), learner.init(jax.random.key(0))
    for t, memory in enumerate(memories):
        newest = jax.tree.map(lambda leaf: leaf[-1], memory)
        state, info = update(jax.random.key(t), state, newest, memory)
    return state, info
