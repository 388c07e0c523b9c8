"""Intervals of means over tasks: with few tasks, many small ones, and neighbours that are alike.

A mean over tasks has two sources of error. People of a task are few: that is *chance*, and known.
It is all that matters if more people came to the tasks that were. Tasks differ, and those to come
will too: that shows between tasks, if there are enough of them. An interval about tasks to come
takes the larger of the two errors, with Student's t for the second.

Neighbours that are alike are worth fewer tasks, by a factor of ``1 + 2 Σ r_k`` with r_k the
correlation of gaps k tasks apart. It is taken in two ways, and the larger one counts:

- from neighbours alone, ``1 + 2r/(1 - ρ)``, ρ being r without chance, which hides it (at most twice
  r). On few tasks r comes out too small, by about ``(1 + 3r)/tasks``; twice that is added;
- from sums over distances of up to ``3 √tasks`` (a quarter of few tasks), the mean's own error
  taken out: for tasks that are alike over a long time, though chance hides it from neighbours. A
  sum has to show beyond its own error, the more so the more of them there are.

Where chance makes much of the spread, few tasks can hardly tell that they are alike, and Student's
t goes by as many times fewer tasks again. ``benchmarks/verdicts.py`` shows how often all of it
holds.
"""

from typing import NamedTuple

import numpy as np

TAIL = 0.025  # on either side of a 95 % interval
MIN_TASKS = 5  # as many independent tasks as an interval needs
_MIN_TOLD = 2.5  # and as many by which Student's t goes
_LARGEST_CORRELATION = 0.98
_SEEN = 0.3  # standard errors, times log(sums), from which on a sum of correlations counts
_MUCH = 0.1  # part of the spread that is chance, from which on it hides whether tasks are alike


class Spread(NamedTuple):
    """How far a mean over tasks may be off because tasks differ."""

    error: float  # standard error
    tasks: float  # as many independent tasks of equal weight as it rests on
    freedom: float = 0.0  # degrees of freedom by which it is known

    @property
    def enough(self) -> bool:
        """Whether there are enough tasks for an interval."""
        return self.freedom > 0


class Estimate(NamedTuple):
    """A mean over tasks, and how far it may be off."""

    value: float
    chance: float  # standard error that so few people make
    spread: Spread

    def ends(self, tail: float, to_come: bool = True) -> tuple[float, float]:
        """Return an interval with this chance that the truth lies beyond one of the two ends.

        Args:
            tail: that chance.
            to_come: of tasks to come, NaN where too few tasks can tell; False: of more people of
                the tasks that were.
        """
        from scipy import special  # here, so that listings start soon

        reach = -float(special.ndtri(tail)) * self.chance
        if to_come and not self.spread.enough:
            reach = np.nan
        elif to_come:
            reach = max(
                reach, -float(special.stdtrit(self.spread.freedom, tail)) * self.spread.error
            )
        return self.value - reach, self.value + reach


NOTHING = Estimate(np.nan, np.nan, Spread(np.nan, 0.0))


def estimate(value: float, influence: np.ndarray, share: np.ndarray, variance: float) -> Estimate:
    """Return a mean with its errors; see `spread`."""
    return Estimate(value, float(np.sqrt(variance)), spread(influence, share, variance))


def spread(influence: np.ndarray, share: np.ndarray, chance: float = 0.0) -> Spread:
    """Estimate the error of a mean from what each task contributes to it.

    Args:
        influence: ``(T,)`` what a task moves the mean by; they add up to 0.
        share: ``(T,)`` its weight in the mean; they add up to 1.
        chance: variance of the mean that so few people make.

    >>> gaps = np.array([0.1, -0.1] * 20)
    >>> found = spread(gaps / 40, np.full(40, 1 / 40))
    >>> round(found.error, 3), round(found.tasks)
    (0.016, 40)
    """
    present = share > 0
    influence, share = influence[present], share[present]
    largest = float((share**2).sum())
    if largest >= 1 or not len(share):  # one task, or none
        return Spread(np.nan, float(len(share)))
    tasks, total = 1 / largest, float((influence**2).sum())
    alike = _likeness(influence, tasks, total, chance) if total > 0 else 1.0
    hidden, independent = chance > _MUCH * total, tasks / alike
    told, least = (independent / alike, _MIN_TOLD) if hidden else (independent, MIN_TASKS - 1e-6)
    if told < least or tasks < MIN_TASKS - 1e-6:
        return Spread(np.nan, independent)
    variance = float((influence**2 / (1 - share)).sum()) * alike
    error = float(np.sqrt(variance * (1 - 1 / tasks) / (1 - 1 / independent)))
    return Spread(error, independent, told - 1)


def _likeness(influence: np.ndarray, tasks: float, total: float, chance: float) -> float:
    """Return by how many times tasks are worth fewer because they resemble those before."""
    reach = max(int(min(tasks / 4, 3 * np.sqrt(tasks))), 1)
    waves = np.fft.rfft(influence, 2 * len(influence))
    sums = np.cumsum(np.fft.irfft(np.abs(waves) ** 2)[1 : reach + 1]) / total
    r = max(sums[0] + 2 * (1 + 3 * max(sums[0], 0.0)) / tasks, 0.0)
    without_chance = r * total / max(total - chance, total / 2)
    near = 1 + 2 * r / (1 - min(without_chance, _LARGEST_CORRELATION))
    apart = np.arange(1, len(sums) + 1)
    far = (1 + 2 * sums) / np.maximum(1 - 2 * (apart - sums) / tasks, 0.05)
    seen = sums + apart / tasks > _SEEN * np.log(reach) * np.sqrt(apart / tasks)
    return float(max(near, far.max(where=seen, initial=1.0)))


def square_bounds(
    mean: float, chance: float, signed: float, tasks: Spread, tail: float
) -> tuple[float, float]:
    """Return between which ends a mean squared gap lies, chance taken out.

    The mean of the raw squares, ``mean + chance``, spreads as χ² with as many degrees of freedom as
    there are independent tasks, or less where gaps have one sign. There the upper end is nearer:
    the square of the mean gap's own end, plus the most that gaps may vary around it. Squares that
    show less than chance do not show that there is no gap: prices may have been found on the very
    people judged.

    Args:
        mean: of the squares, without chance.
        chance: what it adds to them.
        signed: the mean of the gaps themselves.
        tasks: how far that may be off.
        tail: chance that the truth lies beyond one of the ends.
    """
    from scipy import special

    if not tasks.enough:
        return np.nan, np.nan
    count, raw = tasks.tasks, mean + chance
    low = raw * count / special.chdtri(count, tail) - chance
    high = max(raw, chance) * count / special.chdtri(count, 1 - tail) - chance
    varies = max((raw - signed**2) * count / (count - 1), chance)
    varies = varies * (count - 1) / special.chdtri(count - 1, 1 - tail) - chance
    end = abs(signed) - special.stdtrit(tasks.freedom, tail) * tasks.error
    return float(min(low, mean)), float(min(high, end**2 + max(varies, 0.0)))
