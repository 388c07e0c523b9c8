"""How the times of a column are written: found from its first rows, asked where they do not say."""

from dataclasses import replace
from typing import Any

from ffml.base import FFMLError
from ffml.tables._roles import Roles
from ffml.tables._time import (
    UNCLEAR,
    UNITS,
    both_orders,
    check_format,
    parse_time,
    period,
    time_texts,
)
from ffml.tables.sources._source import Source


def check_time(task: str | None, time: str | None, by: str | None, date_format: str | None) -> None:
    """Refuse options of time that do not go together."""
    if by is not None and by not in UNITS:
        raise FFMLError(f"--by must be one of {', '.join(UNITS)}, got '{by}'")
    if time is None and (by or date_format):
        given = "--by" if by else "data.date_format"
        raise FFMLError(f"{given} is about a column of times; name it with --time COLUMN")
    if task is not None and by is not None:
        raise FFMLError(
            f"tasks come from --task {task} or from --by {by}, not from both; leave one out"
        )
    if date_format is not None:
        check_format(date_format)


def settle_time(source: Source, roles: Roles) -> Roles:
    """Find out how times are written and, if it was not said, which periods they are.

    Reads as few rows as tell whether the day or the month comes first: most often one batch.
    """
    if roles.time is None:
        return roles
    found = _fit(source, roles.time, roles.date_format)
    written = roles.date_format or found.finish()
    roles = replace(roles, date_format=written)
    if roles.by is None and roles.task == roles.time and found.example is not None:
        roles = replace(roles, by=_own_unit(roles.time, found.example, written))
    return roles


def open_formats(source: Source, column: str) -> tuple[str, ...]:
    """Return the formats that all dates of a column can have; none where nobody must be asked."""
    left = _fit(source, column, None).left
    return left if len(left) > 1 else ()


def _fit(source: Source, column: str, date_format: str | None) -> "_FormatFit":
    """Read rows until they tell how times are written."""
    found = _FormatFit(column)
    # A folder's column of files has rows only beside another one.
    wanted = dict.fromkeys([column, source.columns[0]])
    for batch in source.batches(list(wanted)):
        texts = time_texts(batch.column(column), column).drop_null().unique().to_pylist()
        found.add(texts, date_format)
        if found.any_seen and (date_format is not None or found.is_settled):
            break
    return found


def _own_unit(column: str, example: str, date_format: str | None) -> str:
    """Take the unit that the values have; days may be cut in many ways."""
    moment = parse_time(example, date_format)
    if moment is None:
        period(example, column, None, date_format)  # says why
    unit = moment.unit if moment else ""
    if unit == "day":
        raise FFMLError(
            f"time column {column!r} holds days such as {example!r}; say how long a task is: "
            f"--by {', '.join(UNITS[:-1])} or {UNITS[-1]}"
        )
    return unit


class _FormatFit:
    """Which of day and month comes first, as far as the values seen so far tell."""

    def __init__(self, column: str) -> None:
        self.column = column
        self.any_seen = False
        self.example: str | None = None
        self._possible: tuple[str, ...] = ()
        self._witness: dict[str, str] = {}  # format -> a value that is not written so
        self._unclear: str | None = None

    def add(self, texts: list[Any], date_format: str | None) -> None:
        """See more values."""
        for text in texts:
            self.any_seen = True
            self.example = self.example or text
            if date_format is not None or not (unclear := UNCLEAR.fullmatch(text)):
                continue
            self._unclear = self._unclear or text
            self._possible = self._possible or both_orders(unclear[2])
            for form in self._possible:
                if parse_time(text, form) is None:
                    self._witness.setdefault(form, text)

    @property
    def is_settled(self) -> bool:
        """Whether more values can say nothing new."""
        return self._unclear is None or bool(self._witness)

    @property
    def left(self) -> tuple[str, ...]:
        """The formats that all values seen can have."""
        return tuple(form for form in self._possible if form not in self._witness)

    def finish(self) -> str | None:
        """Return the format of dates that need one."""
        left = self.left
        if len(left) == 2:
            raise FFMLError(
                f"time column {self.column!r} holds {self._unclear!r}: is the day first, or the "
                f"month? Say it with --set data.date_format={left[0]} or ={left[1]}"
            )
        if self._possible and not left:
            seen = " and ".join(repr(text) for text in dict.fromkeys(self._witness.values()))
            raise FFMLError(
                f"time column {self.column!r} holds {seen}, which are not written in one way; "
                "write all dates as 2024-12-31"
            )
        return left[0] if left else None
