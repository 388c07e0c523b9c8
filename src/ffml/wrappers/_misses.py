"""How far gaps on new tasks were from what was expected, and how much of that is chance.

A task that was just revealed shows, for each comparison, the difference d of the gap that was met
from the one expected. On few people it is mostly chance, with a variance that is known. What is
kept are weighted sums over tasks, in which earlier tasks fade.
"""

from typing import NamedTuple

import numpy as np

from ffml.methods.outer import BETWEEN_TASKS, task_precision

MOST_STEPS = 50  # of Newton's
LEAST_SPREAD = 0.01**2  # tasks differ by a point
ENOUGH = 1e-9  # a step that adds less, relative to τ², is the last


class Misses(NamedTuple):
    """Sums over tasks, for each comparison ``(m,)``."""

    total: np.ndarray  # Σ w d
    square: np.ndarray  # Σ w (d² - its variance by chance)
    weight: np.ndarray  # Σ w
    chance: np.ndarray  # Σ w² · variance by chance

    @property
    def bias(self) -> np.ndarray:
        """Return how far off gaps were on average, as far as that is more than chance.

        Of a mean b, whose variance by chance is v, b τ²/(τ² + v) is taken, with a τ that all
        comparisons show together (`beyond_chance`). Of a small group b is mostly chance, and a
        price on chance costs accuracy for nothing.
        """
        mean, variance = self._mean
        tried = self.chance > 0
        square = beyond_chance(mean[tried], variance[tried])
        return mean * square / np.where(tried, square + variance, 1.0)

    @property
    def spread(self) -> np.ndarray:
        """Return how much they differ from task to task, beyond chance: a variance.

        It is as if one more very large task had been as expected. Small tasks cannot tell
        differences of a point from none, and a large one after them would not be listened to: so
        there is a least one, which is nothing beside the chance in a few hundred rows.
        """
        mean, variance = self._mean
        square = self.square / (self.weight + 1 / BETWEEN_TASKS)
        return np.maximum(square - np.maximum(mean**2 - variance, 0.0), LEAST_SPREAD)

    @property
    def _mean(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the mean of d, and the variance of that by chance."""
        weight = np.maximum(self.weight, 1e-30)
        return self.total / weight, self.chance / weight**2


def beyond_chance(means: np.ndarray, variances: np.ndarray) -> float:
    """Return τ², the square of how large means are apart from chance.

    It is the one with which ``Σ b²/(τ² + v)`` is what is to be expected, 1 for each mean (Paule &
    Mandel, 1982); 0 if chance alone makes the sum that large. The sum falls ever more slowly as τ²
    grows, so that Newton's steps from 0 come nearer from one side.

    >>> round(beyond_chance(np.array([0.5]), np.array([0.09])), 6)
    0.16
    """
    square = 0.0
    for _ in range(MOST_STEPS):
        whole = square + variances
        step = ((means**2 / whole).sum() - len(means)) / max((means**2 / whole**2).sum(), 1e-30)
        if step <= ENOUGH * square:
            break
        square += step
    return float(square)


def no_misses(entries: int) -> Misses:
    """Start without any."""
    return Misses(*(np.zeros(entries) for _ in Misses._fields))


class Miss(NamedTuple):
    """How far off gaps were on one task ``(m,)``."""

    off: np.ndarray  # d
    chance: np.ndarray  # its variance by chance
    rows: np.ndarray  # that it rests on


def add_miss(misses: Misses, miss: Miss, memory: float) -> Misses:
    """Take in one more task; those before count ``memory`` times as much as they did."""
    off, chance, rows = miss
    weight = np.asarray(task_precision(rows))
    return Misses(
        total=memory * misses.total + weight * off,
        square=memory * misses.square + weight * (off**2 - chance),
        weight=memory * misses.weight + weight,
        chance=memory**2 * misses.chance + weight**2 * chance,
    )
