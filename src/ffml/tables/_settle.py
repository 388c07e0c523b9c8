"""How the times of a column are written: found from its first rows, asked where they do not say."""

import itertools
from typing import NamedTuple

from ffml.base import FFMLError
from ffml.tables._time import (
    UNCLEAR,
    UNITS,
    both_orders,
    check_format,
    parse_time,
    read_time,
    time_texts,
)
from ffml.tables.sources._source import Source


def check_time(task: str | None, time: str | None, by: str | None, date_format: str | None) -> None:
    """Refuse options of time that do not go together."""
    if by is not None and by not in UNITS:
        raise FFMLError(f"--by must be one of {', '.join(UNITS)}, got '{by}'")
    if time is None and (by or date_format):
        option = "--by" if by else "data.date_format"
        raise FFMLError(f"{option} is about a column of times; name it with --time COLUMN")
    if task is not None and by is not None:
        raise FFMLError(
            f"tasks come from --task {task} or from --by {by}, not from both; leave one out"
        )
    if date_format is not None:
        check_format(date_format)


def settle_time(
    source: Source, column: str, by: str | None, date_format: str | None, are_tasks: bool
) -> tuple[str | None, str | None]:
    """Find out which periods times are, if they are tasks and it was not said, and their format.

    Reads as few rows as tell whether the day or the month comes first: most often one batch.
    """
    times = _look(source, column, date_format)
    if len(times.formats) == 2:
        first, second = times.formats
        raise FFMLError(
            f"time column {column!r} holds {times.unclear!r}: is the day first, or the month? Say "
            f"it with --set data.date_format={first} or ={second}"
        )
    if times.unclear and not times.formats:
        shown = " and ".join(map(repr, dict.fromkeys(times.others.values())))
        raise FFMLError(
            f"time column {column!r} holds {shown}, which are not written in one way; write all "
            "dates as 2024-12-31"
        )
    written = date_format or next(iter(times.formats), None)
    if by is None and are_tasks and times.example is not None:
        by = _own_unit(column, times.example, written)
    return by, written


def open_formats(source: Source, column: str) -> tuple[str, ...]:
    """Return the formats that all dates of a column can have; none where nobody must be asked."""
    formats = _look(source, column, None).formats
    return formats if len(formats) > 1 else ()


class _Times(NamedTuple):
    """What the first values of a column of times tell."""

    example: str | None
    unclear: str | None  # a value that does not tell whether the day or the month is first
    others: dict[str, str]  # format -> a value that is not written so

    @property
    def formats(self) -> tuple[str, ...]:
        """The formats that all values seen can have."""
        match = UNCLEAR.fullmatch(self.unclear or "")
        return tuple(f for f in both_orders(match[2]) if f not in self.others) if match else ()


def _look(source: Source, column: str, date_format: str | None) -> _Times:
    """Read rows until they tell how times are written."""
    times = _Times(None, None, {})
    # A folder's column of files has rows only beside another one.
    for batch in source.batches(list(dict.fromkeys([column, source.columns[0]]))):
        texts = time_texts(batch.column(column), column).drop_null().unique().to_pylist()
        unclear = [text for text in texts if date_format is None and UNCLEAR.fullmatch(text)]
        example = times.example or next(iter(texts), None)
        times = times._replace(example=example, unclear=times.unclear or next(iter(unclear), None))
        for text, form in itertools.product(unclear, times.formats):
            if parse_time(text, form) is None:
                times.others.setdefault(form, text)
        if times.example and (times.unclear is None or times.others):
            break
    return times


def _own_unit(column: str, example: str, date_format: str | None) -> str:
    """Take the unit that the values have; days may be cut in many ways."""
    moment = read_time(example, column, date_format)
    if moment.unit == "day":
        raise FFMLError(
            f"time column {column!r} holds days such as {example!r}; say how long a task is: "
            f"--by {', '.join(UNITS[:-1])} or {UNITS[-1]}"
        )
    return moment.unit
