"""Is it a learner? Equal seeds, finite numbers, no recompilation, no look where it must not."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import numpy as np

from ffml.base import Batch, LabelledTask, Learner, Method, Prediction, Task, Unlabelled
from ffml.checks._toy import TWO_GROUPS, alike, require, toy_task
from ffml.online.judge import split_rows
from ffml.online.loop import SPLIT, Loop, knowledge, pair, start, step
from ffml.online.memory import MemorySettings
from ffml.online.state import Round
from ffml.problem.classification import fair_classification
from ffml.problem.models import linear
from ffml.problem.notions import demographic_parity

SHOTS = 10
MEMORY = MemorySettings(tasks_per_round=4, rows_per_task=64)
LARGER = MemorySettings(tasks_per_round=5, rows_per_task=128)
PROBLEM = fair_classification(TWO_GROUPS, linear(), demographic_parity(0.02))


def check_learner(method: Method) -> None:
    """Check a method: ``method(problem) -> Learner``, with its settings filled in.

    It plays a few small tasks, several times. Choose settings with which it learns quickly, such
    as few steps. The same seed must give the same numbers, and another seed others. Numbers are
    finite and multipliers not negative. A pure learner compiles once and gives the same numbers
    uncompiled. Empty places in memory and padding change nothing. Neither the labels and groups
    of the people decided about, nor later tasks, reach a decision. Arrays of the state keep their
    types, so that checkpoints can be read back.

    >>> from functools import partial
    >>> import ffml
    >>> check_learner(partial(ffml.methods.twp, num_steps=3, shots=10))
    """
    learner = method(PROBLEM)
    ready = _compiled_once(learner)
    _check_seeds_and_numbers(ready)
    _check_padding(ready)
    _check_compiled_and_memory(ready, learner)
    _check_decisions(ready)


def _types(tree: Any) -> Any:
    return jax.tree.map(lambda leaf: np.asarray(leaf).dtype.str, tree)


class Played(NamedTuple):
    """What a learner did on some tasks."""

    rounds: list[Round]
    logits: list[np.ndarray]  # of each round's decision
    state: Any
    knowledge: Any
    multipliers: np.ndarray

    @property
    def end(self) -> Any:
        """Decisions and what was learned in the end."""
        return self.logits, self.knowledge, self.multipliers

    @property
    def numbers(self) -> Any:
        """All that must be the same if nothing was changed."""
        judged = [(r.metrics, r.constraint, r.multipliers) for r in self.rounds]
        return judged, self.logits, self.state


def _play(
    learner: Learner, tasks: Sequence[Task], seed: int = 0, memory: MemorySettings = MEMORY
) -> Played:
    """Play tasks with functions that are compiled already, or never will be."""
    logits: list[np.ndarray] = []

    def predict(params: Any, x: np.ndarray) -> Prediction:
        said = learner.predict(params, x)
        logits.append(np.asarray(said.logits))
        return said

    recording = learner._replace(predict=predict, traits=learner.traits._replace(pure=False))
    loop = Loop(PROBLEM, recording, TWO_GROUPS, seed=seed, shots=SHOTS, memory_settings=memory)
    state, rounds = start(loop), []
    for task in tasks:
        state, record = step(loop, state, task)
        rounds.append(record)
    learned = knowledge(loop, state)
    return Played(rounds, logits, state.learner, learned, pair(loop, state).multipliers)


def _compiled_once(learner: Learner) -> Learner:
    if not learner.traits.pure:
        return learner
    return learner._replace(adapt=jax.jit(learner.adapt), update=jax.jit(learner.update))


def _check_seeds_and_numbers(ready: Learner) -> None:
    tasks = [toy_task(i, rows) for i, rows in enumerate((60, 1, 200, 7, 500, 31))]
    first, again, other = (_play(ready, tasks, seed) for seed in (0, 0, 1))
    require(alike(first.numbers, again.numbers), "the same seed gives other numbers")
    require(not alike(first.logits, other.logits), "another seed gives the same decisions")
    require(
        all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(first.state)),
        "the state has numbers that are not finite",
    )
    shape = first.multipliers.shape
    entries = PROBLEM.num_constraints
    require(
        shape == (entries,),
        f"the state shows multipliers of shape {shape}; there are {entries} constraints",
    )
    require(all((r.multipliers >= 0).all() for r in first.rounds), "a multiplier is negative")
    if ready.traits.pure:
        sizes = {"adapt": ready.adapt._cache_size(), "update": ready.update._cache_size()}  # type: ignore[attr-defined]
        for name, times in sizes.items():
            require(times == 1, f"{name} is compiled {times} times; shapes and types must stay")
    start = jax.device_get(ready.init(jax.random.key(0)))
    require(
        _types(start) == _types(first.state),
        "update returns arrays of other types than init, and no checkpoint could be read back; "
        "start with the types that come later",
    )


def _check_padding(ready: Learner) -> None:
    """Write people into places that do not count."""
    tasks = [toy_task(i, rows) for i, rows in enumerate((40, 3, 50))]
    tasks[1] = tasks[1]._replace(y=tasks[1].y * 0)  # one label: its support is masked by half
    one, other = _play(ready, tasks), _play(_scribbling(ready), tasks)
    require(
        alike(one.numbers, other.numbers, 1e-5, 1e-6),
        "what padding rows and empty places in memory hold changes decisions",
    )


def _check_compiled_and_memory(ready: Learner, learner: Learner) -> None:
    """Leave out compiling and offer more places in memory, at once: compiling takes longest.

    A larger memory is drawn from with other random numbers. In these tasks rows of a label are
    alike, and so are all draws.
    """
    tasks = [_alike_by_label(toy_task(i, n)) for i, n in enumerate((40, 30))]
    compiled = _play(ready, tasks)
    if _decides_alike(compiled, _play(learner, tasks, memory=LARGER)):
        return
    require(
        _decides_alike(compiled, _play(learner, tasks)),
        "compiled and uncompiled give other numbers",
    )
    require(False, "the number of places in memory changes decisions")


def _decides_alike(one: Played, other: Played) -> bool:
    return alike(one.end, other.end, 1e-3, 1e-4)


def _alike_by_label(task: Task) -> Task:
    sign = np.where(task.y == 1, 1.0, -1.0)[:, None]
    x = (sign * np.array([[0.5, 0.2, -0.1]]) + 0.3).astype(np.float32)
    return task._replace(x=x, groups=task.y[:, None].astype(np.int32))


def _scribbling(learner: Learner) -> Learner:
    """Fill all that is masked with features and groups that would matter."""

    def adapt(known: Any, support: Batch) -> Any:
        return learner.adapt(known, _scribbled_batch(support))

    def update(key: Any, state: Any, task: LabelledTask, memory: LabelledTask) -> Any:
        return learner.update(key, state, _scribbled_task(task), _scribbled_task(memory))

    return learner._replace(adapt=adapt, update=update)


def _scribbled_batch(support: Batch) -> Batch:
    people = support.unlabelled
    if people is not None:
        people = Unlabelled(_filled(people.x, people.weight > 0, 3.0), people.weight)
    kept = support.mask > 0
    x, s = _filled(support.x, kept, 3.0), _filled(support.s, kept, 1.0)
    return support._replace(x=x, s=s, unlabelled=people)


def _scribbled_task(task: LabelledTask) -> LabelledTask:
    rows = np.asarray(task.x).shape[-2]
    kept = np.arange(rows) < np.asarray(task.counts).sum(-1, keepdims=True)
    odd = np.arange(rows)[:, None] % 2  # of both groups
    return task._replace(x=_filled(task.x, kept, 3.0), s=_filled(task.s, kept, odd))


def _filled(values: Any, kept: Any, filling: Any) -> Any:
    """Write into places that are not kept; what is on devices stays there as it was laid out."""
    filled = np.where(np.asarray(kept)[..., None], values, filling).astype(values.dtype)
    return jax.device_put(filled, values.sharding) if isinstance(values, jax.Array) else filled


def _check_decisions(ready: Learner) -> None:
    """Scramble what a decision must not know: its logits stay."""
    tasks = [toy_task(i, rows) for i, rows in enumerate((60, 80, 120))]
    rows = split_rows(len(tasks[1].y), 0.5, np.random.default_rng([0, 2, SPLIT])).validation
    y, groups = tasks[1].y.copy(), tasks[1].groups.copy()
    y[rows], groups[rows] = 1 - y[rows], 1 - groups[rows]
    judged = tasks[1]._replace(y=y, groups=groups)
    decided = _play(ready, tasks).logits[1]
    for changed, what in (
        ([tasks[0], judged], "labels and groups of the people decided about reach"),
        ([tasks[0], tasks[1], toy_task(99, 50)], "a later task reaches"),
    ):
        require(alike(decided, _play(ready, changed).logits[1]), f"{what} the decision")
