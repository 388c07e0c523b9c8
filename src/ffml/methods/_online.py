"""What the online methods share: gradient steps on the current task, and no adaptation."""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from ffml.base import Array, Batch, Info, LabelledTask, Learner, Pair, Params, Problem, plain
from ffml.border import at_least, positive
from ffml.methods._primal_dual import (
    looked_at,
    nothing_seen,
    project_to_ball,
)
from ffml.methods.sampling import draw_support_and_query
from ffml.problem.gaps import measures

Rule = Callable[[Params, Array, Batch, Array], tuple[Params, Array]]
# ^ θ_t, λ_t, rows of the current task, t = 1, 2, … -> θ_{t+1}, λ_{t+1}


class OnlineState(NamedTuple):
    """The pair (θ, λ) and how many steps were taken."""

    params: Params
    multipliers: Array
    step: Array


def online_learner(
    problem: Problem,
    rule: Rule,
    *,
    radius: float,
    num_steps: int,
    shots: int,
    initial_multiplier: float = 0.0,
) -> Learner:
    """Apply ``rule`` ``num_steps`` times to each task once it is revealed, from the first one on.

    An online method meets one loss a round and moves once. Here it moves ``num_steps`` times a
    task, as often as FFML's outer level does, each time on a fresh class-balanced draw of the
    newest task. Each draw is a loss of its own, so it is a round in the sense of the method's
    paper: ``t``, by which steps shrink, counts steps and goes on from task to task.

    Nothing is adapted: the decision for a new task is θ as the tasks before left it.
    """
    positive(radius=radius)
    at_least(1, num_steps=num_steps, shots=shots)

    def init(key: Array) -> OnlineState:
        params = project_to_ball(problem.init(key), radius)
        multipliers = jnp.full(problem.num_constraints, initial_multiplier, float)
        return OnlineState(params, multipliers, jnp.zeros((), int))

    def adapt(pair: Pair, support: Batch) -> Params:
        del support
        return pair.params

    def update(key: Array, state: OnlineState, task: LabelledTask, memory: LabelledTask):
        del memory  # of tasks before: not for those who learn from the current one alone

        def move(i: Array, carry: tuple[OnlineState, Info]) -> tuple[OnlineState, Info]:
            (theta, lam, step), info = carry
            rows, _ = draw_support_and_query(jax.random.fold_in(key, i), task, shots)
            new_theta, new_lam = rule(theta, lam, rows, step + 1)
            seen = measures(problem, theta, rows)
            info = looked_at(info, seen.loss, seen.constraint, seen.gaps)
            return OnlineState(new_theta, new_lam, step + 1), info

        return lax.fori_loop(0, num_steps, move, (OnlineState(*state), nothing_seen(problem)))

    return Learner(
        init,
        adapt,
        lambda params, x: plain(problem.apply(params, x)),
        update,
        knowledge=lambda state: Pair(state.params, state.multipliers),
    )
