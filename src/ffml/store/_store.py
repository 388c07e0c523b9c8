"""A run as a small database: opened, read by anybody, written by one at a time."""

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import sqlalchemy as sa

from ffml.base import FFMLError
from ffml.store import _chain, _files, _json, _labels, _looks, _read, _schema
from ffml.store._database import Database, SQLite, database
from ffml.store._migrations import FORMAT, create
from ffml.store._transaction import Transaction
from ffml.store._values import Counts, Event, Labels, Placement, Round, Version, VersionRow


class Store:
    """A run, in a folder or at ``postgresql://user@host/database?run=name``.

    Any thread may read and write; each process opens its own. Within `transaction` and
    `snapshot`, what a thread reads is of that transaction and of that moment.
    """

    def __init__(self, base: Database, write: bool) -> None:
        self._base, self._write = base, write
        self._local = threading.local()
        self._cells: dict[str, int] = {}

    @classmethod
    def create(
        cls, address: str | Path, documents: Mapping[str, Any], who: str = "ffml"
    ) -> "Store":
        """Start a run with its first documents. Where there is one already, it is refused."""
        if "://" not in str(address):
            _files.make_database(Path(address))
        store = cls(database(address, write=True), write=True)
        with store._closed_on_failure():
            store._make(documents, who)
        return store

    @classmethod
    def open(cls, address: str | Path, write: bool = False) -> "Store":
        """Open a run that is there, to read or also to write.

        Opened to write, a run of an earlier format is brought to the newest one.
        """
        store = cls(database(address, write), write)
        with store._closed_on_failure():
            store._bring_up_to_date()
        return store

    def close(self) -> None:
        """Close all connections."""
        self._base.engine.dispose()

    def __enter__(self) -> "Store":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Store({self.name!r})"

    @property
    def name(self) -> str:
        """Where the run is, without a password."""
        return self._base.name

    # -- writing -----------------------------------------------------------------------------------

    def learning(self) -> AbstractContextManager[None]:
        """Hold the long lock: one learner at a time; a second is refused at once."""
        return self._base.lock()

    @contextmanager
    def transaction(self, who: str, what: str) -> Iterator[Transaction]:
        """Write all or nothing; on leaving, the event is appended. Others wait for their turn."""
        if not self._write:
            raise FFMLError(f"{self.name} was opened to read; open it with write=True")
        if getattr(self._local, "connection", None) is not None:
            raise FFMLError("a transaction does not begin within another one or a snapshot")
        with self._base.explained(), self._connected(write=True) as connection:
            self._base.begin(connection)
            transaction = Transaction(connection, self._cells, who, what)
            yield transaction
            if transaction.finish():
                connection.commit()
                self._cells |= transaction.new_cells

    def wipe(self) -> None:
        """Take out of the files what transactions have overwritten, after `forget`."""
        with self._base.explained():
            self._base.wipe()

    # -- reading -----------------------------------------------------------------------------------

    @contextmanager
    def snapshot(self) -> Iterator["Store"]:
        """Read several things as they are at one moment, never waiting for who writes."""
        if getattr(self._local, "connection", None) is not None:
            yield self
            return
        with self._base.explained(), self._connected(write=False):
            yield self

    def document(self, key: str) -> Any:
        """Return a document by its name; None if there is none."""
        with self._reading() as connection:
            return _read.document(connection, key)

    def rounds(self) -> list[Round]:
        """Return all tasks in their order."""
        with self._reading() as connection:
            rows = connection.execute(sa.select(_schema.rounds).order_by(_schema.rounds.c.round))
            return [
                Round(row.round, row.task, row.status, _json.decode(row.document)) for row in rows
            ]

    def round_of(self, task: str) -> Round | None:
        """Return a task by its name; None if nobody of it was decided about."""
        with self._reading() as connection:
            return _read.round_of(connection, task)

    def tasks(self) -> list[str]:
        """Name all tasks in their order."""
        with self._reading() as connection:
            return [*_read.task_names(connection).values()]

    def rounds_between(self, first: int, last: int) -> list[int]:
        """Return the rounds of the decisions from one number to another."""
        table = _schema.decisions
        with self._reading() as connection:
            some = sa.select(table.c.round).where(table.c.seq.between(first, last)).distinct()
            return sorted(connection.scalars(some))

    def tasks_done(self) -> int:
        """Count the tasks that are not open any more."""
        table = _schema.rounds
        with self._reading() as connection:
            closed = sa.select(sa.func.count()).where(table.c.status != "open")
            return connection.scalar(closed) or 0

    def cells(self) -> dict[int, dict[str, Any]]:
        """Return the combinations of groups that occur, by number."""
        with self._reading() as connection:
            rows = connection.execute(sa.select(_schema.cells))
            return {cell: _json.decode(groups) for cell, groups in rows}

    def counts(self) -> Counts:
        """Return how many people there are of each kind in each round."""
        with self._reading() as connection:
            return _read.counts(connection)

    def totals(self) -> Counts:
        """Return the counts of all rounds together; their round is 0."""
        with self._reading() as connection:
            return _read.totals(connection)

    def decisions(
        self,
        round: int | None = None,
        ids: Sequence[str] | None = None,
        columns: Sequence[str] = _read.COLUMNS,
        numbers: Sequence[int] | None = None,
    ) -> dict[str, np.ndarray]:
        """Return decisions as columns; ``label`` is the newest one. ``x`` only if asked for."""
        with self._reading() as connection:
            return _read.decisions(connection, round, ids, columns, numbers)

    def rates(
        self, start: str | None = None, end: str | None = None, by: str | None = None
    ) -> list[Any]:
        """Count decisions by the time at which they were made, see `ffml.Run.rates`."""
        with self._reading() as connection:
            return _read.rates(connection, start, end, by)

    def scores(self) -> list[Any]:
        """Count everybody by cell, label, decision and tenth of probability."""
        with self._reading() as connection:
            return _read.scores(connection)

    def newest(self, most: int) -> list[_looks.NewestRow]:
        """Return the newest decisions, the last one first."""
        with self._reading() as connection:
            return _looks.newest(connection, most)

    def by_time(self, start: str, by: str) -> dict[str, tuple[int, int]]:
        """Return how many people were decided about in each period since then, how many positively.

        Args:
            start: the first moment, UTC in ISO 8601 or the beginning of it.
            by: "year", "month", "day" or "hour".
        """
        with self._reading() as connection:
            return _looks.by_time(connection, start, by)

    def waiting(self, most: int) -> list[_looks.WaitingRow]:
        """Return the newest tasks that lack labels, the last one first."""
        with self._reading() as connection:
            return _looks.waiting(connection, most)

    def delays(self, most: int) -> list[tuple[str, str]]:
        """Return when people were decided about and when their label came: the newest labels."""
        with self._reading() as connection:
            return _looks.delays(connection, most)

    def labels_of(self, round: int) -> dict[str, np.ndarray]:
        """Return the labels that came later to people of a round, in their order."""
        with self._reading() as connection:
            return _read.labels_of(connection, round)

    def find(self, ids: Sequence[str], tasks: Sequence[str] | None = None) -> list[Any]:
        """Return the decisions that labels could belong to: rows of task, id, decision, label."""
        with self._reading() as connection:
            return _labels.find(connection, ids, tasks)

    def place(self, labels: Labels, correct: bool = False) -> Placement:
        """Say where labels would go, and write nothing. `Transaction.add_labels` writes them."""
        with self._reading() as connection:
            return _labels.place(connection, labels, correct)

    def latest_version(self) -> Version | None:
        """Return the newest version of the learner; None before the first."""
        with self._reading() as connection:
            return _read.version(connection, self.name, None)

    @property
    def version_number(self) -> int:
        """The number of the newest version; 0 before the first."""
        with self._reading() as connection:
            newest = sa.select(sa.func.max(_schema.versions.c.number))
            return connection.scalar(newest) or 0

    def version(self, number: int) -> Version | None:
        """Return a version by its number."""
        with self._reading() as connection:
            return _read.version(connection, self.name, number)

    def versions(self) -> list[VersionRow]:
        """Return all versions in their order, without their bytes."""
        with self._reading() as connection:
            return _read.versions(connection)

    @property
    def deciding(self) -> int:
        """The number of the version that decides: one that was promoted, or else the newest."""
        with self._reading() as connection:
            return _read.deciding(connection)

    def events(self) -> list[Event]:
        """Return who wrote what when."""
        with self._reading() as connection:
            rows = connection.execute(sa.select(_schema.events).order_by(_schema.events.c.seq))
            return [
                Event(**row._asdict() | {"document": _json.decode(row.document)}) for row in rows
            ]

    @property
    def head(self) -> str:
        """The hash of the newest event. Who notes it elsewhere can tell later if it was undone."""
        with self._reading() as connection:
            events = _schema.events.c
            newest = sa.select(events.hash).order_by(events.seq.desc()).limit(1)
            return connection.scalar(newest) or _chain.START

    # -- the parts -------------------------------------------------------------------------------

    @contextmanager
    def _closed_on_failure(self) -> Iterator[None]:
        try:
            with self._base.explained():
                yield
        except BaseException:
            self.close()
            raise

    @contextmanager
    def _connected(self, write: bool) -> Iterator[sa.Connection]:
        engine = self._base.engine
        level = {} if write or isinstance(self._base, SQLite) else {"isolation_level": _SNAPSHOT}
        with engine.connect().execution_options(write=write, **level) as connection:
            self._local.connection = connection
            try:
                yield connection
            finally:
                self._local.connection = None

    @contextmanager
    def _reading(self) -> Iterator[sa.Connection]:
        connection = getattr(self._local, "connection", None)
        with self._base.explained():
            if connection is not None:
                yield connection
            else:
                with self._base.engine.connect() as connection:
                    yield connection

    def _make(self, documents: Mapping[str, Any], who: str) -> None:
        if isinstance(self._base, SQLite):  # cannot be set within a transaction
            with self._base.engine.connect() as connection:
                connection.connection.cursor().execute("pragma journal_mode = wal")
        with self._connected(write=True) as connection:
            if self._base.has_tables(connection):
                raise FFMLError(
                    f"{self.name} holds a run already; open it, or choose another place"
                )
            self._base.namespace(connection)
            create(connection)
            transaction = Transaction(connection, {}, who, "create")
            for key, value in {**documents, "format": FORMAT}.items():
                transaction.put_document(key, value)
            transaction.finish()
            connection.commit()

    def _bring_up_to_date(self) -> None:
        with self._reading() as connection:
            if not self._base.has_tables(connection):
                raise FFMLError(f"{self.name} holds no run; check the address, or start one there")
        form = self.document("format")
        if not isinstance(form, int) or not 1 <= form <= FORMAT:
            raise FFMLError(
                f"{self.name} has format {form}, this ffml reads {FORMAT}; update ffml to go on"
            )
        if form < FORMAT and self._write:
            with self.transaction("ffml", f"format {FORMAT}") as transaction:
                transaction.migrate(self.document("format"))  # another may have done it meanwhile


_SNAPSHOT = "REPEATABLE READ"
