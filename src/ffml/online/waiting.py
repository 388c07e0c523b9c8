"""Tasks whose labels come later: decided about at once, learned from once labels are there."""

from typing import NamedTuple

import numpy as np

from ffml.base import Task
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

    def is_due(self, round_: int, delay: int, shots: int | None) -> bool:
        """Tell whether it is time to learn from it, after the decision of a round."""
        return (
            not self.learned and self.round + delay <= round_ and enough_labels(self.task.y, shots)
        )


def enough_labels(labels: np.ndarray, shots: int | None) -> bool:
    """Tell whether a task can be learned from: all its labels, or half of them and 2 × shots.

    Where all rows are adapted to (None), it is half of them and 200.

    >>> enough_labels(np.array([0, 1, 1, -1]), shots=1), enough_labels(np.array([0, -1]), shots=1)
    (True, False)
    """
    known, needed = int((labels >= 0).sum()), 2 * (100 if shots is None else shots)
    return 0 < known == len(labels) or (2 * known >= len(labels) and known >= needed)


def labelled_rows(task: Task) -> Task:
    """Keep the rows whose labels are known."""
    known = task.y >= 0
    if known.all():
        return task
    ids = None if task.ids is None else task.ids[known]
    return task._replace(x=task.x[known], y=task.y[known], groups=task.groups[known], ids=ids)


def split_by_label(labels: np.ndarray) -> Split:
    """Adapt to the rows whose labels are known, and decide about the others.

    >>> split_by_label(np.array([1, -1, 0]))
    Split(support=array([0, 2]), validation=array([1]))
    """
    return Split(np.flatnonzero(labels >= 0), np.flatnonzero(labels < 0))
