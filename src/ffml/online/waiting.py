"""Tasks whose labels come later: decided about at once, learned from once labels are there.

**One-sided labels** come for those approved only, or nearly so: nobody learns whether a refused
loan would have been paid back. Learning from those approved as if they were everybody takes them
for the whole task, groups and label rate included. So those refused stay in the task, with labels
drawn by the probability that was found for them: what was believed of them is neither confirmed
nor forgotten. These labels are learned from, and never counted, kept or shown.
"""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from ffml.base import Task
from ffml.metrics.labels import MIN_LABELS, label_shares
from ffml.metrics.rates import contingency_table
from ffml.online.judge import Decided, Split


class Waiting(NamedTuple):
    """A task that is not learned from yet, or of which some labels are still unknown."""

    round: int  # in which it was decided about
    task: Task  # features as they came; labels as far as they are known
    decided: Decided
    learned: bool = False

    @property
    def complete(self) -> bool:
        """Whether all labels are known."""
        return bool((self.task.y >= 0).all())

    @property
    def approved(self) -> np.ndarray:
        """Who of the task was decided positively; those not decided about were not refused."""
        approved = np.ones(len(self.task.y), bool)
        approved[self.decided.rows] = self.decided.logits > 0
        return approved

    @property
    def one_sided(self) -> bool:
        """Whether labels come for those approved only, as far as `MIN_LABELS` can tell."""
        labels, positive = self.task.y[self.decided.rows], 1 * (self.decided.logits > 0)
        shares = label_shares(contingency_table(labels, positive, 0 * positive, 1))
        for_approved = (shares.if_positive or 0) > (shares.if_negative or 0)
        return shares.selective and for_approved and shares.labelled >= MIN_LABELS

    def is_due(self, round_: int, delay: int, shots: int | None, newest: int = 0) -> bool:
        """Tell whether it is time to learn from it, after the decision of a round.

        ``newest`` is the last round of which labels have come: if it is a later one, the labels
        that are missing here mostly never come.
        """
        labels = self.task.y[self.approved] if self.one_sided else self.task.y
        enough = enough_labels(labels, shots, past=newest > self.round)
        return not self.learned and self.round + delay <= round_ and enough

    def to_learn(self, rng: np.random.Generator) -> Task:
        """Return the rows with labels, and those refused too where labels are one-sided."""
        if not self.one_sided:
            return labelled_rows(self.task)
        chance = np.zeros(len(self.task.y))
        chance[self.decided.rows] = self.decided.probabilities
        believed = (rng.random(len(chance)) < chance).astype(self.task.y.dtype)
        unknown = (self.task.y < 0) & ~self.approved
        return labelled_rows(self.task._replace(y=np.where(unknown, believed, self.task.y)))


def newest_labelled(waiting: Iterable[Waiting], round_: int, delay: int) -> int:
    """Return the newest round that has labels; 0 if there is none."""
    known = (w.round for w in waiting if w.round + delay <= round_ and (w.task.y >= 0).any())
    return max(known, default=0)


def enough_labels(labels: np.ndarray, shots: int | None, past: bool = False) -> bool:
    """Tell whether a task can be learned from: all its labels, or half of them and 2 × shots.

    Where all rows are adapted to (None), it is half of them and 200. Half is enough of a task that
    is ``past``: labels of later ones come.

    >>> enough_labels(np.array([0, 1, 1, -1]), shots=1), enough_labels(np.array([0, -1]), shots=1)
    (True, False)
    >>> enough_labels(np.array([0, -1]), shots=1, past=True)
    True
    """
    known = int((labels >= 0).sum())
    half, needed = 0 < known >= len(labels) / 2, 2 * (100 if shots is None else shots)
    return half and (past or known == len(labels) or known >= needed)


def labelled_rows(task: Task) -> Task:
    """Keep the rows whose labels are known."""
    labelled = task.y >= 0
    if labelled.all():
        return task
    ids = None if task.ids is None else task.ids[labelled]
    return task._replace(
        x=task.x[labelled], y=task.y[labelled], groups=task.groups[labelled], ids=ids
    )


def split_by_label(labels: np.ndarray) -> Split:
    """Adapt to the rows whose labels are known, and decide about the others.

    >>> split_by_label(np.array([1, -1, 0]))
    Split(support=array([0, 2]), validation=array([1]))
    """
    return Split(np.flatnonzero(labels >= 0), np.flatnonzero(labels < 0))
