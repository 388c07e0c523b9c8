"""What only the first tasks of a stream may decide: later ones are the future.

A missing number becomes the column's median in the first task that has a number there. Of a column
with many texts, those met first along the stream have a feature of their own: each task hands out
features to the texts that are new in it, the most frequent first, until none is left.
"""

import math
from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

MEDIAN_ROWS = 65536  # the median is that of the first so many numbers of the task
MAX_CATEGORIES = 100  # texts of a column with a feature of their own
# Single precision keeps 24 bits. Where a column's numbers lie so many times their own spread away
# from 0, too few of these bits are left for what differs between people.
FAR = 2**10
LEAST_FAR = 2.0**16  # nearer to 0, whole numbers are exact anyway
ORDINARY = (2.0**-60, 2.0**60)  # spreads whose squares single precision can add


class Middle(NamedTuple):
    """Where a column's numbers lie: what a missing one becomes, and how they are moved."""

    median: float
    offset: float = 0.0
    scale: float = 1.0


def middle(tasks: Iterable[np.ndarray]) -> Middle:
    """Find the middle of the first task that has a number; missing ones are NaN.

    >>> middle([np.array([np.nan]), np.array([1.0, np.nan, 3.0]), np.array([9.0])])
    Middle(median=2.0, offset=0.0, scale=1.0)
    >>> middle([np.array([1.7e9 + 1, 1.7e9 + 3])])
    Middle(median=1700000002.0, offset=1700000002.0, scale=1.0)
    """
    for numbers in tasks:
        present = numbers[~np.isnan(numbers)][:MEDIAN_ROWS]
        if len(present):
            return _moved(present)
    raise AssertionError("a column of numbers has a number")


def _moved(numbers: np.ndarray) -> Middle:
    """Say by what to move and stretch numbers; ordinary ones stay as they are."""
    median = float(np.median(numbers))
    low, high = np.quantile(numbers, (0.05, 0.95))
    spread = float(high - low)
    far = abs(median) > max(LEAST_FAR, FAR * spread)
    size = spread or abs(median)
    # A power of two: only the exponent changes, no digit is lost.
    strange = size and not ORDINARY[0] <= size <= ORDINARY[1]
    scale = 2.0 ** -round(math.log2(size)) if strange else 1.0
    return Middle(median, median if far else 0.0, scale)


def first_categories(tasks: Iterable[Counter[str]], limit: int = MAX_CATEGORIES) -> tuple[str, ...]:
    """Choose the texts met first, in alphabetic order; reads no more tasks than it needs.

    >>> first_categories([Counter("a"), Counter("cbb"), Counter("dddd")], limit=3)
    ('a', 'b', 'c')
    """
    chosen: dict[str, None] = {}
    for counts in tasks:
        for text in sorted(counts, key=lambda text: (-counts[text], text)):
            if len(chosen) < limit:
                chosen.setdefault(text)
        if len(chosen) == limit:
            break
    return tuple(sorted(chosen))
