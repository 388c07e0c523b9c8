"""How numbers and lists are written in reports. What is undefined stays visibly so."""

import math

from ffml.metrics.phrases import UNDEFINED, in_points, rate


def number(value: float, digits: int = 3) -> str:
    """Write a number of any size.

    >>> number(0.12345), number(-2.0, 1), number(float("nan")), number(0.0000123), number(12345.6)
    ('0.123', '−2.0', '–', '1.2e−05', '12,346')
    """
    if not math.isfinite(value):
        return UNDEFINED
    size = abs(value)
    if size >= 1000:
        text = f"{value:,.0f}" if size < 1e7 else f"{value:.2e}"
    else:
        text = f"{value:.{digits}f}" if size == 0 or size >= 10**-digits else f"{value:.1e}"
    return text.replace("-", "−")


def interval(low: float, high: float) -> str:
    """Write an interval of shares, or nothing where there is none.

    >>> interval(0.5, 0.75), interval(float("nan"), 1.0)
    ('0.500 to 0.750', '')
    """
    return f"{rate(low)} to {rate(high)}" if math.isfinite(low + high) else ""


def points_interval(low: float | None, high: float | None) -> str:
    """Write the interval of a gap, or nothing where there is none.

    >>> points_interval(-0.01, 0.05), points_interval(None, None)
    ('−1.0 to 5.0', '')
    """
    ends = in_points(low), in_points(high)
    return "" if UNDEFINED in ends else " to ".join(ends)


def counted(count: int, noun: str) -> str:
    """Write a count with its noun.

    >>> counted(1, "round"), counted(3, "round")
    ('1 round', '3 rounds')
    """
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def listed(items: list[str]) -> str:
    """Join with commas and a last "and".

    >>> listed(["a", "b", "c"])
    'a, b and c'
    """
    return " and ".join([", ".join(items[:-1]), items[-1]] if len(items) > 1 else items)
