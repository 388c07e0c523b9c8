"""A method to copy: change what you need, and use it from the command line.

ffml run synthetic --plugin skeleton_method.py --method skeleton --set lr=0.05

Run as a script, it checks itself.
"""

from functools import partial

import jax
import jax.numpy as jnp

import ffml
from ffml.base import Info, Learner, Pair, plain
from ffml.border import positive
from ffml.methods.sampling import draw_support_and_query
from ffml.problem.gaps import constraint, gaps, measurable


@ffml.register("method", "skeleton")
def skeleton(problem, *, lr: float = 0.1, shots: int = 100) -> Learner:
    """One step on each new task: θ down and λ up the slope of ``f + Σ λ_i g_i``.

    Args:
        problem: loss f and constraints g <= 0, see `ffml.fair_classification`.
        lr: size of both steps.
        shots: rows drawn of each class.
    """
    positive(lr=lr)  # what people give is checked here, once

    def init(key):  # what is known before the first task: a tuple of arrays
        return Pair(problem.init(key), jnp.zeros(problem.num_constraints))

    def adapt(known, support):  # the parameters for a new task, from a few labelled rows
        return known.params

    def predict(params, x):
        return plain(problem.apply(params, x))

    def lagrangian(params, multipliers, rows):
        return problem.loss(params, rows) + multipliers @ constraint(problem, params, rows)

    def update(key, state, task, memory):  # the task is revealed; `memory` are earlier ones
        rows, _ = draw_support_and_query(key, task, shots)
        slope = jax.grad(lagrangian)(state.params, state.multipliers, rows)
        params = jax.tree.map(lambda p, s: p - lr * s, state.params, slope)
        g = constraint(problem, params, rows)
        steeper = state.multipliers + lr * g * measurable(problem, rows)
        info = Info(problem.loss(params, rows), g, gaps(problem, params, rows), jnp.ones((), int))
        return Pair(params, jnp.maximum(steeper, 0)), info

    return Learner(init, adapt, predict, update, knowledge=lambda state: state)


if __name__ == "__main__":
    from ffml.checks import check_learner

    check_learner(partial(skeleton, shots=10))
    print("skeleton is a learner")
