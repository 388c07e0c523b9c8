"""Task learning efficiency: how many labelled rows a new task takes (Section 6.3 of the paper)."""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import jax
import numpy as np

from ffml.base import LabelledTask, Params, Task
from ffml.draws import ORDER, SUPPORT, draws
from ffml.online.decide import find_rule
from ffml.online.judge import cross_entropy, decision_boundary_covariance, padded_batch
from ffml.online.loop import Arrived, arrive, known, pair
from ffml.online.memory import bounded, padded_rows
from ffml.online.state import Loop, LoopState

# A task of the paper has 2,500 rows, of which 250 are left where 90 % judge.
SUPPORT_SIZES = (0, 5, 10, 25, 50, 75, 100, 150, 200, 250)

Learn = Callable[[LoopState, Arrived, np.ndarray], Params]
# ^ what is known, a task, positions of its labelled rows -> decision


class Point(NamedTuple):
    """What a number of labelled rows led to, on the validation rows."""

    rows: int
    loss: float  # mean cross-entropy
    dbc: float  # decision boundary covariance (Eq. 1); NaN if only one group has rows


def by_adapting(loop: Loop) -> Learn:
    """Learn rows of a new task as a round's decision does: by the learner's ``adapt``."""

    def learn(state: LoopState, arrived: Arrived, rows: np.ndarray) -> Params:
        people = arrived.rows.validation
        return find_rule(loop, known(loop, state), arrived.as_it_came, rows, people).params

    return learn


def by_updating(loop: Loop) -> Learn:
    """Learn rows of a new task as if they were all of it: by the learner's ``update``.

    For methods that learn from the newest task alone and never adapt.
    """
    num_rows = loop.memory_settings.rows_per_task

    def learn(state: LoopState, arrived: Arrived, rows: np.ndarray) -> Params:
        if not len(rows):
            return pair(loop, state).params
        task, following = arrived.task, state.round + 1
        part = Task(task.name, task.x[rows], task.y[rows], task.groups[rows])
        rng = draws(loop.seed, following, SUPPORT)
        newest = padded_rows(bounded(part, loop.schema, num_rows, rng), num_rows)
        alone = LabelledTask(*(np.expand_dims(leaf, 0) for leaf in newest))
        learner, _ = loop.update(loop.key(following), state.learner, newest, alone)
        return pair(loop, state._replace(learner=learner)).params

    return learn


# Who adapts to a new task; all others learn its rows by steps of their own.
_ADAPTING = ("ffml", "m-ftml")


def way_to_learn(method: str, loop: Loop) -> Learn:
    """Return how a method learns the labelled rows of a new task."""
    return by_adapting(loop) if method in _ADAPTING else by_updating(loop)


def learning_curve(
    loop: Loop,
    state: LoopState,
    task: Task,
    learn: Learn,
    sizes: Sequence[int] = SUPPORT_SIZES,
) -> list[Point]:
    """Judge what the learner would decide about its next task, given more and more of its rows.

    Each support is part of the next larger one. The rows that judge are those that judge the
    round itself.

    Args:
        loop: how the task will be played.
        state: what is known before the task's round.
        task: the next task.
        learn: `by_adapting` or `by_updating` of this loop, see `way_to_learn`.
        sizes: numbers of support rows. Where the task has fewer, the last one is all it has.
    """
    arrived = arrive(loop, state, task)[1]
    task, split = arrived.task, arrived.rows
    order = draws(loop.seed, state.round + 1, ORDER).permutation(split.support)
    judges = padded_batch(task, loop.schema, split.validation)
    labels, groups = task.y[split.validation], task.groups[split.validation]
    memberships = loop.schema.memberships(groups)
    points = []
    for size in sorted({min(size, len(order)) for size in sizes}):
        params = jax.device_get(learn(state, arrived, np.sort(order[:size])))
        logits = np.asarray(loop.learner.predict(params, judges.x).logits, np.float32)[
            : len(labels)
        ]
        dbc = decision_boundary_covariance(logits, memberships)
        points.append(Point(size, cross_entropy(logits, labels), dbc))
    return points


def rows_needed(curve: Iterable[Point], max_loss: float, max_dbc: float) -> float:
    """Return the fewest rows with which loss ≤ γ₁ and |DBC| ≤ γ₂; NaN if none were enough.

    Args:
        curve: of `learning_curve`.
        max_loss: γ₁, of the mean loss. (The paper's 0.0005 is a mean divided by the number of
            rows once more, so that it depends on how many there are.)
        max_dbc: γ₂.

    >>> curve = [Point(0, 0.9, 0.1), Point(10, 0.4, -0.3), Point(20, 0.4, -0.1)]
    >>> rows_needed(curve, max_loss=0.5, max_dbc=0.2), rows_needed(curve, 0.1, 0.2)
    (20.0, nan)
    """
    enough = (p.rows for p in curve if p.loss <= max_loss and abs(p.dbc) <= max_dbc)
    return float(min(enough, default=np.nan))
