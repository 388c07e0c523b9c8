"""The whole vocabulary on one page.

Two kinds of object live here. What *people* hand in and get back (``Schema``, ``Task``,
``Stream``, ``FFMLError``) is plain NumPy; what the *numerics* work on (``Batch``,
``LabelledTask``, ``Problem``, ``Learner``, ``Features``, ``Info``) are pytrees and pure functions,
so that they can be jitted, vmapped, differentiated and sharded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import numpy as np  # where it is used, so that the command line's help need not wait for it

Array = Any  # a NumPy or JAX array
Params = Any  # a pytree of arrays


class FFMLError(ValueError):
    """A mistake that the caller can mend. The message is one line and names the remedy."""


class InputDriftWarning(UserWarning):
    """Inputs of people to be decided about differ from those that were learned from."""


# -- what people hand in ---------------------------------------------------------------------


@dataclass(frozen=True)
class SensitiveColumn:
    """A protected attribute: its name and the labels of its groups, in the order of their codes."""

    name: str
    groups: tuple[str, ...]


class Group(NamedTuple):
    """One group of a column, and which comparison tells who belongs to it."""

    name: str  # column=group
    column: int
    contrast: int
    is_member: bool  # whether it is the group of the comparison, or its rest


@dataclass(frozen=True)
class Schema:
    """What all tasks of a stream have in common.

    Columns of x are the ``features``, then the ``hints``: columns that tell groups rather than
    labels, which only corrections look at, never a model. Then the ``scores``: logits of label 1,
    both labels counting the same, which a method may start from.

    ``categories`` are the positions of features that came from one column of categories: of each
    such group, at most one is 1 in a row and the others are 0.

    With ``known_groups`` people say who they are when they are decided about: the hints are their
    memberships, one for each of the ``contrasts``.
    """

    features: tuple[str, ...]
    sensitive: tuple[SensitiveColumn, ...]
    label: str = "label"
    hints: tuple[str, ...] = ()
    categories: tuple[tuple[int, ...], ...] = ()
    known_groups: bool = False
    scores: tuple[str, ...] = ()

    @property
    def num_columns(self) -> int:
        """Count the columns of x."""
        return len(self.features) + len(self.hints) + len(self.scores)

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

    @property
    def groups(self) -> tuple[Group, ...]:
        """All groups, column by column.

        >>> Schema(("age",), (SensitiveColumn("sex", ("F", "M")),)).groups[0]
        Group(name='sex=F', column=0, contrast=0, is_member=False)
        """
        groups: list[Group] = []
        first = 0
        for i, column in enumerate(self.sensitive):
            two = len(column.groups) == 2
            for k, group in enumerate(column.groups):
                contrast, is_member = (first, k == 1) if two else (first + k, True)
                groups.append(Group(f"{column.name}={group}", i, contrast, is_member))
            first += 1 if two else len(column.groups)
        return tuple(groups)

    def with_known_groups(self) -> Schema:
        """Return the schema of people whose memberships stand behind their features.

        >>> Schema(("age",), (SensitiveColumn("sex", ("F", "M")),)).with_known_groups().hints
        ('sex=M',)
        """
        return replace(self, hints=self.contrasts, known_groups=True)

    def memberships(self, groups: np.ndarray) -> np.ndarray:
        """Turn group codes ``(n, columns)`` into 0/1 memberships ``(n, contrasts)``."""
        import numpy as np

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
    y: np.ndarray  # (n,) labels 0/1; -1 where the label is not known yet
    groups: np.ndarray  # (n, sensitive columns) group codes
    missing: np.ndarray | None = None  # (columns,) missing values of a table's inputs, if known
    ids: np.ndarray | None = None  # (n,) texts by which labels find their rows later


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
    pool_size: Array  # () size of the pool that this batch was drawn from
    distinct_share: Array = 1.0  # (n,) 1 / the number of times this row was drawn
    unlabelled: Unlabelled | None = None  # with support rows: who is to be decided about, if known


class LabelledTask(NamedTuple):
    """A task of bounded size; rows ordered by label: negatives, positives, padding.

    Several tasks are one such tuple with a leading axis; a slot without rows is empty.
    """

    x: Array  # (rows, features)
    s: Array  # (rows, contrasts)
    counts: Array  # (2,) number of negatives and of positives kept
    totals: Array  # (2,) number of negatives and of positives that the whole task had


class Model(NamedTuple):
    """``init(key, num_features) -> params`` and ``apply(params, x) -> logits (n,)``."""

    init: Callable[[Array, int], Params]
    apply: Callable[[Params, Array], Array]


class Band(NamedTuple):
    """Where signed gaps may lie: ``|gap - center| <= width + share · higher rate``, ``(m,)`` each.

    The higher rate is that of the side of the comparison that has more. One number is for all m.
    """

    center: Array
    width: Array
    share: Array = 0.0


class Ratio(NamedTuple):
    """What is asked of rates: the lower is at least this share of the higher (0.8: four fifths)."""

    least: float


class Condition(NamedTuple):
    """Among whom groups are compared, such as the rows of a label."""

    name: str  # "" if it needs none
    rows: Callable[[Batch], Array]  # batch -> (n,) what each row counts


class Constraint(NamedTuple):
    """A fairness notion: groups have nearly the same mean score among the rows of a condition.

    Each condition and each contrast of the schema make one entry. An entry that a batch cannot
    measure (a side of the comparison has no rows) adds no violation and no gradient, and its
    multiplier stays.
    """

    name: str
    conditions: tuple[Condition, ...]
    bound: Band  # see `ffml.constraints.gap` and `ffml.constraints.ratio`
    score: Callable[[Array, Batch], Array]  # logits, batch -> (n,) what is learned from; has slopes
    judged: Callable[[Array, Batch], Array]  # logits, batch -> (n,) what the score stands for


class Problem(NamedTuple):
    """Minimise ``loss`` while the gaps of all ``constraints`` keep within their bounds."""

    model: Model
    cost: Callable[[Params, Array, Batch, Array], Array]
    # ^ params, their logits, batch, what a missed positive costs in false alarms -> ()
    constraints: tuple[Constraint, ...]
    schema: Schema
    positive_weight: float = 1.0

    def init(self, key: Array) -> Params:
        """Return parameters to start from."""
        return self.model.init(key, len(self.schema.features))

    def apply(self, params: Params, x: Array) -> Array:
        """Return the model's logits; it never sees the hints."""
        seen = x[..., : len(self.schema.features)] if self.schema.hints else x
        return self.model.apply(params, seen)

    def loss(self, params: Params, batch: Batch) -> Array:
        """Return what is minimised: ``()``."""
        return self.cost(params, self.apply(params, batch.x), batch, self.positive_weight)

    @property
    def constraint_names(self) -> tuple[str, ...]:
        """One name for each of the m entries."""
        return tuple(
            f"{constraint.name}[{', '.join(filter(None, (contrast, condition.name)))}]"
            for constraint in self.constraints
            for condition in constraint.conditions
            for contrast in self.schema.contrasts
        )

    @property
    def num_constraints(self) -> int:
        """Count the entries: m."""
        return len(self.constraint_names)


