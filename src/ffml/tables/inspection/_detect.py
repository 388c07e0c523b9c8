"""How small a gap between groups a sample of a given size can show."""

import math

Z_CONFIDENCE = 1.959964  # two-sided test at 95 %
Z_POWER = 0.841621  # 80 % of the samples show it


def detectable_gap(rate: float, rows_in: float, rows_out: float) -> float | None:
    """Return the smallest difference of two proportions that such samples show, or None.

    (z₀.₉₇₅ + z₀.₈₀) · √(p(1 − p)(1/n₁ + 1/n₀)): a test at the 95 % level then finds the gap in
    80 % of the cases. None where there is nothing to compare or even a gap of 1 is too small.

    Args:
        rate: the proportion p of both groups together.
        rows_in: rows of the group.
        rows_out: rows that it is compared with.

    >>> round(detectable_gap(0.5, 100, 100), 3)
    0.198
    """
    if not (0 < rate < 1 and rows_in > 0 and rows_out > 0):
        return None
    error = math.sqrt(rate * (1 - rate) * (1 / rows_in + 1 / rows_out))
    gap = (Z_CONFIDENCE + Z_POWER) * error
    return gap if gap <= 1 else None
