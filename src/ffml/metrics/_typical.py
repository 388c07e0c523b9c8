"""How far apart two groups typically are within a task, whichever is ahead, chance taken out.

Signed gaps of opposite tasks cancel, and so do the rates of all people pooled; squares do not. A
square of few people is mostly chance, so the ends are far from the value in tasks of a few.
"""

from typing import NamedTuple

import numpy as np

from ffml.metrics._gaps import RoundGaps, typical_weights
from ffml.metrics._intervals import NOTHING, Spread, spread, square_bounds


class Typical(NamedTuple):
    """The root of the mean squared gap, chance taken out."""

    square: float
    chance: float  # what chance adds to the square
    signed: float  # the mean of the gaps themselves
    spread: Spread
    level: float  # the mean of both groups' rates, in the same tasks
    weight: float = 0.0  # of all tasks that it rests on

    @property
    def value(self) -> float:
        """The gap; 0 where squares show less than chance."""
        return float(np.sqrt(np.maximum(self.square, 0)))

    def ends(self, tail: float, to_come: bool = True) -> tuple[float, float]:
        """Return an interval, NaN where too few tasks can tell; always of tasks to come."""
        ends = square_bounds(self.square, self.chance, self.signed, self.spread, tail)
        low, high = np.sqrt(np.maximum(ends, 0)).tolist()
        return low, high


class WithinRatio(NamedTuple):
    """The lower rate over the higher that the typical gap and the mean rate make, within tasks."""

    gap: Typical

    @property
    def value(self) -> float:
        """The ratio; NaN where nobody is decided positively."""
        return self._of(self.gap.value)

    def ends(self, tail: float, to_come: bool = True) -> tuple[float, float]:
        """Return an interval; see `Typical.ends`."""
        low, high = self.gap.ends(tail, to_come)
        return self._of(high), self._of(low)

    def _of(self, gap: float) -> float:
        both = 2 * self.gap.level
        return float(np.maximum((both - gap) / (both + gap), 0)) if both > 0 else np.nan


def typical(gaps: RoundGaps, level: np.ndarray) -> Typical:
    """Return the weighted mean of the squares.

    Args:
        gaps: of the rounds, ``(T,)`` each.
        level: ``(T,)`` the mean of both groups' rates.
    """
    known = np.isfinite(gaps.square)
    if not known.any():
        return Typical(np.nan, np.nan, np.nan, NOTHING.spread, np.nan)
    gap, square, weight = (
        part[known] for part in (gaps.gap, gaps.square, typical_weights(gaps.rows))
    )
    share, chance = weight / weight.sum(), gap**2 - square
    signed = float(share @ gap)
    return Typical(
        square=float(share @ square),
        chance=float(share @ chance),
        signed=signed,
        spread=spread(share * (gap - signed), share, float(share**2 @ chance)),
        level=float(share @ level[known]),
        weight=float(weight.sum()),
    )
