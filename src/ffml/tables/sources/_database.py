"""Queries on SQLite and PostgreSQL, read in chunks. No message ever shows a password."""

import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from typing import Any
from urllib.parse import quote, urlsplit

from ffml.base import FFMLError

CHUNK_ROWS = 16384
Chunk = tuple[list[str], list[tuple[Any, ...]]]  # names of the columns, rows

# What a driver says about a failed connection may repeat parts of the address, and so of the
# password. Only these readings of it are passed on.
_REASONS = {
    "password": "user or password refused",
    "refused": "no server answers there",
    "no such file": "no server answers there",
    "resolve": "the host is not known",
    "translate": "the host is not known",
    "timeout": "no answer in time",
    "does not exist": "no such database or user",
}


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


def public_url(url: str) -> str:
    """Return a database's address without user, password and options, to show and to store.

    Every message that shows an address, or what could be one, goes through here. A path stays as
    it is.

    >>> public_url("postgresql://ann:secret@db.example.org:5433/people?sslmode=require")
    'postgresql://db.example.org:5433/people'
    """
    scheme = url.partition("://")[0].partition("+")[0]
    if scheme == "sqlite" or not re.search(r":.*@|://", url):
        return url
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "localhost", f":{parts.port}" if parts.port else ""
    except ValueError:
        return "postgresql://..."
    if "@" in parts.path + parts.query + parts.fragment:  # a password with / or ? or # in it
        return "postgresql://..."
    return f"postgresql://{host}{port}{parts.path}"


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
        # `from None`: the cause would repeat the address in a traceback.
        raise FFMLError(
            f"cannot connect to {public_url(url)}: {_reason(str(error))}; check host, port, "
            "database, user and password"
        ) from None
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


def _reason(text: str) -> str:
    lowered = text.lower()
    found = (reason for sign, reason in _REASONS.items() if sign in lowered)
    return next(found, "the connection failed")
