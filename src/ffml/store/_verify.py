"""Is everything as it was written? Each event vouches for what its transaction wrote.

Found is what was changed, removed, added or swapped by anybody but this package. Who can rewrite
the whole file can also make a whole new chain, or put back an old copy: against that, note
`Store.head` elsewhere and give it to `verify`.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import sqlalchemy as sa

from ffml.store import _chain, _json, _schema, _verify_rows, _verify_values
from ffml.store._store import Store
from ffml.store._values import Event, Finding


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
        findings = list(_file(connection))
        if findings:  # its pages are damaged: rows cannot be trusted
            return Verification(findings, 0, 0, 0, 0, "")
        raw = connection.execute(sa.select(_schema.events).order_by(_schema.events.c.seq)).all()
        findings += _links(raw, head)
        events = [_event(row) for row in raw]
        findings += _verify_values.findings(connection, events)
        rows = _verify_rows.Rows(connection, events)
        findings += rows.findings()
        newest = events[-1].hash if events else _chain.START
        return Verification(findings, len(events), *rows.sizes, newest)


def _file(connection: sa.Connection) -> list[Finding]:
    if connection.dialect.name != "sqlite":
        return []
    words = connection.exec_driver_sql("pragma integrity_check").scalars().all()
    return [Finding("run.db", "file", word) for word in words if word != "ok"]


def _event(row: Any) -> Event:
    try:
        document = _json.decode(row.document)
    except (ValueError, TypeError):  # told of by `_links`
        document = {}
    return Event(**row._asdict() | {"document": document if isinstance(document, dict) else {}})


def _links(events: Sequence[Any], head: str | None) -> list[Finding]:
    """Check that each event follows the one before."""
    found, seq, previous = [], 0, _chain.START
    for event in events:
        for missing in range(seq + 1, event.seq):
            found.append(Finding("events", f"event {missing}", "missing"))
        if _chain.of(*event[:7]) != event.hash:
            found.append(Finding("events", f"event {event.seq}, {event.what}", "changed"))
        elif event.previous != previous and event.seq == seq + 1:
            found.append(Finding("events", f"event {event.seq}", "does not follow the one before"))
        seq, previous = event.seq, event.hash
    if head is not None and head not in {_chain.START, *(event.hash for event in events)}:
        found.append(Finding("events", f"head {head[:12]}…", "missing: an older copy was put back"))
    return found
