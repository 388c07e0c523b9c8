"""What every kind of table can do: name its columns, and be read again and again in batches."""

import hashlib
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from ffml.base import FFMLError
from ffml.tables._values import BadValue

if TYPE_CHECKING:
    import pyarrow as pa


BATCH_ROWS = 65536


class Source(Protocol):
    """A table too large for memory, perhaps."""

    @property
    def name(self) -> str:
        """What to call the table in messages; never holds a password."""

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns."""

    @property
    def parse(self) -> bool:
        """Whether values come as texts that may be numbers (CSV)."""

    @property
    def task(self) -> str | None:
        """The column of tasks that the source itself brings, if any (a folder)."""

    @property
    def has_header(self) -> bool:
        """Whether the first row names the columns, so that rows count from 2."""

    def batches(self, columns: Sequence[str]) -> Iterator["pa.RecordBatch"]:
        """Read some columns from the first row on, in batches of bounded size."""

    def fingerprint(self) -> str:
        """Return the SHA-256 of the data: of a file's bytes or of a query's rows."""


def file_digest(path: Path) -> str:
    """Return the SHA-256 of a file's bytes."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise unreadable(path, error) from error


def unreadable(path: Path, error: OSError) -> FFMLError:
    """Say that a file cannot be opened, and why."""
    reason = os.strerror(error.errno) if error.errno else str(error)
    return FFMLError(f"cannot read {path}: {reason}; check the path and rights")


class Place(NamedTuple):
    """The first bad value of a column, and how many more there are."""

    value: Any
    row: int  # as a spreadsheet counts: a CSV file's header is row 1
    file: str  # of a folder
    more: int


@contextmanager
def located(source: Source) -> Iterator[None]:
    """Say in which row a value is that turns out to be bad."""
    try:
        yield
    except BadValue as error:
        place = _place(source, error)
        if place is None:
            raise
        shown = "" if repr(place.value) in error.wrong else f"{place.value!r} in "
        of = f" of {place.file}" if place.file else ""
        more = f", and {place.more:,} more" if place.more else ""
        where = f"({shown}row {place.row:,}{of}{more})"
        raise FFMLError(f"{error.wrong} {where}; {error.help}") from error


def _place(source: Source, error: BadValue) -> Place | None:
    """Go through the column once more; nobody waits for a message."""
    first: Place | None = None
    for part in getattr(source, "files", (source,)):
        file = part.name if part is not source else ""
        row = 2 if part.has_header else 1
        for batch in part.batches([error.column]):
            bad = np.flatnonzero(error.is_bad(batch.column(0)))
            if first is not None:
                first = first._replace(more=first.more + len(bad))
            elif len(bad):
                value = batch.column(0)[int(bad[0])].as_py()
                first = Place(value, row + int(bad[0]), file, len(bad) - 1)
            row += len(batch)
    return first
