"""What every kind of table can do: name its columns, and be read again and again in batches."""

import hashlib
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from ffml.base import FFMLError
from ffml.tables._values import BadValue

BATCH_ROWS = 65536


class Source:
    """A table, perhaps larger than memory."""

    name: str  # what to call the table in messages; never holds a password
    parse = False  # whether numbers come as texts (CSV)
    task: str | None = None  # the column of tasks that the source itself brings (a folder)
    first_row = 1  # the number of the first row: 2 below a header

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """All columns."""
        raise NotImplementedError

    @property
    def files(self) -> "tuple[Source, ...]":
        """The tables that rows are counted in: the files of a folder."""
        return (self,)

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Read some columns from the first row on, in batches of bounded size."""
        raise NotImplementedError

    def fingerprint(self) -> str:
        """Return the SHA-256 of the data: of a file's bytes or of a query's rows."""
        raise NotImplementedError


def whole(source: Source, columns: Iterable[str]) -> pa.RecordBatch:
    """Read all rows of some columns at once, each column once; for tables that are small."""
    names = list(dict.fromkeys(columns))
    batches = list(source.batches(names))
    if not any(map(len, batches)):
        return pa.record_batch([pa.nulls(0, pa.string()) for _ in names], names=names)
    return pa.Table.from_batches(batches).combine_chunks().to_batches()[0]


class FileSource(Source):
    """A file."""

    def __init__(self, path: Path) -> None:
        self.path, self.name = path, str(path)

    def fingerprint(self) -> str:
        """Return the SHA-256 of the file's bytes."""
        try:
            with self.path.open("rb") as file:
                return hashlib.file_digest(file, "sha256").hexdigest()
        except OSError as error:
            raise unreadable(self.path, error) from error


class WithColumn(Source):
    """A table and one more column, which has one value in all rows, or none."""

    def __init__(self, source: Source, column: str, value: str | None) -> None:
        self._source, self._column, self._value = source, column, value
        self.name, self.parse, self.task = source.name, source.parse, source.task
        self.first_row = source.first_row

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The table's columns and the new one."""
        return (*self._source.columns, self._column)

    @property
    def files(self) -> tuple[Source, ...]:
        """The table's files."""
        return self._source.files

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Read some columns."""
        own = [name for name in columns if name != self._column]
        for batch in self._source.batches(own):
            arrays = dict(zip(own, batch.columns, strict=True))
            arrays[self._column] = pa.repeat(pa.scalar(self._value, pa.string()), len(batch))
            yield pa.RecordBatch.from_arrays([arrays[c] for c in columns], names=list(columns))

    def fingerprint(self) -> str:
        """Return the table's SHA-256."""
        return self._source.fingerprint()


def unreadable(path: Path, error: OSError) -> FFMLError:
    """Say that a file cannot be opened, and why."""
    reason = os.strerror(error.errno) if error.errno else str(error)
    return FFMLError(f"cannot read {path}: {reason}; check the path and rights")


@contextmanager
def located(source: Source) -> Iterator[None]:
    """Add the row of a bad value to the message about it."""
    try:
        yield
    except BadValue as error:
        places = _bad_values(source, error)
        first = next(places, None)
        if first is None:
            raise
        value, row, file = first
        shown = "" if repr(value) in error.wrong else f"{value!r} in "
        of = f" of {file}" if file != source.name else ""
        count = sum(1 for _ in places)
        more = f", and {count:,} more" if count else ""
        where = f"({shown}row {row:,}{of}{more})"
        raise FFMLError(f"{error.wrong} {where}; {error.help}") from error


def _bad_values(source: Source, error: BadValue) -> Iterator[tuple[Any, int, str]]:
    """Read a column once more, for the message: each bad value, its row and its file.

    Rows are numbered as a spreadsheet does it: a CSV file's header is row 1.
    """
    for part in source.files:
        row = part.first_row
        for batch in part.batches([error.column]):
            for place in np.flatnonzero(error.is_bad(batch.column(0))).tolist():
                yield batch.column(0)[place].as_py(), row + place, part.name
            row += len(batch)
