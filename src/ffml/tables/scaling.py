"""Standardisation that follows a stream, for data that do not come standardised."""

from typing import NamedTuple

import numpy as np


class RunningScaler(NamedTuple):
    """Mean and spread of every feature over all rows seen so far; no labels are involved.

    Columns whose ``scaled`` is False (one-hot categories) pass as they are, and so do columns
    beyond those it knows, which a learner has added. A constant column becomes 0. Chan's formula
    merges a batch in one step, whatever the batches' sizes.

    >>> scaler = RunningScaler.empty(np.array([True, False]))
    >>> scaler = scaler.update(np.array([[1.0, 0.0], [3.0, 1.0]]))
    >>> scaler.transform(np.array([[3.0, 1.0]])).tolist()
    [[1.0, 1.0]]
    """

    scaled: np.ndarray  # (features,) which columns are standardised
    num_rows: np.ndarray  # () rows seen
    mean: np.ndarray  # (features,)
    squares: np.ndarray  # (features,) sum of squared distances from the mean

    @classmethod
    def empty(cls, scaled: np.ndarray) -> "RunningScaler":
        """Start without rows."""
        zeros = np.zeros(len(scaled))
        return cls(np.asarray(scaled, bool), np.zeros(()), zeros, zeros)

    def update(self, x: np.ndarray) -> "RunningScaler":
        """Merge the rows of a batch."""
        if not len(x):
            return self
        rows = np.asarray(x[:, : len(self.scaled)], float)
        mean = rows.mean(0)
        squares = ((rows - mean) ** 2).sum(0)
        num_rows = self.num_rows + len(rows)
        shift = mean - self.mean
        return RunningScaler(
            self.scaled,
            num_rows,
            self.mean + shift * len(rows) / num_rows,
            self.squares + squares + shift**2 * self.num_rows * len(rows) / num_rows,
        )

    def transform(self, x: np.ndarray) -> np.ndarray:
        """Standardise rows, as float32."""
        deviation = np.sqrt(self.squares / np.maximum(self.num_rows, 1))
        varies = deviation > 1e-12 * np.maximum(np.abs(self.mean), 1)
        offset = np.where(self.scaled, self.mean, 0.0)
        factor = np.where(self.scaled, varies / np.where(varies, deviation, 1.0), 1.0)
        width = len(self.scaled)
        scaled = ((x[..., :width] - offset) * factor).astype(np.float32)
        if x.shape[-1] == width:
            return scaled
        return np.concatenate([scaled, np.asarray(x[..., width:], np.float32)], axis=-1)
