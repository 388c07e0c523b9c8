"""What can be asked of a run: by anybody, and never waiting for who writes."""

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Self

import numpy as np
import sqlalchemy as sa

from ffml.base import FFMLError
from ffml.store import _chain, _json, _schema
from ffml.store._database import Database, SQLite
from ffml.store._values import Counts, Event, Round, Version, VersionRow

_SNAPSHOT = "REPEATABLE READ"
DECIDING = "deciding"  # the document that says which version was promoted
_DECIDING = sa.text(
    f"select (select value from run where key = '{DECIDING}'), (select max(number) from versions)"
)
_VERSIONS = sa.text(
    "select v.number, e.at, r.task, v.checksum, v.parent, v.document, v.state is not null "
    "from versions v join events e on e.seq = v.event left join rounds r on r.round = v.round "
    "order by v.number"
)


class Reader:
    """A run that is read: its documents, rounds, counts, versions and events."""

    def __init__(self, base: Database) -> None:
        self._base, self._local = base, threading.local()

    @property
    def name(self) -> str:
        """Where the run is, without a password."""
        return self._base.name

    @contextmanager
    def snapshot(self) -> Iterator[Self]:
        """Read several things as they are at one moment, never waiting for who writes."""
        if getattr(self._local, "connection", None) is not None:
            yield self
            return
        later: list[Callable[[], None]] = []
        self._local.later = later
        try:
            with self._base.explained(), self._connected(write=False):
                yield self
        finally:
            self._local.later = None
        for function in later:
            function()

    def afterwards(self, function: Callable[[], None]) -> None:
        """Call a function that writes: once the snapshot of this thread has ended, or now."""
        later = getattr(self._local, "later", None)
        if later is None:
            function()
        else:
            later.append(function)

    def document(self, key: str) -> Any:
        """Return a document by its name; None if there is none."""
        table = _schema.run.c
        text = self._value(sa.select(table.value).where(table.key == key))
        return None if text is None else _json.decode(text)

    def rounds(self) -> list[Round]:
        """Return all tasks in their order."""
        return [_round(row) for row in self._rows(_schema.rounds.select().order_by("round"))]

    def round_of(self, task: str) -> Round | None:
        """Return a task by its name; None if nobody of it was decided about."""
        table = _schema.rounds
        rows = self._rows(sa.select(table).where(table.c.task == task))
        return _round(rows[0]) if rows else None

    def task_names(self) -> dict[int, str]:
        """Return the tasks by the numbers of their rounds."""
        table = _schema.rounds.c
        rows = self._rows(sa.select(table.round, table.task).order_by(table.round))
        return {number: task for number, task in rows}

    def tasks(self) -> list[str]:
        """Name all tasks in their order."""
        return [*self.task_names().values()]

    def tasks_done(self) -> int:
        """Count the tasks that are not open any more."""
        return self._value(sa.select(sa.func.count()).where(_schema.rounds.c.status != "open"))

    def cells(self) -> dict[int, dict[str, Any]]:
        """Return the combinations of groups that occur, by number."""
        return {cell: _json.decode(groups) for cell, groups in self._rows(_schema.cells.select())}

    def counts(self) -> Counts:
        """Return how many people there are of each kind in each round."""
        table = _schema.counts
        return _as_counts(self._rows(sa.select(table).order_by(*table.primary_key)))

    def totals(self) -> Counts:
        """Return the counts of all rounds together; their round is 0."""
        c = _schema.counts.c
        kind = (c.cell, c.label, c.decision, c.unpriced)
        number = sa.cast(sa.func.sum(c.n), sa.BigInteger)
        select = sa.select(sa.literal_column("0"), *kind, number).group_by(*kind).order_by(*kind)
        return _as_counts(self._rows(select))

    @property
    def version_number(self) -> int:
        """The number of the newest version; 0 before the first."""
        return self._value(sa.select(sa.func.max(_schema.versions.c.number))) or 0

    @property
    def deciding(self) -> int:
        """The number of the version that decides: one that was promoted, or else the newest."""
        [(promoted, newest)] = self._rows(_DECIDING)
        return (_json.decode(promoted)["version"] if promoted else None) or newest or 0

    def versions(self) -> list[VersionRow]:
        """Return all versions in their order, without their bytes."""
        now = self.deciding
        return [
            VersionRow(
                number, at, task, checksum, parent, _json.decode(text), bool(kept), number == now
            )
            for number, at, task, checksum, parent, text, kept in self._rows(_VERSIONS)
        ]

    def version(self, number: int | None = None) -> Version | None:
        """Return a version with its bytes; None: the newest. Damaged bytes are refused."""
        table = _schema.versions
        select = sa.select(table).order_by(table.c.number.desc()).limit(1)
        with self._reading() as connection:
            found = select if number is None else select.where(table.c.number == number)
            row = connection.execute(found).first()
            if row is None:
                return None
            parts = parts_of(connection, row.number)
        if row.state is not None and not is_whole(row, parts):
            raise FFMLError(
                f"version {row.number} in {self.name} is damaged; put the newest copy of the run "
                "back"
            )
        state = None if row.state is None else bytes(row.state)
        known = (row.number, row.round, row.checksum, row.parent, _json.decode(row.document))
        return Version(*known, state, parts)

    def events(self, after: int = 0, most: int | None = None) -> list[Event]:
        """Return who wrote what when, ``most`` of those after a number."""
        table = _schema.events
        some = sa.select(table).where(table.c.seq > after).order_by(table.c.seq).limit(most)
        rows = self._rows(some)
        return [Event(**row._asdict() | {"document": _json.decode(row.document)}) for row in rows]

    @property
    def head(self) -> str:
        """The hash of the newest event. Who notes it elsewhere can tell later if it was undone."""
        events = _schema.events.c
        newest = sa.select(events.hash).order_by(events.seq.desc()).limit(1)
        return self._value(newest) or _chain.START

    # -- the parts -------------------------------------------------------------------------------

    def _rows(self, statement: sa.Executable, given: Mapping[str, Any] | None = None) -> list[Any]:
        with self._reading() as connection:
            return [*connection.execute(statement, given)]

    def _value(self, statement: sa.Executable) -> Any:
        with self._reading() as connection:
            return connection.scalar(statement)

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


def parts_of(connection: sa.Connection, number: int) -> dict[str, bytes]:
    """Return the blobs that a version is made of, by their checksums."""
    parts, blobs = _schema.parts, _schema.blobs
    joined = sa.select(parts.c.sha256, blobs.c.bytes).join(blobs).order_by(parts.c.place)
    rows = connection.execute(joined.where(parts.c.version == number))
    return {name: data for name, data in rows}


def is_whole(row: Any, parts: Mapping[str, bytes]) -> bool:
    """Tell whether a version's bytes are those that were kept."""
    whole = all(_chain.of_bytes(data) == name for name, data in parts.items())
    return whole and _chain.checksum(row.state, [*parts]) == row.checksum


def _round(row: Any) -> Round:
    return Round(row.round, row.task, row.status, _json.decode(row.document))


def _as_counts(rows: list[Any]) -> Counts:
    return Counts(*np.array([tuple(row) for row in rows], np.int64).reshape(-1, 6).T)
