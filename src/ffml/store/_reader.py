"""What can be asked of a run: by anybody, and never waiting for who writes."""

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import sqlalchemy as sa

from ffml.store import _chain, _json, _labels, _looks, _read, _schema
from ffml.store._database import Database, SQLite
from ffml.store._values import Counts, Event, Labels, Placement, Round, Version, VersionRow

_SNAPSHOT = "REPEATABLE READ"


class Reader:
    """A run that is read."""

    def __init__(self, base: Database) -> None:
        self._base, self._local = base, threading.local()

    @property
    def name(self) -> str:
        """Where the run is, without a password."""
        return self._base.name

    @contextmanager
    def snapshot(self) -> Iterator["Reader"]:
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

    def thresholds(self, events: Sequence[int]) -> dict[int, float]:
        """Return the thresholds of events that decided about people one by one."""
        with self._reading() as connection:
            return _read.thresholds(connection, events)

    def rates(
        self, start: str | None = None, end: str | None = None, by: str | None = None
    ) -> list[Any]:
        """Count decisions by the time at which they were made, see `ffml.Run.rates`."""
        sums: dict[tuple[str, int], list[int]] = {}
        for period, cell, label, decision, unpriced, n in self.periods(start, end, by):
            known, free = int(label >= 0), max(unpriced, 0)
            row = (1, decision, free, known, max(label, 0))
            before = sums.get((period, cell), [0] * len(row))
            sums[period, cell] = [old + n * one for old, one in zip(before, row, strict=True)]
        return [(*key, *row) for key, row in sums.items()]

    def periods(
        self, start: str | None = None, end: str | None = None, by: str | None = None
    ) -> list[Any]:
        """Count decisions by their time: rows of period, cell, label, decision, unpriced, n."""
        with self._reading() as connection:
            return _read.periods(connection, start, end, by)

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

    def events(self, after: int = 0, most: int | None = None) -> list[Event]:
        """Return who wrote what when, ``most`` of those after a number."""
        table = _schema.events
        some = sa.select(table).where(table.c.seq > after).order_by(table.c.seq).limit(most)
        with self._reading() as connection:
            rows = connection.execute(some)
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
