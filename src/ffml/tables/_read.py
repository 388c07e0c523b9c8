"""Which reader takes which table."""

from pathlib import Path
from typing import Any

from ffml.base import FFMLError
from ffml.tables._csv import CsvSource
from ffml.tables._folder import FolderSource, natural_order, stem
from ffml.tables._frame import FrameSource
from ffml.tables._parquet import ParquetSource
from ffml.tables._source import Source, unreadable
from ffml.tables._sql import SqlSource

CSV_SUFFIXES = (".csv", ".tsv", ".txt")
PARQUET_SUFFIXES = (".parquet", ".pq")


def open_table(path: str | Path) -> Source:
    """Open a CSV file (also gzipped), a Parquet file, or a folder with one such file per task."""
    path = Path(path)
    _refuse_odd_name(path)
    try:
        path.stat()
    except FileNotFoundError as error:
        raise FFMLError(f"no such file or folder: {path}; check the path") from error
    except OSError as error:
        raise unreadable(path, error) from error
    if path.is_dir():
        return _open_folder(path)
    if source := _open_file(path):
        return source
    raise FFMLError(f"{path} is neither CSV (.csv, .tsv, .csv.gz) nor Parquet (.parquet)")


def open_sql(url: str, query: str) -> Source:
    """Run a query on a database: ``sqlite:///path`` or ``postgresql://user@host/database``."""
    return SqlSource(url, query)


def open_frame(data: Any, name: str = "table") -> Source:
    """Take a table in memory: a pandas or polars data frame, an Arrow table.

    Args:
        data: the table.
        name: what to call it in messages.
    """
    return FrameSource(data, name)


def _open_file(path: Path) -> Source | None:
    suffixes = [suffix.lower() for suffix in path.suffixes[-2:]]
    if suffixes[-1:] == [".gz"]:
        suffixes.pop()
        return CsvSource(path) if suffixes[-1:] and suffixes[-1] in CSV_SUFFIXES else None
    if suffixes[-1:] and suffixes[-1] in CSV_SUFFIXES:
        return CsvSource(path)
    return ParquetSource(path) if suffixes[-1:] and suffixes[-1] in PARQUET_SUFFIXES else None


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
    if len({file.parse for file in files}) > 1:
        raise FFMLError(f"the folder {folder} holds both CSV and Parquet files; keep one kind")
    stems = [stem(Path(file.name)) for file in files]
    if twins := [name for name in stems if stems.count(name) > 1]:
        raise FFMLError(f"the folder {folder} holds two files of task {twins[0]!r}; rename one")
    return FolderSource(str(folder), tuple(files))


def _refuse_odd_name(path: Path) -> None:
    """Refuse a name that is not UTF-8: it could neither be opened by Arrow nor be a task's name."""
    try:
        str(path).encode()
    except UnicodeEncodeError:
        raise FFMLError(f"the name {str(path)!a} is not in UTF-8; rename it") from None
