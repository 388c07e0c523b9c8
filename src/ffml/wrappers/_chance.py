"""How much chance is in the gap that decisions show, once features have told what they can."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ffml.wrappers._misses import Miss
from ffml.wrappers._people import People, gaps_met, rows_behind


class Trial(NamedTuple):
    """Decisions about people of a revealed task, as they would have been made before."""

    rows: np.ndarray  # (n,) who they are among all people of the task
    positive: np.ndarray  # (n,) what is decided, 0 or 1
    people: People  # who they turned out to be, by what each of them counts
    expectation: People  # who they were expected to be, by the same


def miss_of(trials: Sequence[Trial], size: int) -> Miss:
    """Average trials on a task of this size. People who are in several of them are one chance."""
    behind = np.array([rows_behind(trial.people) for trial in trials])
    share = behind / np.maximum(behind.sum(0), 1e-30)
    off, parts = np.zeros(share.shape[1]), np.zeros((size, share.shape[1]))
    for trial, counts in zip(trials, share, strict=True):
        _, positive, people, expectation = trial
        off += counts * (gaps_met(positive, people) - gaps_met(positive, expectation))
        parts[trial.rows] += counts * parts_by_chance(positive, people, expectation)
    return Miss(off, variance_of_sum(parts), behind.mean(0))


def parts_by_chance(positive: np.ndarray, people: People, expectation: People) -> np.ndarray:
    """Return what each person adds to a miss by being of another group than expected ``(n, m)``.

    Given features and decisions, the gap ``r₁ - r₀`` that is met differs from the expected one by
    who turns out to be a member (a = 1 where ā was expected, b and b̄ of the others). To first
    order each person adds ``(a - ā)(h - r₁)/n₁ - (b - b̄)(h - r₀)/n₀`` with h the decision and r the
    expected rates: those met by a few people may well be 0 or 1, as if there were no chance in it.

    Args:
        positive: decisions, 0 or 1.
        people: who they are, by what each of them counts.
        expectation: who they were expected to be, by the same.
    """
    both = (people.inside.sum(0) > 0) & (people.outside.sum(0) > 0)

    def part(met: np.ndarray, hoped: np.ndarray) -> np.ndarray:
        total = hoped.sum(0)
        rate = (
            positive
            @ np.where(total > 0, hoped, 1.0)
            / np.where(total > 0, total, max(len(hoped), 1))
        )
        return (met - hoped) * (positive[:, None] - rate) / np.where(both, met.sum(0), 1.0)

    members = part(people.inside, expectation.inside)
    return both * (members - part(people.outside, expectation.outside))


def variance_of_sum(parts: np.ndarray) -> np.ndarray:
    """Return the variance of the sum of independent parts ``(n, m)``, as these show it: ``(m,)``.

    >>> variance_of_sum(np.array([[1.0], [3.0]])).tolist()
    [4.0]
    """
    n = len(parts)
    return parts.var(0, ddof=1) * n if n > 1 else np.zeros(parts.shape[1])
