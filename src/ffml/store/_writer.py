"""One event of a ledger while it is written: its place in the chain, and what it vouches for."""

import datetime
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import sqlalchemy as sa

from ffml.store import _chain, _json, _schema
from ffml.store._migrations import FORMAT, migrate

_HEAD = sa.text("select seq, hash from events order by seq desc limit 1")


class Writer:
    """Writes documents and rows, and notes each in the event."""

    def __init__(
        self, connection: sa.Connection, cells: dict[str, int], who: str, what: str
    ) -> None:
        self._connection = connection
        self._known_cells = cells  # committed ones, by their JSON
        self.new_cells: dict[str, int] = {}
        self._manifest: dict[str, Any] = {}
        self._hashes: tuple[list[bytes], list[bytes]] = ([], [])  # of decisions, of labels
        head = connection.execute(_HEAD).first()
        self._event: int = head.seq + 1 if head else 1
        previous = head.hash if head else _chain.START
        at = datetime.datetime.now(datetime.UTC).isoformat(timespec="microseconds")
        self.what = what
        self._row = {"seq": self._event, "at": at, "who": _json.plain(who)}
        self._row |= {"what": _json.plain(what), "document": "", "digest": "", "previous": previous}
        # First, since rows refer to it; `finish` fills it in.
        connection.execute(sa.insert(_schema.events), self._row | {"hash": ""})

    def migrate(self, at: int) -> None:
        """Bring the tables from an earlier format to the newest."""
        if at < FORMAT:
            migrate(self._connection, at)
            self.put_document("format", FORMAT)

    def put_document(self, key: str, value: Any) -> None:
        """Keep a JSON document under a name, in place of the one before."""
        text = _json.encode(value)
        self._put(_schema.run, {"key": _json.plain(key)}, {"value": text})
        self._note("documents", key, _chain.of(key, text))

    def finish(self) -> bool:
        """Complete the event; False if nothing was written, so that there is nothing to keep."""
        if not any(self._manifest.values()):
            return False
        self._row |= {"what": _json.plain(self.what), "document": _json.encode(self._manifest)}
        self._row["digest"] = _chain.digest(*self._hashes)
        values = {name: self._row[name] for name in ("what", "document", "digest")}  # not its key:
        values["hash"] = _chain.of(*self._row.values())  # who refers to it would be looked for
        event = sa.update(_schema.events).where(_schema.events.c.seq == self._event)
        self._connection.execute(event.values(values))
        return True

    def _next(self, column: sa.Column) -> int:
        return (self._connection.scalar(_newest(column)) or 0) + 1

    def _note(self, kind: str, key: str, sum_: str) -> None:
        self._manifest.setdefault(kind, {})[key] = sum_

    def _append(self, place: int, kind: str, first: int, hashes: list[bytes]) -> None:
        start = self._manifest.get(kind, [first])[0]
        self._hashes[place].extend(hashes)
        if self._hashes[place]:
            self._manifest[kind] = [start, len(self._hashes[place])]

    def _put(self, table: sa.Table, key: dict[str, Any], values: dict[str, Any]) -> None:
        ((name, wanted),) = key.items()
        update = sa.update(table).where(table.c[name] == wanted).values(values)
        if not self._connection.execute(update).rowcount:
            self._connection.execute(sa.insert(table), key | values)

    def _insert(self, table: sa.Table, names: tuple[str, ...], columns: dict[str, Any]) -> None:
        """Insert many rows by the driver's own call."""
        text, order = _insertion(table, names, self._connection.dialect)
        rows = list(zip(*(columns[name] for name in order), strict=True))
        if rows:
            self._connection.exec_driver_sql(text, rows)


@lru_cache
def _newest(column: sa.Column) -> sa.Select[Any]:
    return sa.select(sa.func.max(column))


@lru_cache
def _insertion(table: sa.Table, names: tuple[str, ...], dialect: Any) -> tuple[str, Sequence[str]]:
    """Compile an insertion once for many; return its text and the order of its values."""
    compiled: Any = sa.insert(table).compile(dialect=dialect, column_keys=list(names))
    return str(compiled), compiled.positiontup or names
