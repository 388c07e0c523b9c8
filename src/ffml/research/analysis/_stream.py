"""A stream on which the paper's assumptions hold for logistic regression."""

from collections.abc import Iterator

import numpy as np

from ffml.base import Schema, SensitiveColumn, Stream, Task
from ffml.border import at_least

GROUP = np.array([0.6, 0.3, 0.0])  # the features of a group are plus or minus this
SHIFT = 0.3  # of a whole task


def convex_stream(num_tasks: int = 500, *, rows_per_task: int = 32, seed: int = 0) -> Stream:
    """Generate tasks whose losses change by round while the constraint ``dbc`` does not.

    In task t, half of the rows have each label, and a row's group s agrees with its label with a
    probability drawn from 0.6 … 0.95. Features are ``x = ±(0.6, 0.3, 0) + u_t``, the sign by the
    group, with one shift u_t ~ N(0, 0.3² I) for all rows of the task. So decision boundary
    covariance on *any* rows of any task is the same function of θ, as the analysis of FFML and of
    the methods it is compared with asks for, and the losses are convex and differ.

    >>> [task.x.shape for task in convex_stream(2).tasks()]
    [(32, 3), (32, 3)]
    """
    at_least(1, num_tasks=num_tasks)
    at_least(4, rows_per_task=rows_per_task)
    schema = Schema(("x0", "x1", "x2"), (SensitiveColumn("group", ("g0", "g1")),))

    def tasks() -> Iterator[Task]:
        for t in range(num_tasks):
            rng = np.random.default_rng([seed, t])
            y = rng.permutation(np.arange(rows_per_task) % 2)
            agrees = rng.random(rows_per_task) < rng.uniform(0.6, 0.95)
            s = np.where(agrees, y, 1 - y)
            x = np.outer(2 * s - 1, GROUP) + SHIFT * rng.normal(size=3)
            groups = s[:, None].astype(np.int32)
            yield Task(f"task {t + 1}", x.astype(np.float32), y.astype(np.int32), groups)

    return Stream("convex", schema, tasks, num_tasks)
