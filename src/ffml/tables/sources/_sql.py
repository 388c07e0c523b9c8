"""Queries on SQLite and PostgreSQL, read in chunks. No message ever shows a password."""

import hashlib
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from typing import Any
from urllib.parse import quote

from ffml.base import FFMLError
from ffml.border import cannot_connect, public_address
from ffml.tables._columns import refuse_twins
from ffml.tables.sources._rows import Chunk, RowSource

CHUNK_ROWS = 16384


class SqlSource(RowSource):
    """The rows of a query that only reads, fetched once by a cursor of the server.

    To resume a run later, give the query an ORDER BY over a unique key.
    """

    def __init__(self, url: str, query: str) -> None:
        self._url, self._query, self._digest = url, query, hashlib.sha256()
        self.name = f"the query on {public_address(url)}"

    def __repr__(self) -> str:
        return f"SqlSource({public_address(self._url)!r}, {self._query!r})"

    def chunks(self) -> Iterator[Chunk]:
        """Ask the database; yield the columns' names with some rows, at least once."""
        for number, (names, rows) in enumerate(self._answer()):
            lines = [repr(tuple(row)) for row in rows]
            self._digest.update("".join([repr(names)] * (number == 0) + lines).encode())
            yield names, rows

    def fingerprint(self) -> str:
        """Return the SHA-256 of the names and rows."""
        return self._digest.hexdigest() if self.columns else ""

    def _answer(self) -> Iterator[Chunk]:
        scheme = self._url.partition("://")[0].partition("+")[0]
        if scheme == "sqlite":
            return _sqlite(self._url, self._query)
        if scheme in ("postgresql", "postgres"):
            return _postgresql(self._url, self._query)
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
    refuse_twins(names)
    rows = cursor.fetchmany(CHUNK_ROWS)
    yield names, rows
    while rows := cursor.fetchmany(CHUNK_ROWS):
        yield names, rows
