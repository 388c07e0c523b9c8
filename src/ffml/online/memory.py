"""Past tasks: bounded rows per task, bounded number of tasks, and a round's draw of them."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ffml.base import LabelledTask, Schema, Task
from ffml.border import at_least, one_of

MOST_PADDED_BYTES = 64 * 2**20  # of a round's tasks in one shape for all rounds


def _keep_all(seen: int, capacity: int, rng: np.random.Generator) -> int | None:
    return None


def _keep_recent(seen: int, capacity: int, rng: np.random.Generator) -> int | None:
    return 0


def _keep_reservoir(seen: int, capacity: int, rng: np.random.Generator) -> int | None:
    """Algorithm R: each of the tasks seen so far is kept with the same probability."""
    place = int(rng.integers(seen + 1))
    return place if place < capacity else capacity


# Who makes room once memory is full: the index of the task to forget, `capacity` for the new one.
POLICIES = {"all": _keep_all, "recent": _keep_recent, "reservoir": _keep_reservoir}


class MemorySettings(NamedTuple):
    """How much is remembered.

    Attributes:
        tasks_per_round: |U|, the most tasks that one round learns from.
        rows_per_task: the most rows kept of a task, as evenly over the labels as they allow.
        policy: "all" keeps every task, "recent" the last ``capacity``, "reservoir" a uniform
            sample of ``capacity`` of those seen.
        capacity: the most tasks kept by "recent" and "reservoir".
    """

    tasks_per_round: int = 32
    rows_per_task: int = 1024
    policy: str = "reservoir"
    capacity: int = 256

    def validate(self) -> "MemorySettings":
        """Refuse settings that cannot work."""
        at_least(1, tasks_per_round=self.tasks_per_round, capacity=self.capacity)
        at_least(4, rows_per_task=self.rows_per_task)
        one_of("memory policy", self.policy, POLICIES)
        return self


class Memory(NamedTuple):
    """The tasks kept so far, each with just its own rows, and how many there were."""

    tasks: tuple[LabelledTask, ...] = ()
    seen: int = 0


def remember(
    memory: Memory, task: Task, schema: Schema, settings: MemorySettings, rng: np.random.Generator
) -> tuple[Memory, LabelledTask]:
    """Keep a task, and forget another one if the policy says so; also return what was kept."""
    kept = bounded(task, schema, settings.rows_per_task, rng)
    tasks = [*memory.tasks, kept]
    if len(memory.tasks) >= settings.capacity:
        forget = POLICIES[settings.policy](memory.seen, settings.capacity, rng)
        if forget is not None:
            del tasks[forget]
    return Memory(tuple(tasks), memory.seen + 1), kept


def draw_tasks(
    memory: Memory, settings: MemorySettings, rng: np.random.Generator
) -> list[LabelledTask]:
    """Draw a round's tasks: all of them, or |U| at random once there are more."""
    chosen = np.arange(len(memory.tasks))
    if len(memory.tasks) > settings.tasks_per_round:
        chosen = rng.choice(len(memory.tasks), settings.tasks_per_round, replace=False)
    return [memory.tasks[i] for i in np.sort(chosen)]


def padded_tasks(
    tasks: Sequence[LabelledTask], settings: MemorySettings, num_features: int
) -> LabelledTask:
    """Put tasks of a draw into one array each, padded with zeros.

    The shapes depend on the settings alone, so nothing recompiles as tasks arrive. Where that
    would take more than `MOST_PADDED_BYTES`, there are only as many places as the next power
    of four above what is drawn, so that a few shapes are compiled.
    """
    slots, rows = settings.tasks_per_round, settings.rows_per_task
    if slots * rows * num_features * 4 > MOST_PADDED_BYTES:
        longest = max(len(task.x) for task in tasks)
        slots, rows = min(slots, bucket(len(tasks), 2)), min(rows, bucket(longest, 64))
    first = tasks[0]
    # Zeros that nobody touches take no time and no memory.
    all_tasks = LabelledTask(
        np.zeros((slots, rows, *first.x.shape[1:]), first.x.dtype),
        np.zeros((slots, rows, *first.s.shape[1:]), first.s.dtype),
        np.zeros((slots, *first.counts.shape), first.counts.dtype),
        np.zeros((slots, *first.totals.shape), first.totals.dtype),
    )
    for i, task in enumerate(tasks):
        for places, leaf in zip(all_tasks, task, strict=True):
            places[i, : len(leaf)] = leaf
    return all_tasks


def bucket(size: int, smallest: int) -> int:
    """Return the smallest number times a power of four that is at least ``size``.

    >>> [bucket(size, 256) for size in (1, 256, 257, 5000)]
    [256, 256, 1024, 16384]
    """
    while smallest < size:
        smallest *= 4
    return smallest


def bounded(task: Task, schema: Schema, max_rows: int, rng: np.random.Generator) -> LabelledTask:
    """Order a task's rows by label and keep at most ``max_rows``, shared evenly by the labels.

    Draws are class-balanced, so keeping more of the rarer label changes no distribution.
    """
    negatives, positives = np.flatnonzero(task.y == 0), np.flatnonzero(task.y == 1)
    keep_positives = min(len(positives), max(max_rows // 2, max_rows - len(negatives)))
    keep_negatives = min(len(negatives), max_rows - keep_positives)
    rows = np.concatenate(
        [
            np.sort(rng.permutation(negatives)[:keep_negatives]),
            np.sort(rng.permutation(positives)[:keep_positives]),
        ]
    )
    counts = np.array([keep_negatives, keep_positives], np.int32)
    memberships = schema.memberships(task.groups[rows])
    totals = np.array([len(negatives), len(positives)], np.int32)
    return LabelledTask(task.x[rows], memberships, counts, totals)


def padded_rows(task: LabelledTask, num_rows: int) -> LabelledTask:
    """Pad a task with rows of zeros, which no draw ever picks."""
    missing = ((0, num_rows - len(task.x)), (0, 0))
    return task._replace(x=np.pad(task.x, missing), s=np.pad(task.s, missing))
