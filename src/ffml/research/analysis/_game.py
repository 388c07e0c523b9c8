"""A game that was played: what the learner knew in each round, and the rows that judged it."""

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, NamedTuple

import jax
import numpy as np

from ffml.base import Batch, FFMLError, Learner, Pair, Params, Problem, Stream
from ffml.online.decide import asked
from ffml.online.judge import padded_batch
from ffml.online.loop import Loop, arrive, knowledge, pair, start, step
from ffml.problem.gaps import bounds, constraint, gaps, measurable
from ffml.tables.scaling import RunningScaler


class Bucket(NamedTuple):
    """The rounds judged on about as many rows, so that their batches have one shape.

    All but ``rounds`` have a leading axis over them, and are in double precision.
    """

    rounds: np.ndarray  # (k,) counted from 0
    pair: Pair  # what the learner knew before the round
    support: Batch  # D_t^S
    validation: Batch  # D_t^V


class Outcome(NamedTuple):
    """What parameters lead to in every round, and how that changes with them."""

    loss: np.ndarray  # (T,) f_t(θ'_t)
    gaps: np.ndarray  # (T, m) signed gaps of θ'_t, from the middle of their bounds
    constraint: np.ndarray  # (T, m) g_{t,i}(θ'_t)
    measurable: np.ndarray  # (T, m) 1. where round t can measure entry i
    loss_slope: np.ndarray  # (T, d) ∇_θ f_t(θ'_t)
    gap_slopes: np.ndarray  # (T, m, d)


@dataclass(frozen=True)
class Game:
    """T rounds: all that Eq. 4 speaks of. Losses and constraints are in double precision.

    f_t and g_t are the problem's on the validation rows D_t^V of round t. The decision of round t
    is ``θ'_t = Alg_t(θ_t, D_t^S)``: what the learner's ``adapt`` makes of its parameters and the
    support rows. For a learner that does not adapt, θ'_t is θ_t.
    """

    problem: Problem
    learner: Learner
    buckets: tuple[Bucket, ...]  # the rounds, by the size of D_t^V
    params: Params  # θ_t; a leading axis over rounds
    loss: np.ndarray  # (T,) f_t(θ'_t)
    constraint: np.ndarray  # (T, m) g_{t,i}(θ'_t), NaN where not measurable
    multipliers: np.ndarray  # (T, m) λ after round t

    @property
    def num_rounds(self) -> int:
        """Count the rounds: T."""
        return len(self.multipliers)


def record(
    problem: Problem,
    learner: Learner,
    stream: Stream,
    scaler: RunningScaler | None = None,
    **settings: Any,
) -> Game:
    """Play a stream and keep what regret is made of.

    The same seed and settings make the same decisions as `ffml.online.loop.play`.

    Args:
        problem: loss and constraints.
        learner: the method. It must keep its parameters between rounds.
        stream: the tasks in their order.
        **settings: ``seed``, ``validation_fraction``, ``shots``, ``memory_settings`` and
            ``step_sizes`` of `ffml.online.loop.Loop`.
        scaler: standardises features, if they are not yet.
    """
    # The loop itself judges no round: `outcome` does, in double precision.
    loop = Loop(problem, learner, stream.schema, judge_after=sys.maxsize, **settings)
    state = start(loop, scaler)
    known = knowledge(loop, state)
    if not isinstance(known, Pair) or not jax.tree.leaves(known.params):
        raise FFMLError(
            "regret compares parameters, and this method decides by something else than θ and λ; "
            "take another, without wrappers"
        )
    pairs, supports, validations, multipliers = [], [], [], []
    for task in stream.tasks():
        pairs.append(pair(loop, state))
        rows, arrived = (found := arrive(loop, state, task)[1]).rows, found.task
        state, _ = step(loop, state, task)
        drawn: dict[str, Any] = {"shots": loop.shots, "seed": loop.seed, "round_": state.round}
        supports.append(asked(learner, stream.schema, arrived, **drawn, rows=rows.support))
        validations.append(padded_batch(arrived, stream.schema, rows.validation))
        multipliers.append(pair(loop, state).multipliers)
    if not pairs:
        raise FFMLError(f"stream '{stream.name}' has no tasks: there is nothing to analyse")
    buckets = _bucketed(pairs, supports, validations)
    params = _double(_stacked([pair.params for pair in pairs]))
    unknown = np.zeros(0)
    return _judged(
        Game(problem, learner, buckets, params, unknown, unknown, np.stack(multipliers) * 1.0)
    )


