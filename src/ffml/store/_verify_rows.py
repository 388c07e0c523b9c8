"""Verifying rows that are only ever appended: decisions and labels."""

import hashlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import sqlalchemy as sa

from ffml.store import _chain, _read, _schema
from ffml.store._values import Event, Finding

_CHUNK = 20_000
_NUMBERS = ("seq", "round", "cell", "version", "event")
_MAYBE = ("decision", "unpriced", "first_label")


class Rows:
    """One pass over all decisions and labels, in their order."""

    def __init__(self, connection: sa.Connection, events: list[Event]) -> None:
        self._connection = connection
        self._events = events
        self._digests: dict[int, Any] = {}  # event -> hash of the hashes so far
        self._suspects: set[int] = set()  # events with a row that is told of already
        self._tasks = _read.task_names(connection)
        self.sizes = (0, 0, 0)  # decisions, labels, people forgotten

    def findings(self) -> list[Finding]:
        """Return what is wrong, by row where it can be told."""
        forgotten = {seq for event in self._events for seq in event.document.get("forgotten", ())}
        found = [*self._pass(_schema.decisions, lambda rows: self._decisions(rows, forgotten))]
        decisions = self._size
        found += self._pass(_schema.labels, self._labels)
        self.sizes = (decisions, self._size, len(forgotten))
        return [*found, *self._whole()]

    def _pass(self, table: sa.Table, check: Any) -> Iterator[Finding]:
        """Go through a table; tell rows that no event knows, and numbers that have no row."""
        ranges = [
            (e.seq, *e.document[table.name]) for e in self._events if table.name in e.document
        ]
        owner = {seq: event for event, first, n in ranges for seq in range(first, first + n)}
        self._size, last = 0, 0
        self._joint = table is _schema.labels
        if self._joint:
            for event in self._events:
                self._digests.setdefault(event.seq, hashlib.sha256()).update(b"|")
        while rows := self._connection.execute(
            sa.select(table).where(table.c.seq > last).order_by(table.c.seq).limit(_CHUNK)
        ).all():
            last, self._size = rows[-1].seq, self._size + len(rows)
            for row in rows:
                if owner.pop(row.seq, None) != row.event:
                    yield self._finding(table, row, "added, or moved to another event")
                self._digests.setdefault(row.event, hashlib.sha256()).update(_bytes(row.hash))
            for row, what in check(rows):
                yield self._finding(table, row, what)
        for seq, event in owner.items():
            self._suspects.add(event)
            yield Finding(table.name, f"number {seq}, event {event}", "missing")

    def _decisions(self, rows: list[Any], forgotten: set[int]) -> Iterator[tuple[Any, str]]:
        try:
            hashes = _hashes(rows)
        except (TypeError, ValueError, OverflowError):  # a value of another kind: find its row
            if len(rows) == 1:
                yield rows[0], "changed"
            else:
                half = len(rows) // 2
                yield from self._decisions(rows[:half], forgotten)
                yield from self._decisions(rows[half:], forgotten)
            return
        for row, own in zip(rows, hashes, strict=True):
            if row.hash != own:
                yield row, "changed"
            elif (row.forgotten is not None) != (row.seq in forgotten):
                yield row, "its person was taken out or put back, without `forget`"

    def _labels(self, rows: list[Any]) -> Iterator[tuple[Any, str]]:
        for row in rows:
            if _chain.label_hash(*row[:4]) != row.hash:
                yield row, "changed"

    def _whole(self) -> Iterator[Finding]:
        """Tell events whose rows differ though each fits its own hash."""
        for event in self._events:
            changed = self._digests[event.seq].hexdigest() != event.digest
            if changed and event.seq not in self._suspects:
                where = f"event {event.seq}, {_range(event)}"
                yield Finding("events", where, "its decisions or labels were changed")

    def _finding(self, table: sa.Table, row: Any, what: str) -> Finding:
        self._suspects.add(row.event)
        if table is _schema.labels:
            c = _schema.decisions.c
            person = self._connection.execute(
                sa.select(c.round, c.id).where(c.seq == row.decision)
            ).first()
            return Finding("labels", f"number {row.seq}, {self._where(person)}", what)
        return Finding("decisions", f"number {row.seq}, {self._where(row)}", what)

    def _where(self, row: Any) -> str:
        if row is None:
            return "of a decision that is missing"
        person = "a person forgotten" if row.id is None else f"id {row.id}"
        return f"task {self._tasks.get(row.round, row.round)}, {person}"


def _hashes(rows: list[Any]) -> list[bytes]:
    columns: dict[str, Any] = {name: [getattr(row, name) for row in rows] for name in _NUMBERS}
    for name in _MAYBE:
        columns[name] = [-1 if (v := getattr(row, name)) is None else v for row in rows]
    columns["probability"] = np.array([row.probability for row in rows], np.float64)
    return _chain.decision_hashes([row.forgotten or _person(row) for row in rows], **columns)


def _person(row: Any) -> bytes:
    if row.id is None or row.content is None:
        return b""
    return _chain.person_hash(row.id, row.content)


def _bytes(value: Any) -> bytes:
    return value if isinstance(value, bytes) else str(value).encode()


def _range(event: Event) -> str:
    names = ("decisions", "labels")
    parts = [(name, *event.document[name]) for name in names if name in event.document]
    return ", ".join(f"{name} {first} to {first + n - 1}" for name, first, n in parts)
