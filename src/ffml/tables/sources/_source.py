"""What every kind of table can do: name its columns, and be read again and again in batches."""

import hashlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from ffml.base import FFMLError

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
