"""Predict for rows in blocks of one size, so that a row's numbers are its own. Needs no JAX.

Matrix products of other sizes round otherwise. A person's probability must not depend on how a
table was cut into batches, nor on who else is in it.
"""

from collections.abc import Callable

import numpy as np

from ffml.base import Array, Prediction

SMALL_BLOCK, BLOCK = 256, 4096  # rows at a time


def predict_rows(predict: Callable[[np.ndarray], Prediction], x: np.ndarray) -> Prediction:
    """Predict for prepared rows, ``(n,)`` NumPy arrays of float32, as everybody is told them.

    >>> said = predict_rows(lambda rows: Prediction(*rows.T), np.arange(6.0).reshape(2, 3))
    >>> said.probability.tolist()
    [1.0, 4.0]
    """
    size = SMALL_BLOCK if len(x) <= SMALL_BLOCK else BLOCK
    starts = range(0, len(x), size) or range(1)
    parts = [_block(predict, x[start : start + size], size) for start in starts]
    return Prediction(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def _block(predict: Callable, x: np.ndarray, size: int) -> list[Array]:
    padded = np.pad(x, ((0, size - len(x)), (0, 0)))
    return [np.asarray(part, np.float32)[: len(x)] for part in predict(padded)]
