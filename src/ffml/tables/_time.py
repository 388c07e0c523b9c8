"""Time as people write it: a date, month, week, quarter or year, and the period it falls into."""

import datetime
import re
from functools import lru_cache
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from ffml.base import FFMLError
from ffml.tables._values import role_texts

UNITS = ("day", "week", "month", "quarter", "year")
# Which periods a value can be counted into: a week may lie in two months.
_WITHIN = {
    "day": UNITS,
    "week": ("week", "year"),
    "month": ("month", "quarter", "year"),
    "quarter": ("quarter", "year"),
    "year": ("year",),
}
_MONTHS = (
    *("january", "february", "march", "april", "may", "june", "july"),
    *("august", "september", "october", "november", "december"),
)
# y year, m month, d day, n name of a month, w week, q quarter. Dots have the day first everywhere.
_PATTERNS = (
    r"(?P<y>\d{4})(?P<s>[-/.])(?P<m>\d{1,2})(?P=s)(?P<d>\d{1,2})",
    r"(?P<y>\d{4})(?P<m>\d{2})(?P<d>\d{2})",
    r"(?P<d>\d{1,2})\. ?(?P<m>\d{1,2})\. ?(?P<y>\d{4})",
    r"(?P<d>\d{1,2})\.?[ -](?P<n>[a-z]{3,})\.?,?[ -](?P<y>\d{4})",
    r"(?P<n>[a-z]{3,})\.? (?P<d>\d{1,2})(?:st|nd|rd|th)?,? (?P<y>\d{4})",
    r"(?P<y>\d{4})[-/.m](?P<m>\d{1,2})",
    r"(?P<m>\d{1,2})[-/.](?P<y>\d{4})",
    r"(?P<y>\d{4})(?P<m>\d{2})",
    r"(?P<n>[a-z]{3,})\.?[ -](?P<y>\d{4})",
    r"(?P<y>\d{4})[ -](?P<n>[a-z]{3,})\.?",
    r"(?P<y>\d{4})[ -]?w(?P<w>\d{1,2})",
    r"(?P<y>\d{4})[ -]?q(?P<q>[1-4])",
    r"q(?P<q>[1-4])[ /-]?(?P<y>\d{4})",
    r"(?P<y>\d{4})",
)
# Day or month first: this alone cannot be told from one value.
UNCLEAR = re.compile(r"(\d{1,2})([/-])(\d{1,2})\2\d{4}")
# A time of day and a time zone after a date, for RE2. The date counts as it is written.
TIME_OF_DAY = (
    r"(?i)(?:t|,? +)\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d+)?)? ?(?:[ap]\.?m\.?)? ?"
    r"(?:z|utc|gmt|[+-]\d{2}(?::?\d{2})?)?$"
)
_TOKENS = {
    "YYYY": r"(?P<y>\d{4})",
    "YY": r"(?P<yy>\d{2})",
    "MMM": r"(?P<n>[a-z]{3,})",
    "MM": r"(?P<m>\d{1,2})",
    "DD": r"(?P<d>\d{1,2})",
}


class Moment(NamedTuple):
    """A time as exactly as it was written."""

    unit: str  # one of `UNITS`
    date: datetime.date  # its first day; of a week the Thursday, which lies in the week's year


@lru_cache(maxsize=1 << 16)
def parse_time(text: str, date_format: str | None = None) -> Moment | None:
    """Read a time; None if it is none, or if day and month cannot be told apart.

    >>> parse_time("31.12.2024").date.isoformat(), parse_time("2024-W07").unit
    ('2024-12-31', 'week')
    >>> parse_time("01/02/2024"), parse_time("01/02/2024", "DD/MM/YYYY").date.isoformat()
    (None, '2024-02-01')
    """
    patterns = _PATTERNS if date_format is None else (_format_pattern(date_format),)
    for pattern in patterns:
        match = re.fullmatch(pattern, text.strip(), re.IGNORECASE)
        if match and (moment := _moment({k: v for k, v in match.groupdict().items() if v})):
            return moment
    return None


def check_format(date_format: str) -> None:
    """Refuse a format that does not say where day, month and year are."""
    if not re.search("YY", date_format) or not re.search("MM", date_format):
        raise FFMLError(
            f"data.date_format is put together from DD, MM (or MMM for Jan) and YYYY, such as "
            f"DD/MM/YYYY, got '{date_format}'"
        )


