"""The rows of remembered tasks, written out one below the other."""

from typing import NamedTuple

import numpy as np

from ffml.base import LabelledTask


class Rows(NamedTuple):
    """Labelled rows, each standing for as many rows of its task as ``times`` says."""

    x: np.ndarray  # (n, columns)
    y: np.ndarray  # (n,) 0 or 1
    s: np.ndarray  # (n, contrasts)
    times: np.ndarray  # (n,)


def rows_of(task: LabelledTask) -> Rows:
    """Take the rows kept of a task, without padding; together they stand for all it had.

    >>> task = LabelledTask(np.arange(4.0)[:, None], np.zeros((4, 1)), [1, 2], [3, 2])
    >>> x, y, _, times = rows_of(task)
    >>> x[:, 0].tolist(), y.tolist(), times.tolist()
    ([0.0, 1.0, 2.0], [0, 1, 1], [3.0, 1.0, 1.0])
    """
    counts, totals = np.asarray(task.counts), np.asarray(task.totals)
    kept = int(counts.sum())
    return Rows(
        np.asarray(task.x)[:kept],
        np.repeat(np.array([0, 1], np.int32), counts),
        np.asarray(task.s)[:kept],
        np.repeat(totals / np.maximum(counts, 1), counts),
    )


def rows_of_all(tasks: LabelledTask) -> Rows:
    """Take the rows kept of several tasks (leading axis)."""
    parts = [rows_of(task) for task in each(tasks)]
    return Rows(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


def each(tasks: LabelledTask) -> list[LabelledTask]:
    """Take tasks (leading axis) apart."""
    return [LabelledTask(*leaves) for leaves in zip(*map(np.asarray, tasks), strict=True)]
