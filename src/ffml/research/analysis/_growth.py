"""How fast a curve grows."""

import numpy as np

from ffml.base import FFMLError


def growth_rate(
    values: np.ndarray, rounds: np.ndarray | None = None, *, start: float = 0.5
) -> float:
    """Return the exponent p of the power T^p that fits a curve best.

    A bound on growth speaks of how high a curve gets, so the fit is made to its running maximum
    (what it loses again does not count): the slope of the least-squares line through log(maximum)
    against log(round), over the rounds from ``start · T`` on where the maximum is positive. Below
    1 means that the curve divided by T vanishes; log T has an exponent of about 1/log T.

    A curve that never gets above 0 (regret can be negative) is below every bound, and its
    exponent is ``-inf``. One that is positive at one round only has none: ``nan``.

    Args:
        values: the curve.
        rounds: where it was taken, ascending; 1 … T if not given.
        start: the first part of the rounds that is left out.

    >>> round(growth_rate(3 * np.arange(1, 101) ** 0.5), 3)
    0.5
    >>> growth_rate(-np.arange(10.0))
    -inf
    """
    values, rounds = _checked(values, rounds)
    if not 0 <= start < 1:
        raise FFMLError(f"start must be at least 0 and below 1, got {start}")
    highest = np.maximum.accumulate(values)
    if highest[-1] <= 0:
        return -np.inf
    used = (rounds >= start * rounds[-1]) & (highest > 0)
    if used.sum() < 2:
        return np.nan
    heights, logs = highest[used], np.log(rounds[used])
    logs = logs - logs.mean()
    return float(logs @ np.log(heights / heights[0]) / (logs @ logs))


def _checked(values: np.ndarray, rounds: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """Refuse what no curve can be fitted to."""
    values = np.asarray(values, float)
    if values.ndim != 1 or len(values) < 2 or not np.isfinite(values).all():
        raise FFMLError("a curve is two or more finite numbers, one a round")
    rounds = np.arange(1, len(values) + 1) if rounds is None else np.asarray(rounds)
    if rounds.shape != values.shape or rounds[0] < 1 or (np.diff(rounds) <= 0).any():
        raise FFMLError("rounds must be one ascending number from 1 on for each value")
    return values, rounds
