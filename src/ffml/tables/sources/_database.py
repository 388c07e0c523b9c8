"""Queries on SQLite and PostgreSQL, read in chunks. No message ever shows a password."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from typing import Any
from urllib.parse import quote

from ffml.base import FFMLError
from ffml.border import cannot_connect

CHUNK_ROWS = 16384
Chunk = tuple[list[str], list[tuple[Any, ...]]]  # names of the columns, rows


def query_chunks(url: str, query: str) -> Iterator[Chunk]:
    """Run a query that only reads; yield the columns' names with some rows, at least once."""
    scheme = url.partition("://")[0].partition("+")[0]
    if scheme == "sqlite":
        return _sqlite(url, query)
    if scheme in ("postgresql", "postgres"):
        return _postgresql(url, query)
    raise FFMLError(
        "the database address must start with sqlite:/// or postgresql://, as in "
        "sqlite:///people.db or postgresql://user@host/database"
    )


def _sqlite(url: str, query: str) -> Iterator[Chunk]:
    path = url.partition(":///")[2]
    if not path:
        raise FFMLError("a SQLite address names a file: sqlite:///people.db")
    try:
        with closing(sqlite3.connect(f"file:{quote(path)}?mode=ro", uri=True)) as connection:
            # mode=ro is about this file alone: ATTACH and VACUUM INTO would make others.
            connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
            connection.execute("PRAGMA query_only = ON")
            cursor = connection.execute(query)
            if cursor.description is None:
                raise FFMLError("the query returns no table; write a SELECT")
            yield from _fetch(cursor, [column[0] for column in cursor.description])
    except (sqlite3.Error, sqlite3.Warning) as error:
        reason = str(error)
        if "unable to open" in reason:
            raise FFMLError(f"cannot open the SQLite file {path}; check the path") from error
        if "not a database" in reason:
            raise FFMLError(f"{path} is not a SQLite file; check the path") from error
        if "too many attached" in reason or "readonly database" in reason:
            raise FFMLError("the query may only read this database; write a SELECT") from error
        raise FFMLError(f"the query failed: {reason}; correct it") from error


def _postgresql(url: str, query: str) -> Iterator[Chunk]:
    try:
        import psycopg
    except ImportError as error:
        raise FFMLError("PostgreSQL needs a driver; install it with ffml[postgres]") from error
    address = "postgresql://" + url.partition("://")[2]
    try:
        connection = psycopg.connect(address, connect_timeout=10)
    except (psycopg.Error, ValueError, OSError) as error:
        raise cannot_connect(url, error) from None  # the cause would repeat the address
    try:
        with connection, connection.cursor(name="ffml") as cursor:
            connection.read_only = True
            cursor.execute(query.strip().rstrip(";").encode())
            yield from _fetch(cursor, [column.name for column in cursor.description or ()])
    except psycopg.Error as error:
        reason = error.diag.message_primary or "the connection was lost"
        raise FFMLError(f"the query failed: {reason}; correct it") from error


def _fetch(cursor: Any, names: list[str]) -> Iterator[Chunk]:
    rows = cursor.fetchmany(CHUNK_ROWS)
    yield names, rows
    while rows := cursor.fetchmany(CHUNK_ROWS):
        yield names, rows
