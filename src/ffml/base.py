"""The whole vocabulary on one page.

Two kinds of object live here. What *people* hand in and get back (``Schema``, ``Task``,
``Stream``, ``FFMLError``) is plain NumPy; what the *numerics* work on (``Batch``,
``LabelledTask``, ``Problem``, ``Learner``, ``Info``) are pytrees and pure functions, so that they
can be jitted, vmapped, differentiated and sharded.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

Array = Any  # a NumPy or JAX array
Params = Any  # a pytree of arrays


class FFMLError(ValueError):
    """A mistake that the caller can mend. The message is one line and names the remedy."""


# -- what people hand in ---------------------------------------------------------------------


@dataclass(frozen=True)
class SensitiveColumn:
    """A protected attribute: its name and the labels of its groups, in the order of their codes."""

    name: str
    groups: tuple[str, ...]


@dataclass(frozen=True)
class Schema:
    """What all tasks of a stream have in common."""

    features: tuple[str, ...]
    sensitive: tuple[SensitiveColumn, ...]
    label: str = "label"

    @property
    def contrasts(self) -> tuple[str, ...]:
        """The comparisons that a constraint makes: ``column=group``, each group against the rest.

        Two groups make one comparison (the second against the first), k > 2 groups make k.

        >>> Schema(("age",), (SensitiveColumn("sex", ("F", "M")),)).contrasts
        ('sex=M',)
        """
        return tuple(
            f"{column.name}={group}"
            for column in self.sensitive
            for group in (column.groups[1:] if len(column.groups) == 2 else column.groups)
        )

    def memberships(self, groups: np.ndarray) -> np.ndarray:
        """Turn group codes ``(n, columns)`` into 0/1 memberships ``(n, contrasts)``."""
        return np.concatenate(
            [
                groups[:, [i]] == (np.arange(1, 2) if k == 2 else np.arange(k))
                for i, k in enumerate(len(column.groups) for column in self.sensitive)
            ],
            axis=1,
        ).astype(np.float32)


class Task(NamedTuple):
    """One batch of people from one population, as NumPy arrays."""

    name: str
    x: np.ndarray  # (n, features) float32, never holding a protected attribute
    y: np.ndarray  # (n,) labels 0/1
    groups: np.ndarray  # (n, sensitive columns) group codes


@dataclass(frozen=True)
class Stream:
    """Tasks in the order in which they arrive. ``tasks()`` starts from the first one."""

    name: str
    schema: Schema
    tasks: Callable[[], Iterator[Task]]
    num_tasks: int | None = None


# -- what the numerics work on ---------------------------------------------------------------


class Unlabelled(NamedTuple):
    """People of a task of whom only the features are known: those to be decided about."""

    x: Array  # (n, features)
    weight: Array  # (n,) how many people a row stands for, up to a factor; 0. for padding


class Batch(NamedTuple):
    """Rows of one task, perhaps drawn with as many of each label, perhaps padded.

    The loss goes by ``mask``, so that both labels count the same in a balanced draw; constraints
    go by ``weight``, so that they speak of the task's own label rates.
    """

    x: Array  # (n, features)
    y: Array  # (n,) 0. or 1.
    s: Array  # (n, contrasts) memberships, see `Schema.memberships`
    mask: Array  # (n,) 1. for a row, 0. for padding
    weight: Array  # (n,) how many rows of the task a row stands for, up to a factor; 0. for padding
    pool: Array  # () how many rows the part of the task has that the batch stands for
    different: Array = 1.0  # (n,) how many different rows a row is: less than 1 if drawn repeatedly
    unlabelled: Unlabelled | None = None  # with support rows: who is to be decided about, if known


class Sides(NamedTuple):
    """Who is compared with whom: the two sides of each of m comparisons among n rows."""

    rows: Array  # (n, m) what a row counts in a comparison, 0 if nothing
    members: Array  # (n, m) 1. if it belongs to the group, 0. if to the others, or a share


class LabelledTask(NamedTuple):
    """A task of bounded size; rows ordered by label: negatives, positives, padding.

    Several tasks are one such tuple with a leading axis; a slot without rows is empty.
    """

    x: Array  # (rows, features)
    s: Array  # (rows, contrasts)
    counts: Array  # (2,) number of negatives and of positives kept
    totals: Array  # (2,) number of negatives and of positives that the whole task had


class Problem(NamedTuple):
    """Minimise ``loss`` subject to ``constraint <= 0``."""

    init: Callable[[Array], Params]  # key -> params
    apply: Callable[[Params, Array], Array]  # params, x -> logits (n,)
    loss: Callable[[Params, Batch], Array]  # -> ()
    constraint: Callable[
        ..., Array
    ]  # params, batch, shift=0 -> (m,) learned from: |gap + shift| - ε
    constraint_at: Callable[[Array, Batch], Array]  # logits, batch -> (m,) |gap| - ε, as reported
    gaps: Callable[[Params, Batch], Array]  # -> (m,) signed gaps, 0 where not measurable
    gaps_at: Callable[[Array, Batch], Array]  # logits, batch -> (m,) the same of any logits
    judged_gaps: Callable[[Params, Batch], Array]  # -> (m,) what new tasks are judged by
    gap_variance: Callable[[Params, Batch], Array]  # -> (m,) what chance adds to gap²
    bounds: Array  # (m,) ε
    evidence: Callable[[Batch], Array]  # -> (m,) rows that an entry rests on, 0: not measurable
    sides: Callable[[Batch], Sides]  # who is compared in each entry
    constraint_names: tuple[str, ...]  # m names
    positive_weight: float = 1.0  # what a missed positive costs, in false alarms
    schema: Schema = Schema((), ())  # of the rows

    @property
    def num_constraints(self) -> int:
        """Count the entries: m."""
        return len(self.constraint_names)

    def measurable(self, batch: Batch) -> Array:
        """Tell which entries a batch can measure: ``(m,)`` 0. or 1."""
        return (self.evidence(batch) > 0) * 1.0


class Info(NamedTuple):
    """What we look at after an update; nothing here is needed for the next step."""

    loss: Array  # () objective part, as the method saw it last
    constraint: Array  # (m,) constraint values, as the method saw them last
    iterations: Array  # () steps taken
    change: Array  # () size of the last steps, relative to the parameters


class Learner(NamedTuple):
    """A method. Everything it needs for the next step is in its state.

    ``adapt`` makes the decision for a new task from its support rows and changes nothing;
    ``update`` learns once the task is revealed. States have ``params`` and ``multipliers``.
    Where ``pure``, both are compiled; a method that calls other libraries says False. One that
    looks at the people to be decided about says ``uses_unlabelled`` and gets their features.
    """

    init: Callable[[Array], Any]  # key -> state
    adapt: Callable[[Any, Batch], Params]  # state, support -> params
    predict: Callable[[Params, Array], Array]  # params, x -> logits (n,)
    update: Callable[[Array, Any, LabelledTask, LabelledTask], tuple[Any, Info]]
    # ^ key, state, the task just revealed, tasks drawn from memory (leading axis) -> state, info
    pure: bool = True
    uses_unlabelled: bool = False  # adapt is given ``support.unlabelled``