def _judged(game: Game) -> Game:
    """Fill in the losses and constraints of the decisions that were made."""
    played = outcome(game, game.params)
    if not np.isfinite(played.loss).all():
        first = int(np.argmin(np.isfinite(played.loss))) + 1
        raise FFMLError(f"the loss of round {first} is not finite: lower the step sizes")
    known = np.where(played.measurable > 0, played.constraint, np.nan)
    return replace(game, loss=played.loss, constraint=known)


def outcome(game: Game, params: Params) -> Outcome:
    """Compute what parameters (a leading axis over rounds) would have led to in every round.

    Round t adapts them as the learner did: to the same support rows, with the multipliers and
    all else that the learner knew in that round.
    """
    compiled = _program(game.learner.adapt, game.problem)
    with jax.enable_x64(True):
        parts = [
            jax.device_get(compiled(_taken(params, bucket.rounds), *bucket[1:]))
            for bucket in game.buckets
        ]
    order = np.argsort(np.concatenate([bucket.rounds for bucket in game.buckets]))
    slopes, values = jax.tree.map(lambda *leaves: np.concatenate(leaves)[order], *parts)
    loss, own, broken, known = values
    return Outcome(loss, own, broken, known, flattened(slopes[0], 1), flattened(slopes[1], 2))


def on_device(game: Game) -> Game:
    """Move the rounds to the device, for those who ask for many outcomes."""
    with jax.enable_x64(True):
        moved = (Bucket(bucket.rounds, *jax.device_put(bucket[1:])) for bucket in game.buckets)
        return replace(game, buckets=tuple(moved))


@lru_cache(maxsize=32)
def _program(adapt: Callable, problem: Problem) -> Callable:
    """Compile once a method (and once a shape) what parameters lead to, with derivatives."""

    def evaluate(params: Params, pair: Pair, support: Batch, rows: Batch) -> Any:
        adapted = adapt(pair._replace(params=params), support)
        found = problem.loss(adapted, rows), gaps(problem, adapted, rows) - bounds(problem).center
        return found, (*found, constraint(problem, adapted, rows), measurable(problem, rows))

    return jax.jit(jax.vmap(jax.jacrev(evaluate, has_aux=True)))


def flattened(tree: Params, axes: int) -> np.ndarray:
    """Join all leaves along one last axis, keeping the first ``axes`` axes."""
    leaves = [np.asarray(leaf) for leaf in jax.tree.leaves(tree)]
    return np.concatenate([leaf.reshape(*leaf.shape[:axes], -1) for leaf in leaves], axis=-1)


def _stacked(trees: list[Any]) -> Any:
    return jax.tree.map(lambda *leaves: np.stack(leaves), *trees)


def _taken(tree: Any, rounds: np.ndarray) -> Any:
    return jax.tree.map(lambda leaf: leaf[rounds], tree)


def _double(tree: Any) -> Any:
    return jax.tree.map(
        lambda leaf: leaf.astype(float) if np.issubdtype(leaf.dtype, np.floating) else leaf, tree
    )


def _bucketed(
    pairs: list[Pair], supports: list[Batch], validations: list[Batch]
) -> tuple[Bucket, ...]:
    """Put rounds of one padded size together, without the padding that none of them needs."""
    sizes = np.array([len(batch.y) for batch in validations])
    buckets = []
    for rounds in (np.flatnonzero(sizes == size) for size in np.unique(sizes)):
        parts = ([part[t] for t in rounds] for part in (pairs, supports, validations))
        pair, support, validation = (_double(_stacked(part)) for part in parts)
        buckets.append(Bucket(rounds, pair, support, _trimmed(validation)))
    return tuple(buckets)


def _trimmed(batch: Batch) -> Batch:
    needed = int(batch.pool_size.max())
    return jax.tree.map(lambda leaf: leaf[:, :needed] if leaf.ndim > 1 else leaf, batch)
