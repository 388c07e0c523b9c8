"""Verifying what is replaced in time: documents, rounds, cells, versions, and the counts."""

from collections.abc import Iterator
from typing import Any

import sqlalchemy as sa

from ffml.store import _chain, _read, _schema
from ffml.store._schema import NEWEST_LABEL
from ffml.store._values import Event, Finding
from ffml.store._versions import KEPT_STATES

_KINDS: dict[str, tuple[sa.Table, tuple[str, ...], str]] = {  # manifest -> table, hashed, shown
    "documents": (_schema.run, ("key", "value"), "document"),
    "rounds": (_schema.rounds, ("round", "task", "status", "document"), "round"),
    "cells": (_schema.cells, ("cell", "groups"), "cell"),
    "versions": (
        *(_schema.versions, ("number", "round", "checksum", "parent", "document")),
        "version",
    ),
    "requests": (_schema.requests, ("key", "asked", "decisions"), "request"),
}
_KIND = "label, decision, unpriced"
_TRUTH = f"""
select d.round, d.cell, coalesce({NEWEST_LABEL}, -1) as label, coalesce(d.decision, -1) as decision,
       coalesce(d.unpriced, -1) as unpriced, 1 as one from decisions d
"""
_COUNTED = f"select round, cell, {_KIND}, count(*) as n from ({_TRUTH}) t group by 1, 2, 3, 4, 5"
_SEEN = """
select r.round, c.cell, coalesce(p.label, -1) as label, coalesce(p.decision, -1) as decision,
       coalesce(p.unpriced, -1) as unpriced, count(*) as n
from people p join rounds r on r.task = p.task join cells c on c.groups = p.groups
group by 1, 2, 3, 4, 5
"""
_KEPT = f"select round, cell, {_KIND}, n from counts"


def findings(connection: sa.Connection, events: list[Event]) -> Iterator[Finding]:
    """Compare what is there with what the newest event about it says."""
    for kind, (table, names, word) in _KINDS.items():
        told: dict[str, str] = {}
        for event in events:
            told |= event.document.get(kind, {})
        if table is _schema.requests and not sa.inspect(connection).has_table(table.name):
            continue  # a run of format 1, opened to read
        rows = connection.execute(sa.select(*(table.c[name] for name in names))).all()
        yield from _compare(table.name, word, told, {str(row[0]): row for row in rows})
    yield from _bytes(connection, events)
    yield from _numbers(connection, "counts", _KEPT)
    yield from _numbers(connection, "people", _SEEN)


def _compare(
    table: str, word: str, told: dict[str, str], rows: dict[str, Any]
) -> Iterator[Finding]:
    for key in sorted(told.keys() | rows.keys()):
        if key not in rows:
            yield Finding(table, f"{word} {key}", "missing")
        elif key not in told:
            yield Finding(table, _where(word, rows[key]), "added")
        elif _chain.of(*rows[key]) != told[key]:
            yield Finding(table, _where(word, rows[key]), "changed")


def _where(word: str, row: Any) -> str:
    return f"task {row.task}" if word == "round" else f"{word} {row[0]}"


def _bytes(connection: sa.Connection, events: list[Event]) -> Iterator[Finding]:
    """Check the bytes of the newest versions; `forget` leaves those of the last one alone."""
    versions, parts, blobs = _schema.versions, _schema.parts, _schema.blobs
    newest = sa.select(versions.c.number).order_by(versions.c.number.desc()).limit(KEPT_STATES)
    some = versions.c.state.is_not(None) | versions.c.number.in_(newest)
    rows = sa.select(versions).where(some).order_by(versions.c.number.desc())
    forgot = max((e.seq for e in events if e.document.get("forgotten")), default=0)
    for place, row in enumerate(connection.execute(rows).all()):
        if row.state is None and place and row.event < forgot:
            continue
        joined = (
            sa.select(parts.c.sha256, blobs.c.bytes)
            .join(blobs)
            .where(parts.c.version == row.number)
            .order_by(parts.c.place)
        )
        sums = {name: _chain.of_bytes(data) for name, data in connection.execute(joined)}
        if row.state is None:
            yield Finding("versions", f"version {row.number}", "its state is missing")
        elif [*sums] != [*sums.values()] or _chain.checksum(row.state, [*sums]) != row.checksum:
            yield Finding("versions", f"version {row.number}", "its state or a blob was changed")


def _numbers(connection: sa.Connection, table: str, kept: str) -> Iterator[Finding]:
    """Count people anew and compare."""
    wrong = f"select round, cell from (({kept}) except ({_COUNTED})) a"
    absent = f"select round, cell from (({_COUNTED}) except ({kept})) b"
    if connection.dialect.name == "sqlite":  # which wants no brackets there
        wrong = (
            f"select round, cell from (select * from ({kept}) except select * from ({_COUNTED}))"
        )
        absent = (
            f"select round, cell from (select * from ({_COUNTED}) except select * from ({kept}))"
        )
    rows = connection.exec_driver_sql(f"{wrong} union {absent} order by 1, 2").all()
    tasks = _read.task_names(connection)
    for number, cell in rows:
        where = f"task {tasks.get(number, number)}, cell {cell}"
        yield Finding(table, where, "differs from the people of the task")
