"""Rows that were never observed: the paper's data preparation, for its own protocol only.

The paper fills every task up to a number of rows with copies whose features, laid out as a square
image, are rotated. Tables are not images: a rotated row is a mixture of unrelated features, and
copies of one row can lie on both sides of a split, so that what is judged has partly been seen.
Numbers measured this way compare with the paper's, not with those of real people.
"""

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from ffml.base import Stream, Task
from ffml.border import at_least
from ffml.draws import ROTATE, draws


def augmented(stream: Stream, min_rows: int, seed: int) -> Stream:
    """Fill up every task of a stream; which rows are added depends on seed and position only."""
    at_least(1, augment_to=min_rows)

    def tasks() -> Iterator[Task]:
        for position, task in enumerate(stream.tasks(), start=1):
            yield rotated(task, min_rows, draws(seed, position, ROTATE))

    return replace(stream, tasks=tasks)


def rotated(task: Task, min_rows: int, rng: np.random.Generator) -> Task:
    """Add rotated copies of rows, drawn at random, until a task has ``min_rows`` rows.

    A copy keeps label and group; its features are turned by 1 to 360 whole degrees. The task's
    own rows come first, unchanged. A task that has enough rows, or none, is returned as it is.
    Copies of a row can end up on both sides of a later split into support and validation rows.

    >>> task = Task("t", np.eye(2, 3, dtype=np.float32), np.array([0, 1]), np.array([[0], [1]]))
    >>> filled = rotated(task, 5, np.random.default_rng(0))
    >>> len(filled.y), bool((filled.x[:2] == task.x).all())
    (5, True)
    """
    missing = min_rows - len(task.y)
    if missing <= 0 or not len(task.y):
        return task
    chosen = rng.integers(len(task.y), size=missing)
    angles = rng.integers(1, 361, size=missing)
    return task._replace(
        x=np.concatenate([task.x, rotate_rows(task.x[chosen], angles)]),
        y=np.concatenate([task.y, task.y[chosen]]),
        groups=np.concatenate([task.groups, task.groups[chosen]]),
    )


def rotate_rows(x: np.ndarray, angles: np.ndarray) -> np.ndarray:
    """Turn each row's square image by its angle in degrees, counter-clockwise.

    Features fill the image row by row, zeros the rest of it and what turns in from outside;
    between pixels values are interpolated linearly.
    """
    num_features = x.shape[1]
    side = math.isqrt(max(num_features - 1, 0)) + 1
    images = np.pad(x, ((0, 0), (0, side * side - num_features))).reshape(-1, side, side)
    turned = np.empty_like(images)
    for angle in np.unique(angles):  # all rows of one angle at once
        turned[angles == angle] = _rotate(images[angles == angle], int(angle))
    return turned.reshape(len(x), -1)[:, :num_features]


def _rotate(images: np.ndarray, angle: int) -> np.ndarray:
    """Rotate a stack of images: rows and columns turn, the stack's own axis stays."""
    from scipy.ndimage import affine_transform
    from scipy.special import cosdg, sindg

    turn = np.array([[cosdg(angle), sindg(angle)], [-sindg(angle), cosdg(angle)]])
    middle = np.full(2, (images.shape[1] - 1) / 2)
    matrix = np.eye(3)
    matrix[1:, 1:] = turn
    return affine_transform(images, matrix, [0, *(middle - turn @ middle)], order=1)
