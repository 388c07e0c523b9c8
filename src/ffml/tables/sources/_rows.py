"""Rows that come as Python values, from a query or from JSON: fetched once, set aside, typed."""

import datetime
import decimal
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import cached_property
from typing import Any

import pyarrow as pa

from ffml.tables.sources._source import Source
from ffml.tables.sources._spool import Spool

Chunk = tuple[Sequence[str], list[Sequence[Any]]]  # names of the columns, and rows
WHOLE = pa.decimal128(38, 0)  # whole numbers beyond 64 bits
LADDER = (pa.null(), pa.bool_(), pa.int64(), WHOLE, pa.float64())  # from narrow to wide
NESTED = {bytes, memoryview, list, tuple, dict}


class RowSource(Source):
    """A table whose rows are fetched once, since a second time could bring others."""

    def chunks(self) -> Iterator[Chunk]:
        """Fetch some rows at a time; columns may be new in later chunks."""
        raise NotImplementedError

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """All columns, in the order in which they first appear."""
        return tuple(self._fetched[1])

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Read some columns from the rows set aside, each with one type throughout."""
        spool, kinds = self._fetched
        for number in range(len(spool)):
            batch = spool.read(number)
            arrays = [_column(batch, name, kinds[name]) for name in columns]
            yield pa.RecordBatch.from_arrays(arrays, names=list(columns))

    @cached_property
    def _fetched(self) -> tuple[Spool, dict[str, pa.DataType]]:
        """All rows, and for each column the narrowest type that holds its values."""
        spool, kinds = Spool(), dict[str, pa.DataType]()
        for names, rows in self.chunks():
            arrays = [_array([row[i] for row in rows]) for i in range(len(names))]
            for name, array in zip(names, arrays, strict=True):
                kinds[name] = _common(kinds.get(name, pa.null()), array.type)
            spool.append(pa.RecordBatch.from_arrays(arrays, names=list(names)))
        return spool, kinds


def _array(values: list[Any]) -> pa.Array:
    """Make a column of Python values; those that fit nothing else become texts."""
    with suppress(pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):
        array = pa.array(values)
        if array.type in (*LADDER, pa.string(), pa.date32()):
            return array
    kinds = {type(value) for value in values if value is not None}
    if kinds & NESTED:
        return pa.array([None if v is None else repr(v).encode() for v in values], pa.binary())
    if kinds <= {int, bool} and max(abs(value or 0) for value in values) < 10**38:
        return pa.array([None if v is None else int(v) for v in values], WHOLE)
    if kinds <= {bool, int, float, decimal.Decimal}:
        with suppress(OverflowError):
            return pa.array([None if v is None else float(v) for v in values], pa.float64())
    if kinds == {datetime.datetime}:
        return pa.array([_utc(value) for value in values], pa.timestamp("us"))
    return pa.array([None if value is None else _text(value) for value in values], pa.string())


def _text(value: Any) -> str:
    """Write a value as Arrow does, so that it does not matter how rows are cut into chunks."""
    if isinstance(value, bool | float):
        return pa.scalar(value).cast(pa.string()).as_py()
    return str(value)


def _utc(value: datetime.datetime | None) -> datetime.datetime | None:
    """Take a time zone off, so that all times of a column compare."""
    if value is None or value.tzinfo is None:
        return value
    return value.astimezone(datetime.UTC).replace(tzinfo=None)


def _common(first: pa.DataType, second: pa.DataType) -> pa.DataType:
    """Return the narrowest type that holds the values of both."""
    if first == second or second == pa.null():
        return first
    if first == pa.null():
        return second
    if first in LADDER and second in LADDER:
        return LADDER[max(LADDER.index(first), LADDER.index(second))]
    return pa.binary() if pa.binary() in (first, second) else pa.string()


def _column(batch: pa.RecordBatch, name: str, kind: pa.DataType) -> pa.Array:
    """Return a column of a batch as values of a wider type; nulls where the batch lacks it."""
    if name not in batch.schema.names:
        return pa.nulls(len(batch), kind)
    values = batch.column(name)
    if kind == pa.binary() and values.type != kind:
        values = values.cast(pa.string())
    if kind == WHOLE and values.type == pa.bool_():
        values = values.cast(pa.int64())
    return values.cast(kind)
