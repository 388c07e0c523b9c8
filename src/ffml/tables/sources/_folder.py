"""A folder of files: one task per file, or the parts of one table."""

import hashlib
import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path

import pyarrow as pa

from ffml.base import FFMLError
from ffml.tables.sources._source import Source, WithColumn

FILE = "(file)"  # the column of tasks that a folder brings: each row's file, without suffix


class FolderSource(Source):
    """Files with the same columns, in the natural order of their names (part2 before part10)."""

    task = FILE

    def __init__(self, name: str, files: Sequence[Source]) -> None:
        self.name, self._files = name, tuple(files)
        self.parse = self._files[0].parse

    @property
    def files(self) -> tuple[Source, ...]:
        """The files, each with its own first row."""
        return self._files

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The columns that all files have, and the file's name."""
        first = self._files[0]
        for other in self._files[1:]:
            for has, lacks in ((first, other), (other, first)):
                if missing := [name for name in has.columns if name not in lacks.columns]:
                    raise FFMLError(
                        f"{lacks.name} has no column {missing[0]!r}, which {has.name} has; give "
                        "all files of a folder the same columns"
                    )
        return (*first.columns, FILE)

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Read file after file."""
        for file in self._files:
            yield from WithColumn(file, FILE, stem(Path(file.name))).batches(columns)

    def fingerprint(self) -> str:
        """Return the SHA-256 of all files' names and hashes."""
        lines = (f"{Path(file.name).name} {file.fingerprint()}\n" for file in self._files)
        return hashlib.sha256("".join(lines).encode()).hexdigest()


def stem(path: Path) -> str:
    """Return a file's name without the suffixes of its kind.

    >>> stem(Path("2024.05.csv.gz"))
    '2024.05'
    """
    kinds = r"\.(csv|tsv|txt|parquet|pq|jsonl|ndjson|json|xlsx)(\.gz)?$"
    return re.sub(kinds, "", path.name, flags=re.IGNORECASE)


def natural_order(path: Path) -> tuple:
    """Sort numbers in names by value.

    >>> sorted([Path("m10.csv"), Path("m9.csv")], key=natural_order)[0].name
    'm9.csv'
    """
    parts = re.split(r"(\d+)", path.name)
    return tuple(int(part) if i % 2 else part for i, part in enumerate(parts)), path.name