def time_texts(values: Any, name: str) -> Any:
    """Return a column of times as texts, without the time of day; typed times as ISO dates."""
    kind = values.type
    if pa.types.is_time(kind) or pa.types.is_duration(kind):
        raise FFMLError(f"time column {name!r} holds {kind}, which has no date; choose another")
    if pa.types.is_timestamp(kind):
        values = (pc.local_timestamp(values) if kind.tz else values).cast(pa.date32(), safe=False)
    elif pa.types.is_date(kind):
        values = values.cast(pa.date32(), safe=False)
    trimmed = pc.utf8_trim_whitespace(role_texts(values, name, "time"))
    return pc.replace_substring_regex(trimmed, TIME_OF_DAY, "")


def periods(values: Any, name: str, by: str | None, date_format: str | None = None) -> Any:
    """Return the period of each row, such as 2024-01; first days as 2024-01-31 if ``by`` is None.

    >>> import pyarrow as pa
    >>> periods(pa.array(["31.12.2024 23:59", None]), "when", "week").to_pylist()
    ['2025-W01', None]
    """
    encoded = time_texts(values, name).dictionary_encode()
    named = [period(text, name, by, date_format) for text in encoded.dictionary.to_pylist()]
    return pa.array(named, pa.string()).take(encoded.indices)


def period(text: str, column: str, by: str | None, date_format: str | None = None) -> str:
    """Return the period that a time falls into, by its ISO name."""
    moment = read_time(text, column, date_format)
    if by is None:
        return moment.date.isoformat()
    if by not in _WITHIN[moment.unit]:
        raise FFMLError(
            f"time column {column!r} holds {text!r}, a {moment.unit}, which is in no single {by}; "
            f"give --by {' or '.join(_WITHIN[moment.unit])}"
        )
    return period_name(moment.date, by)


def read_time(text: str, column: str, date_format: str | None) -> Moment:
    """Read a time of a column, or refuse it."""
    if moment := parse_time(text, date_format):
        return moment
    if date_format is not None:
        raise FFMLError(
            f"time column {column!r} holds {text!r}, which is not written as {date_format}; "
            "correct it, or write all as 2024-12-31"
        )
    raise FFMLError(
        f"time column {column!r} holds {text!r}, which is no date that can be read; write dates as "
        "2024-12-31, or say how they are written: --set data.date_format=DD.MM.YYYY"
    )


def both_orders(separator: str) -> tuple[str, str]:
    """Return the two formats that a date such as 01/02/2024 can have."""
    return f"DD{separator}MM{separator}YYYY", f"MM{separator}DD{separator}YYYY"


def period_name(date: datetime.date, by: str) -> str:
    """Name the period that a day falls into as ISO does."""
    if by == "week":
        year, week, _ = date.isocalendar()
        return f"{year}-W{week:02}"
    return {
        "day": date.isoformat(),
        "month": f"{date.year:04}-{date.month:02}",
        "quarter": f"{date.year:04}-Q{(date.month + 2) // 3}",
        "year": f"{date.year:04}",
    }[by]


def next_period(date: datetime.date, by: str) -> datetime.date:
    """Return a day of the period after this day's.

    >>> next_period(datetime.date(2024, 12, 1), "month").isoformat()
    '2025-01-01'
    """
    if by in ("day", "week"):
        return date + datetime.timedelta(days=1 if by == "day" else 7)
    months = 12 * date.year + date.month - 1 + {"month": 1, "quarter": 3, "year": 12}[by]
    return datetime.date(months // 12, months % 12 + 1, 1)


@lru_cache
def _format_pattern(date_format: str) -> str:
    parts = re.split("(YYYY|YY|MMM|MM|DD)", date_format)
    return "".join(_TOKENS.get(part, re.escape(part)) for part in parts)


def _moment(parts: dict[str, str]) -> Moment | None:
    """Put a time together; None if the calendar has no such day."""
    year = int(parts.get("y") or parts["yy"])
    if "yy" in parts:  # as spreadsheets do: 69 is 2069, 70 is 1970
        year += 2000 if year < 70 else 1900
    if not 1000 <= year < 3000:
        return None
    try:
        if "w" in parts:
            return Moment("week", datetime.date.fromisocalendar(year, int(parts["w"]), 4))
        if "q" in parts:
            return Moment("quarter", datetime.date(year, 3 * int(parts["q"]) - 2, 1))
        month = int(parts["m"]) if "m" in parts else _named_month(parts.get("n"))
        if month is None:
            return Moment("year", datetime.date(year, 1, 1)) if "n" not in parts else None
        unit = "day" if "d" in parts else "month"
        return Moment(unit, datetime.date(year, month, int(parts.get("d", 1))))
    except ValueError:
        return None


def _named_month(name: str | None) -> int | None:
    months = (i for i, month in enumerate(_MONTHS, 1) if name and month.startswith(name.lower()))
    return next(months, None)
