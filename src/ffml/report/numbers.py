"""How numbers are written. What is undefined stays visibly so."""

import math

UNDEFINED = "—"


def number(value: float, digits: int = 3) -> str:
    """Write a number of any size.

    >>> number(0.12345), number(-2.0, 1), number(float("nan")), number(0.0000123), number(12345.6)
    ('0.123', '−2.0', '—', '1.2e−05', '12,346')
    """
    if not math.isfinite(value):
        return UNDEFINED
    size = abs(value)
    if size >= 1000:
        text = f"{value:,.0f}" if size < 1e7 else f"{value:.2e}"
    else:
        text = f"{value:.{digits}f}" if size == 0 or size >= 10**-digits else f"{value:.1e}"
    return text.replace("-", "−")


def rate(value: float) -> str:
    """Write a share or a ratio, always with three decimals.

    >>> rate(0.00098), rate(float("nan"))
    ('0.001', '—')
    """
    return f"{value:.3f}" if math.isfinite(value) else UNDEFINED


def whole(value: float) -> str:
    """Write a count.

    >>> whole(1234.0), whole(float("nan"))
    ('1,234', '—')
    """
    return f"{value:,.0f}" if math.isfinite(value) else UNDEFINED


def percent(value: float) -> str:
    """Write a share.

    >>> percent(0.9712)
    '97 %'
    """
    return f"{100 * value:.0f} %" if math.isfinite(value) else UNDEFINED


def interval(low: float, high: float, joint: str = " to ") -> str:
    """Write an interval, or nothing where there is none.

    >>> interval(0.5, 0.75), interval(float("nan"), 1.0)
    ('0.500 to 0.750', '')
    """
    return f"{rate(low)}{joint}{rate(high)}" if math.isfinite(low + high) else ""


def points(value: float) -> str:
    """Write a difference of rates in percentage points.

    >>> points(-0.0712), points(float("nan"))
    ('−7.1', '—')
    """
    return f"{100 * value:.1f}".replace("-", "−") if math.isfinite(value) else UNDEFINED


def points_interval(low: float, high: float) -> str:
    """Write its interval, or nothing where there is none.

    >>> points_interval(-0.01, 0.05)
    '−1.0 to 5.0'
    """
    return f"{points(low)} to {points(high)}" if math.isfinite(low + high) else ""


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
