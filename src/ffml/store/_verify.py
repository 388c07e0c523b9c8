"""Is everything as it was written? Each event vouches for what its transaction wrote.

Found is what was changed, removed, added or swapped by anybody but this package. Who can rewrite
the whole file can also make a whole new chain, or put back an old copy: against that, note
`Store.head` elsewhere and give it to `verify`.
"""

import hashlib
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import sqlalchemy as sa

from ffml.store import _chain, _json, _schema
from ffml.store._reader import is_whole, parts_of
from ffml.store._schema import NEWEST_LABEL
from ffml.store._store import Store
from ffml.store._values import Event, Finding
from ffml.store._writer import KEPT_STATES

_CHUNK = 20_000
# What is replaced in time: kind in an event's document -> table, what is hashed, its name.
_REPLACED: dict[str, tuple[sa.Table, tuple[str, ...], str]] = {
    "documents": (_schema.run, ("key", "value"), "document"),
    "rounds": (_schema.rounds, ("round", "task", "status", "document"), "round"),
    "cells": (_schema.cells, ("cell", "groups"), "cell"),
    "versions": (
        *(_schema.versions, ("number", "round", "checksum", "parent", "document")),
        "version",
    ),
    "requests": (_schema.requests, ("key", "asked", "decisions"), "request"),
}
# What is only ever appended, with whom it is about.
_APPENDED = {
    "decisions": "select * from decisions",
    "labels": (
        "select l.*, d.round, d.id from labels l left join decisions d on d.seq = l.decision"
    ),
}
_KIND = """coalesce({0}, -1) as label, coalesce({1}.decision, -1) as decision,
           coalesce({1}.unpriced, -1) as unpriced"""
_PEOPLE = f"""
select round, cell, label, decision, unpriced, count(*) as n
from (select d.round, d.cell, {_KIND.format(NEWEST_LABEL, "d")} from decisions d) t
group by 1, 2, 3, 4, 5
"""
_COUNTED = {  # by the table of counts, and as an auditor sees it
    "counts": "select round, cell, label, decision, unpriced, n from counts",
    "people": f"""
        select r.round, c.cell, {_KIND.format("p.label", "p")}, count(*) as n
        from people p join rounds r on r.task = p.task join cells c on c.groups = p.groups
        group by 1, 2, 3, 4, 5
    """,
}
_DIFFERENT = """
select round, cell from (select * from ({0}) a except select * from ({1}) b) c union
select round, cell from (select * from ({1}) a except select * from ({0}) b) d order by 1, 2
"""


class Verification(NamedTuple):
    """What `verify` looked at, and what is wrong with it."""

    findings: list[Finding]
    events: int
    decisions: int
    labels: int
    forgotten: int  # decisions whose person was taken out on request
    head: str

    @property
    def sound(self) -> bool:
        """Whether nothing is wrong."""
        return not self.findings


def verify(store: Store, head: str | None = None) -> Verification:
    """Go through all rows once, at one moment; ``head`` is one that was noted earlier."""
    with store.snapshot() as moment, moment._reading() as connection:
        if connection.dialect.name == "sqlite":
            words = connection.exec_driver_sql("pragma integrity_check").scalars().all()
            if words != ["ok"]:  # its pages are damaged: rows cannot be trusted
                return Verification([Finding("run.db", "file", w) for w in words], 0, 0, 0, 0, "")
        return _Verifier(connection, moment.task_names()).verification(head)


