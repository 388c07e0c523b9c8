"""Which reader takes which table: `open_data` for all of them, and folders of files."""

import hashlib
import re
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa

from ffml.base import FFMLError
from ffml.border import public_address as public_url
from ffml.tables.sources._csv import CsvSource
from ffml.tables.sources._json import JsonSource
from ffml.tables.sources._source import Source, WithColumn, unreadable
from ffml.tables.sources._sql import SqlSource
from ffml.tables.sources._typed import ExcelSource, FrameSource, ParquetSource

KINDS: dict[Callable[[Path], Source], tuple[str, ...]] = {
    CsvSource: (".csv", ".tsv", ".txt"),
    ParquetSource: (".parquet", ".pq"),
    JsonSource: (".jsonl", ".ndjson", ".json"),
    ExcelSource: (".xlsx",),
}
GZIPPED = (CsvSource, JsonSource)
FILE = "(file)"  # the column of tasks that a folder brings: each row's file, without suffix


def open_data(data: Any, query: str | None = None) -> Source:
    """Open whatever holds rows: every command that reads a table calls this.

    Args:
        data: a path (see `open_table`), a database's address (``sqlite:///path`` or
            ``postgresql://user@host/database``), a pandas or polars data frame, an Arrow table, or
            what is open already.
        query: what to ask a database; no other table takes one.
    """
    if isinstance(data, str) and "://" in data:
        if not query or not query.strip():
            raise FFMLError("a database needs --query, such as --query 'SELECT * FROM loans'")
        return SqlSource(data, query)
    if query:
        shown = (
            f"'{Path(public_url(str(data))).name}'"
            if isinstance(data, str | Path)
            else "a data frame"
        )
        raise FFMLError(f"--query asks a database, and {shown} is none; leave it out")
    if isinstance(data, str | Path):
        return open_table(data)
    return data if isinstance(data, Source) else FrameSource(data)


def open_table(path: str | Path) -> Source:
    """Open a CSV, Parquet, JSON or Excel file, or a folder with one such file per task.

    CSV and JSON may be gzipped. JSON is one object a line, or an array of objects; of an Excel file
    the first sheet is read.
    """
    path = Path(path)
    _refuse_odd_name(path)
    try:
        path.stat()
    except FileNotFoundError as error:
        shown = public_url(str(path))
        raise FFMLError(f"no such file or folder: {shown}; check the path") from error
    except OSError as error:
        raise unreadable(path, error) from error
    if path.is_dir():
        return _open_folder(path)
    if source := _open_file(path):
        return source
    raise FFMLError(
        f"{path} is none of CSV (.csv, .tsv, .csv.gz), Parquet (.parquet), JSON (.jsonl, .json) "
        "and Excel (.xlsx)"
    )


def _open_file(path: Path) -> Source | None:
    suffixes = [suffix.lower() for suffix in path.suffixes[-2:]] or [""]
    gzipped = suffixes[-1] == ".gz"
    suffix = suffixes[-2] if gzipped and len(suffixes) > 1 else suffixes[-1]
    for kind, own in KINDS.items():
        if suffix in own and (not gzipped or kind in GZIPPED):
            return kind(path)
    return None


def _open_folder(folder: Path) -> Source:
    """Open a folder; hidden files, subfolders and files of other kinds are left alone."""
    try:
        paths = sorted((p for p in folder.iterdir() if p.is_file()), key=natural_order)
    except OSError as error:
        raise unreadable(folder, error) from error
    for path in paths:
        _refuse_odd_name(path)
    files = [file for p in paths if not p.name.startswith(".") and (file := _open_file(p))]
    if not files:
        raise FFMLError(f"the folder {folder} holds no .csv or .parquet files, one per task")
    if len({type(file) for file in files}) > 1:
        raise FFMLError(f"the folder {folder} holds files of several kinds; keep one kind")
    stems = [stem(Path(file.name)) for file in files]
    if twins := [name for name in stems if stems.count(name) > 1]:
        raise FFMLError(f"the folder {folder} holds two files of task {twins[0]!r}; rename one")
    return FolderSource(str(folder), files)


def _refuse_odd_name(path: Path) -> None:
    """Refuse a name that is not UTF-8: it could neither be opened by Arrow nor be a task's name."""
    try:
        str(path).encode()
    except UnicodeEncodeError:
        raise FFMLError(f"the name {str(path)!a} is not in UTF-8; rename it") from None


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
