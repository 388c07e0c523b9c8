"""SQLite in a folder and PostgreSQL by URL, behind one face: an engine, a lock, its errors."""

import hashlib
import os
import re
import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

import sqlalchemy as sa
from sqlalchemy.pool import QueuePool

from ffml.base import FFMLError
from ffml.border import cannot_connect, public_address
from ffml.store import _files

BUSY_SECONDS = 30  # how long a transaction waits for another
_POOL = {"poolclass": QueuePool, "max_overflow": -1, "hide_parameters": True}


class Away(FFMLError):
    """The database cannot be used now; the same may work later."""


class Database(ABC):
    """Where a run is kept."""

    name: str  # to show: no password
    engine: sa.Engine

    @abstractmethod
    def begin(self, connection: sa.Connection) -> None:
        """Wait for one's turn to write, once a transaction has begun."""

    @abstractmethod
    def lock(self) -> AbstractContextManager[None]:
        """Hold the long lock."""

    @abstractmethod
    def explain(self, error: sa.exc.DBAPIError) -> FFMLError:
        """Turn what the driver says into one line with a remedy."""

    @abstractmethod
    def wipe(self) -> None:
        """Take out of the files what was overwritten."""

    def namespace(self, connection: sa.Connection) -> None:  # noqa: B027
        """Make the namespace of the run's tables."""

    def has_tables(self, connection: sa.Connection) -> bool:
        """Tell whether there is a run."""
        return sa.inspect(connection).has_table("run")

    @contextmanager
    def explained(self) -> Iterator[None]:
        """Turn the driver's errors into ours."""
        try:
            yield
        except sa.exc.DBAPIError as error:
            raise self.explain(error) from None  # a driver's words may repeat the address


class SQLite(Database):
    """The file ``run.db`` in a folder: one writer, any number of readers."""

    def __init__(self, folder: Path, write: bool) -> None:
        self.folder, self.write = folder, write
        self.path = _files.find_database(folder)
        self.name = str(folder)
        self.engine = sa.create_engine("sqlite://", creator=self._connect, **_POOL)
        sa.event.listen(self.engine, "begin", self._begin)

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            f"file:{quote(str(self.path))}?{self._mode()}",
            timeout=BUSY_SECONDS,
            isolation_level=None,  # transactions begin where we say so
            check_same_thread=False,
            uri=True,
        )
        for setting in (
            *("foreign_keys = on", "synchronous = full", "secure_delete = on"),
            *("cache_size = -16384", f"query_only = {'off' if self.write else 'on'}"),
        ):
            connection.execute(f"pragma {setting}")
        return connection

    def _mode(self) -> str:
        """Readers share memory with writers in a file; a folder closed to us has no writers."""
        if self.write or os.access(self.folder, os.W_OK):
            return "mode=rw"
        wal = self.path.with_name(_files.NAMES[1])
        return "mode=ro" if wal.exists() else "mode=ro&immutable=1"

    def _begin(self, connection: sa.Connection) -> None:
        connection.exec_driver_sql("begin immediate" if self._writes(connection) else "begin")

    @staticmethod
    def _writes(connection: sa.Connection) -> bool:
        return bool(connection.get_execution_options().get("write"))

    def begin(self, connection: sa.Connection) -> None:
        """Nothing: ``begin immediate`` has waited."""

    def lock(self) -> AbstractContextManager[None]:
        """Lock a file of the folder."""
        return _files.locked(self.folder)

    def explain(self, error: sa.exc.DBAPIError) -> FFMLError:
        """Read SQLite's words."""
        words = str(error.orig)
        if "locked" in words:
            return Away(f"somebody else is writing to {self.name}; try again")
        if "full" in words:
            return Away(f"no room to write {self.path}; make room, then go on where it ended")
        if "readonly" in words or "unable to open" in words:
            return Away(f"{self.path} cannot be written; check the rights of file and folder")
        if isinstance(error, sa.exc.DatabaseError) and re.search(
            "malformed|not a datab|I/O", words
        ):
            return damaged(self.path, words)
        return FFMLError(f"{self.path}: {words}")

    def wipe(self) -> None:
        """Empty the write-ahead log, which still has what was there before."""
        with self.engine.connect() as connection:
            connection.connection.cursor().execute("pragma wal_checkpoint(truncate)")


