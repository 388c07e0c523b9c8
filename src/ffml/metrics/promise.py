"""Was the gap kept that was asked for? One rule, wherever the question is answered.

For every comparison of groups there are two gaps: the long-run gap and the typical gap
(`ffml.metrics.gap_statistics`). With the 95 % interval of each:

- **kept**: both intervals lie within what was asked, of every comparison;
- **not kept**: an interval lies wholly beyond it;
- **cannot be told yet**: all else, and whatever rests on fewer than `MIN_ROUNDS` rounds.

Where a ratio was asked for, the interval of the pooled ratio decides in the same way
(`ffml.metrics.ratio_statistics`).
"""

import math
from collections.abc import Iterable

KEPT, NOT_KEPT, UNCLEAR = "kept", "not kept", "cannot be told yet"
VERDICTS = (NOT_KEPT, UNCLEAR, KEPT)  # the first that was given counts

# Half of the tasks may have a gap, and three or four of them still show none: at least five.
MIN_ROUNDS = 5


def verdict_at_most(most: float, low: float, high: float, rounds: int = MIN_ROUNDS) -> str:
    """Compare the interval of a gap, of either sign, with the largest gap that was asked for.

    >>> verdict_at_most(0.05, -0.02, 0.04), verdict_at_most(0.05, -0.09, -0.06)
    ('kept', 'not kept')
    >>> verdict_at_most(0.05, 0.01, 0.07), verdict_at_most(0.05, 0.06, 0.07, rounds=4)
    ('cannot be told yet', 'cannot be told yet')
    """
    if rounds < MIN_ROUNDS or not math.isfinite(low + high):
        return UNCLEAR
    if max(low, -high) > most:
        return NOT_KEPT
    return KEPT if max(-low, high) <= most else UNCLEAR


def verdict_at_least(least: float, low: float, high: float, rounds: int = MIN_ROUNDS) -> str:
    """Compare the interval of a ratio with the smallest that was asked for.

    >>> verdict_at_least(0.8, 0.82, 0.9), verdict_at_least(0.8, 0.6, 0.7)
    ('kept', 'not kept')
    >>> verdict_at_least(0.8, 0.7, 0.9), verdict_at_least(0.8, 0.9, 1.0, rounds=4)
    ('cannot be told yet', 'cannot be told yet')
    """
    if rounds < MIN_ROUNDS or not math.isfinite(low + high):
        return UNCLEAR
    if high < least:
        return NOT_KEPT
    return KEPT if low >= least else UNCLEAR


def worst_verdict(verdicts: Iterable[str]) -> str:
    """Return the verdict that counts: not kept, else cannot be told yet, else kept."""
    return min(verdicts, key=VERDICTS.index)
