"""Tasks as memory hands them out."""

import numpy as np

from ffml.base import LabelledTask
from ffml.online.memory import bounded, padded_rows


def remembered(schema, *tasks, rows=2000):
    """Keep so many rows of each task, padded to equal size, with a leading axis over tasks."""
    rng = np.random.default_rng(0)
    kept = [padded_rows(bounded(task, schema, rows, rng), rows) for task in tasks]
    return LabelledTask(*(np.stack(leaves) for leaves in zip(*kept, strict=True)))


def first(tasks):
    """Take the first task out."""
    return LabelledTask(*(leaf[0] for leaf in tasks))
