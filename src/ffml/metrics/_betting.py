"""An alarm that a gap is larger than asked, valid however often one looks.

Every round, bettors stake a part of their wealth on the group's decision rate being more than
``max_gap`` above that of the others (or below it). While no round's gap is larger than
``max_gap``, nobody's wealth is expected to grow, whatever the rates, and the chance that it ever
reaches ``1/alpha`` is at most ``alpha`` (Ville's inequality). So one may look after every round
and stop at any time.

The update of a bettor with stake ``λ`` who bets on the first of two sides, with ``n₁`` and ``n₀``
rows in the round, ``m = min(n₁, n₀)`` and decisions ``d`` of 0 or 1::

    wealth ← wealth · Π over rows of side 1: 1 + λ m/n₁ (d - r₁)
                    · Π over rows of side 0: 1 - λ m/n₀ (d - r₀),     r₁ - r₀ = max_gap

Why nobody gains in expectation: rows are independent given the rounds before and the sizes, and
``1 + u ≤ exp u``, so a round multiplies wealth by at most ``exp(λ m (gap - max_gap))`` on average,
with the gap between the mean rates of the round's rows. That holds at any sizes, also where the
rows of a side have different rates, and where rates change from round to round. The centre of
``r₁`` and ``r₀`` comes from earlier rounds only.

Bettors differ in their stake ``λ``, in the sign of the gap that they bet on, and in the round in
which they begin: of the money of each stake and sign, ``1/(t(t+1))`` enters with round t, and the
rest waits. So a gap that begins late is found too, by those who have not lost before. The wealth is
the sum of all. It is that of one bettor whose stake is the mean stake of all, weighted by wealth.

Reference: Chugg, Cortes-Gomez, Wilder and Ramdas, "Auditing fairness by betting", NeurIPS 2023.
Differs from the paper: it bets on pairs of rows, or of batch means, ``1 + λ (d₁ - d₀ - max_gap)``.
Here every row is used at any two sizes, without drawing pairs. It adapts one stake by online
Newton steps. Here those gain weight who win, which also serves gaps that begin late.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ffml.base import FFMLError, Ratio
from ffml.metrics._gaps import comparisons, side_counts

# Each finds gaps beyond the asked one of about a quarter to a half of its stake soonest.
STAKES = 0.96 / 2.0 ** np.arange(10)


class GapAlarm(NamedTuple):
    """What the bettors on one comparison have gained."""

    comparison: str  # "M against F", and the label where rows of one label are compared
    round: int | None  # in which round (from 0) the alarm came first, if it did
    higher: bool  # whether the rate of the group named first is the higher one
    log_wealth: np.ndarray  # (T,) after each round
    log_needed: float  # the alarm comes when log_wealth reaches this

    @property
    def log_largest(self) -> float:
        """The largest log wealth so far: what has been shown stays shown."""
        return float(np.max(self.log_wealth, initial=0.0))


def gap_alarms(
    tables: np.ndarray,
    bound: float | Ratio,
    group_names: Sequence[str] | None = None,
    notion: str = "demographic-parity",
    alpha: float = 0.05,
    count: int | None = None,
) -> list[GapAlarm]:
    """Tell of any two groups whether their gap was above the bound in some round.

    Args:
        tables: ``(T, k, labels, 2)`` counts of T rounds, in the order in which they came.
        bound: largest gap that is allowed, on either side (0.05: five percentage points), or the
            least ratio of the lower rate to the higher (``Ratio(0.8)``).
        group_names: of the k groups.
        notion: one of `NOTIONS`: demographic-parity, equal-opportunity or equalized-odds.
        alpha: largest chance of a false alarm, in all rounds and comparisons together.
        count: how many comparisons share ``alpha``; None: those of this call.

    >>> tables = np.tile([[[60, 40], [0, 0]], [[40, 60], [0, 0]]], (12, 1, 1, 1))
    >>> (alarm,) = gap_alarms(tables, 0.05, group_names=["F", "M"])
    >>> alarm.comparison, alarm.round, alarm.higher
    ('M against F', 2, True)
    >>> (alarm,) = gap_alarms(tables, 0.25)
    >>> alarm.round is None
    True
    """
    limit = bound.least if isinstance(bound, Ratio) else bound
    if not 0 <= limit <= 1:
        raise FFMLError(f"the bound must be between 0 and 1, got {limit}: 0.05 is five points")
    if not 0 < alpha < 1:
        raise FFMLError(f"alpha must lie between 0 and 1, got {alpha}: use 0.05 for 5 %")
    scale, most = (bound.least, 0.0) if isinstance(bound, Ratio) else (1.0, bound)
    compared = comparisons(tables.shape[1], group_names, notion)
    needed = float(np.log((count or len(compared)) / alpha)) if compared else np.inf
    alarms = []
    for name, label, place in compared:
        selected, sizes = (part[:, :, place] for part in side_counts(tables, label))
        above, below = log_wealths(selected, sizes, most, scale)
        wealth = np.logaddexp(above, below) - np.log(2)
        reached = np.flatnonzero(wealth >= needed)
        when = int(reached[0]) if len(reached) else None
        last = -1 if when is None else when
        higher = bool(above[last] >= below[last]) if len(wealth) else False
        alarms.append(GapAlarm(name, when, higher, wealth, needed))
    return alarms


def log_wealths(
    selected: np.ndarray, sizes: np.ndarray, max_gap: float, scale: float = 1.0
) -> np.ndarray:
    """Return the log wealth after each round of those who bet on side 0 and on side 1, ``(2, T)``.

    Args:
        selected: ``(2, T)`` positive decisions of the two sides.
        sizes: ``(2, T)`` their rows; a round that lacks a side moves nothing.
        max_gap: what ``scale`` times the rate of the side bet on has to exceed the other's by.
        scale: 1 for gaps. For a ratio of at least s it is s, with a gap of 0.
    """
    factors = np.stack(
        [_bets(selected[order], sizes[order], max_gap, scale) for order in ([0, 1], [1, 0])]
    )  # (2, stakes, T)
    growth = np.cumsum(factors, axis=-1)
    number = np.arange(1, factors.shape[-1] + 1)
    entering = -np.log(number * (number + 1.0))
    playing = growth + np.logaddexp.accumulate(entering - (growth - factors), axis=-1)
    waiting = -np.log(number + 1.0)
    return np.logaddexp.reduce(np.logaddexp(playing, waiting), axis=1) - np.log(len(STAKES))


def round_centers(selected: np.ndarray, sizes: np.ndarray, max_gap: float) -> np.ndarray:
    """Return the rate around which each round bets: the mean of both sides' rates before it."""
    before = [np.cumsum(part, axis=1) - part for part in (selected, sizes)]
    rates = (before[0] + 0.5) / (before[1] + 1)
    return np.clip(rates.mean(0), max_gap / 2, 1 - max_gap / 2)


def _bets(selected: np.ndarray, sizes: np.ndarray, max_gap: float, scale: float) -> np.ndarray:
    worth = selected * np.array([[scale], [1.0]])
    return log_factors(selected, sizes, round_centers(worth, sizes, max_gap), max_gap, scale)


def log_factors(
    selected: np.ndarray,
    sizes: np.ndarray,
    centers: np.ndarray,
    max_gap: float,
    scale: float = 1.0,
) -> np.ndarray:
    """Return the log of what each round multiplies the wealths by, ``(stakes, T)``."""
    fewer = sizes.min(0)
    total = np.zeros((len(STAKES), sizes.shape[1]))
    for sign, worth, chosen, size in zip((1, -1), (scale, 1.0), selected, sizes, strict=True):
        stakes = sign * STAKES[:, None] * fewer / np.maximum(size, 1)
        rate = centers + sign * max_gap / 2
        total += chosen * np.log1p(stakes * (worth - rate))
        total += (size - chosen) * np.log1p(-stakes * rate)
    return total