class PostgreSQL(Database):
    """A namespace of a database, named by ``?run=``."""

    def __init__(self, url: str) -> None:
        try:
            import psycopg
        except ImportError as error:
            raise FFMLError("PostgreSQL needs a driver; install it with ffml[postgres]") from error
        self._psycopg = psycopg
        self.url, self.name = url, public_address(url)
        self._address, self.schema = split_run(url)
        self.engine = sa.create_engine(
            "postgresql+psycopg://", creator=self._connect, paramstyle="format", **_POOL
        )

    def _connect(self) -> Any:
        try:
            connection = self._psycopg.connect(self._address, connect_timeout=10, autocommit=True)
        except (self._psycopg.Error, ValueError, OSError) as error:
            raise Away(str(cannot_connect(self.url, error))) from None
        connection.execute(f'set search_path to "{self.schema}"')
        connection.autocommit = False
        return connection

    def begin(self, connection: sa.Connection) -> None:
        """Wait until no other transaction writes to this run."""
        connection.exec_driver_sql("select value from run where key = 'format' for update")

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Lock a number made of the namespace's name, for as long as a session of our own lasts."""
        number = int.from_bytes(hashlib.sha256(self.schema.encode()).digest()[:8], signed=True)
        with self.explained(), self.engine.connect() as connection:
            session = connection.execution_options(isolation_level="AUTOCOMMIT")
            if not session.scalar(sa.select(sa.func.pg_try_advisory_lock(number))):
                raise _files.busy(self.name)
            try:
                yield
            finally:
                session.scalar(sa.select(sa.func.pg_advisory_unlock(number)))

    def namespace(self, connection: sa.Connection) -> None:
        """Make the schema, as PostgreSQL calls it."""
        connection.exec_driver_sql(f'create schema if not exists "{self.schema}"')

    def explain(self, error: sa.exc.DBAPIError) -> FFMLError:
        """Pass on the server's first line."""
        words = getattr(getattr(error.orig, "diag", None), "message_primary", None)
        kind = (
            Away
            if isinstance(error, sa.exc.OperationalError | sa.exc.InterfaceError)
            else FFMLError
        )
        words = words or "the connection was lost"
        return kind(f"{self.name}: {words}; nothing was written, try again")

    def wipe(self) -> None:
        """Remove rows' earlier states."""
        with self.engine.connect() as connection:
            session = connection.execution_options(isolation_level="AUTOCOMMIT")
            session.exec_driver_sql("vacuum decisions")


def database(address: str | Path, write: bool) -> Database:
    """Tell a folder from a URL."""
    if re.match(r"postgres(ql)?(\+\w+)?://", str(address)):
        return PostgreSQL(str(address))
    if "://" in str(address):
        raise FFMLError("a run is kept in a folder, or at postgresql://user@host/database?run=name")
    return SQLite(Path(address), write)


def split_run(url: str) -> tuple[str, str]:
    """Take ``run=`` out of an address: what the driver gets, and the namespace."""
    try:
        parts = urlsplit("postgresql://" + url.partition("://")[2])
    except ValueError as error:
        raise cannot_connect(url, error) from None
    options = parse_qsl(parts.query, keep_blank_values=True)
    name = dict(options).get("run", "ffml")
    if not re.fullmatch(r"(?!pg_)[a-z_][a-z0-9_]{0,62}", name) or name in ("public",):
        raise FFMLError("run= names a run by small letters, digits and _, as in ?run=loans_2026")
    rest = urlencode([option for option in options if option[0] != "run"])
    return parts._replace(query=rest).geturl(), name


def damaged(path: Path, words: str) -> FFMLError:
    """Say that a file is damaged, and what to do."""
    return FFMLError(
        f"{path} is damaged ({words}); put the newest copy back in its place, or save what can be "
        f"read: (sqlite3 {path.name} .dump | grep -v ^ROLLBACK; echo 'COMMIT;') | sqlite3 saved.db"
    )