class _Verifier:
    """One pass over all that a run's events vouch for."""

    def __init__(self, connection: sa.Connection, tasks: dict[int, str]) -> None:
        self._connection, self._tasks = connection, tasks
        select = sa.select(_schema.events).order_by(_schema.events.c.seq)
        self._raw = connection.execute(select).all()
        self._events = [_event(row) for row in self._raw]
        self._forgotten = {n for one in self._events for n in one.document.get("forgotten", ())}
        self._digests = {event.seq: hashlib.sha256() for event in self._events}
        self._sizes = dict.fromkeys(_APPENDED, 0)
        self._suspects: set[int] = set()  # events with a row that is told of already

    def verification(self, head: str | None) -> Verification:
        findings = [*self._links(head), *self._replaced(), *self._bytes(), *self._counts()]
        findings += self._appended("decisions")
        for digest in self._digests.values():
            digest.update(b"|")
        findings += [*self._appended("labels"), *self._whole()]
        newest = self._events[-1].hash if self._events else _chain.START
        events, forgotten = len(self._events), len(self._forgotten)
        return Verification(findings, events, **self._sizes, forgotten=forgotten, head=newest)

    def _links(self, head: str | None) -> Iterator[Finding]:
        """Check that each event follows the one before."""
        seq, previous = 0, _chain.START
        for event in self._raw:
            for missing in range(seq + 1, event.seq):
                yield Finding("events", f"event {missing}", "missing")
            if _chain.of(*event[:7]) != event.hash:
                yield Finding("events", f"event {event.seq}, {event.what}", "changed")
            elif event.previous != previous and event.seq == seq + 1:
                yield Finding("events", f"event {event.seq}", "does not follow the one before")
            seq, previous = event.seq, event.hash
        if head is not None and head not in {_chain.START, *(event.hash for event in self._raw)}:
            words = "missing: an older copy was put back"
            yield Finding("events", f"head {head[:12]}…", words)

    def _replaced(self) -> Iterator[Finding]:
        """Compare what is there with what the newest event about it says."""
        for kind, (table, names, word) in _REPLACED.items():
            if table is _schema.requests and not sa.inspect(self._connection).has_table(table.name):
                continue  # a run of format 1, opened to read
            hashes: dict[str, str] = {}
            for event in self._events:
                hashes |= event.document.get(kind, {})
            found = self._connection.execute(sa.select(*(table.c[name] for name in names)))
            rows = {str(row[0]): row for row in found}
            for key in sorted(hashes.keys() | rows.keys()):
                row = rows.get(key)
                where = f"task {row.task}" if row and word == "round" else f"{word} {key}"
                if row is None:
                    yield Finding(table.name, where, "missing")
                elif key not in hashes:
                    yield Finding(table.name, where, "added")
                elif _chain.of(*row) != hashes[key]:
                    yield Finding(table.name, where, "changed")

    def _bytes(self) -> Iterator[Finding]:
        """Check the bytes of the newest versions; `forget` leaves those of the last one alone."""
        versions = _schema.versions
        by_number = versions.c.number.desc()
        newest = sa.select(versions.c.number).order_by(by_number).limit(KEPT_STATES)
        some = versions.c.state.is_not(None) | versions.c.number.in_(newest)
        rows = self._connection.execute(sa.select(versions).where(some).order_by(by_number)).all()
        forgot = max((e.seq for e in self._events if e.document.get("forgotten")), default=0)
        for place, row in enumerate(rows):
            where = f"version {row.number}"
            if row.state is not None:
                if not is_whole(row, parts_of(self._connection, row.number)):
                    yield Finding("versions", where, "its state or a blob was changed")
            elif not place or row.event >= forgot:
                yield Finding("versions", where, "its state is missing")

    def _counts(self) -> Iterator[Finding]:
        """Count people anew and compare."""
        for table, kept in _COUNTED.items():
            for number, cell in self._connection.exec_driver_sql(_DIFFERENT.format(kept, _PEOPLE)):
                where = f"task {self._tasks.get(number, number)}, cell {cell}"
                yield Finding(table, where, "differs from the people of the task")

    def _appended(self, name: str) -> Iterator[Finding]:
        """Check every row of a table by its own hash, its event and its number."""
        ranges = [(e.seq, *e.document[name]) for e in self._events if name in e.document]
        owners = {seq: event for event, first, n in ranges for seq in range(first, first + n)}
        last = 0
        text = f"select * from ({_APPENDED[name]}) t where seq > {{}} order by seq limit {_CHUNK}"
        while rows := self._connection.exec_driver_sql(text.format(last)).all():
            last, self._sizes[name] = rows[-1].seq, self._sizes[name] + len(rows)
            for row, own in zip(rows, _hashes(name, rows), strict=True):
                what = ""
                if owners.pop(row.seq, None) != row.event:
                    what = "added, or moved to another event"
                elif row.hash != own:
                    what = "changed"
                elif name == "decisions" and (row.forgotten is None) == (
                    row.seq in self._forgotten
                ):
                    what = "its person was taken out or put back, without `forget`"
                if what:
                    self._suspects.add(row.event)
                    yield Finding(name, f"number {row.seq}, {self._where(row)}", what)
                if row.event in self._digests:
                    self._digests[row.event].update(_as_bytes(row.hash))
        for seq, event in owners.items():
            self._suspects.add(event)
            yield Finding(name, f"number {seq}, event {event}", "missing")

    def _where(self, row: Any) -> str:
        if row.round is None:
            return "of a decision that is missing"
        person = "a person forgotten" if row.id is None else f"id {row.id}"
        return f"task {self._tasks.get(row.round, row.round)}, {person}"

    def _whole(self) -> Iterator[Finding]:
        """Tell events whose rows differ though each fits its own hash."""
        for event in self._events:
            changed = self._digests[event.seq].hexdigest() != event.digest
            if changed and event.seq not in self._suspects:
                parts = [
                    (name, *event.document[name]) for name in _APPENDED if name in event.document
                ]
                where = [f"{name} {first} to {first + n - 1}" for name, first, n in parts]
                what = "its decisions or labels were changed"
                yield Finding("events", ", ".join([f"event {event.seq}", *where]), what)


def _event(row: Any) -> Event:
    try:
        document = _json.decode(row.document)
    except (ValueError, TypeError):  # told of by `_links`
        document = {}
    return Event(**row._asdict() | {"document": document if isinstance(document, dict) else {}})


def _hashes(name: str, rows: Sequence[Any]) -> list[bytes | None]:
    """Hash rows anew; None for one that holds a value of another kind."""
    if name == "labels":
        return [_chain.label_hash(*row[:4]) for row in rows]
    try:
        columns: dict[str, Any] = {
            one: [-1 if (value := getattr(row, one)) is None else value for row in rows]
            for one in _chain.WHOLE_NUMBERS
        }
        columns["probability"] = np.array([row.probability for row in rows], np.float64)
        return [*_chain.decision_hashes([row.forgotten or _person(row) for row in rows], **columns)]
    except (TypeError, ValueError, OverflowError):
        return [None] if len(rows) == 1 else [one for row in rows for one in _hashes(name, [row])]


def _person(row: Any) -> bytes:
    if row.id is None or row.content is None:
        return b""
    return _chain.person_hash(row.id, row.content)


def _as_bytes(value: Any) -> bytes:
    return value if isinstance(value, bytes) else str(value).encode()