class Info(NamedTuple):
    """What we look at after an update; nothing here is needed for the next step."""

    loss: Array  # () objective part, as the method saw it last
    constraint: Array  # (m,) constraint values, as the method saw them last
    gaps: Array  # (m,) signed gaps learned from, averaged over the last iterations
    iterations: Array  # () steps taken
    extra: dict[str, Array] | None = None  # numbers that a report may put into words


class Pair(NamedTuple):
    """What rounds show of a learner: θ and λ."""

    params: Params  # {} where a method has none between rounds
    multipliers: Array  # (m,)


class Prediction(NamedTuple):
    """What a learner says about people, ``(n,)`` each."""

    logits: Array  # the decision is positive where above 0
    probability: Array  # of label 1
    unpriced: Array  # the logits if no gap were bounded


class Traits(NamedTuple):
    """What others need to know of a learner."""

    pure: bool = True  # whether adapt and update can be compiled
    uses_unlabelled: bool = False  # whether adapt looks at ``support.unlabelled``
    constrained: bool = True  # whether it learns from the problem's constraints


class Learner(NamedTuple):
    """A method, built for a problem. Everything it needs for the next step is in its state.

    ``knowledge`` is the part of a state that decisions need, and that model files keep. ``adapt``
    makes the decision for a new task from it and the task's support rows, and changes nothing;
    ``update`` learns once the task is revealed.

    A state and its knowledge keep θ as ``params`` and λ as ``multipliers``, if they have any; a
    wrapper keeps those of what it wraps as ``inner``. See `pair_of`.
    """

    init: Callable[[Array], Any]  # key -> state
    adapt: Callable[[Any, Batch], Params]  # knowledge, support -> params
    predict: Callable[[Params, Array], Prediction]  # params, x -> what is said about people
    update: Callable[[Array, Any, LabelledTask, LabelledTask], tuple[Any, Info]]
    # ^ key, state, the task just revealed, tasks drawn from memory (leading axis) -> state, info
    knowledge: Callable[[Any], Any]  # state -> what adapt needs of it
    traits: Traits = Traits()


class Features(NamedTuple):
    """Columns that are learned from earlier tasks and added to what is known of people.

    ``describe`` is called once for each task, when it arrives, so that the columns know nothing of
    its labels. ``fit`` learns how to describe, once a task is revealed. Both get features as they
    came; a learner gets them standardised.
    """

    init: Callable[[], Any]  # -> state
    fit: Callable[[Array, Any, LabelledTask, LabelledTask], Any]
    # ^ key, state, the task just revealed, tasks drawn from memory (leading axis) -> state
    describe: Callable[[Any, Array], Array]  # state, x -> x and more columns
    schema: Schema  # of people with these columns


Method = Callable[[Problem], Learner]


def plain(logits: Array) -> Prediction:
    """Say what logits alone say: their probabilities, and no price on any gap.

    >>> import numpy as np
    >>> plain(np.zeros(1)).probability.tolist()
    [0.5]
    """
    import numpy as np

    if isinstance(logits, np.ndarray):
        from scipy.special import expit

        return Prediction(logits, expit(logits.astype(float)), logits)
    import jax

    return Prediction(logits, jax.nn.sigmoid(logits), logits)


def pair_of(known: Any, num_constraints: int) -> Pair:
    """Show θ and λ of a state or of knowledge, however many wrappers are around it."""
    import numpy as np

    while hasattr(known, "inner"):
        known = known.inner
    no_multiplier = np.zeros(num_constraints, np.float32)
    return Pair(getattr(known, "params", {}), getattr(known, "multipliers", no_multiplier))
