"""One event of a ledger while it is written: its place in the chain, and what it vouches for."""

import datetime
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import sqlalchemy as sa

from ffml.base import FFMLError
from ffml.store import _chain, _json, _schema
from ffml.store._migrations import FORMAT, migrate
from ffml.store._people import PeopleReader
from ffml.store._reader import DECIDING

STATUSES = ("open", "decided", "learned")
KEPT_STATES = 3  # newest versions that keep their bytes
KEPT_PROMOTED = 8  # versions promoted last, which keep theirs too
_HEAD = sa.text("select seq, hash from events order by seq desc limit 1")


class Writer:
    """Writes documents, rounds and versions, and notes each in the event."""

    def __init__(
        self, connection: sa.Connection, reader: PeopleReader, who: str, what: str
    ) -> None:
        self._connection, self._reader = connection, reader
        self._manifest: dict[str, Any] = {}
        self._hashes: dict[str, list[bytes]] = {"decisions": [], "labels": []}
        head = connection.execute(_HEAD).first()
        self._event: int = head.seq + 1 if head else 1
        previous = head.hash if head else _chain.START
        at = datetime.datetime.now(datetime.UTC).isoformat(timespec="microseconds")
        self.what = what
        self._row = {"seq": self._event, "at": at, "who": _json.plain(who)}
        self._row |= {"what": _json.plain(what), "document": "", "digest": "", "previous": previous}
        # First, since rows refer to it; `finish` fills it in.
        connection.execute(sa.insert(_schema.events), self._row | {"hash": ""})

    def migrate(self) -> None:
        """Bring the tables from an earlier format to the newest; another may have done it."""
        at = self._reader.document("format")
        if at < FORMAT:
            migrate(self._connection, at)
            self.put_document("format", FORMAT)

    def put_document(self, key: str, value: Any) -> None:
        """Keep a JSON document under a name, in place of the one before."""
        text = _json.encode(value)
        self._put(_schema.run, {"key": _json.plain(key)}, {"value": text})
        self._note("documents", key, _chain.of(key, text))

    def put_round(self, task: str, status: str, document: Any) -> int:
        """Keep what is known of a task; return its number. A task has one row."""
        if status not in STATUSES:
            raise FFMLError(f"a round's status is one of {', '.join(STATUSES)}, got {status!r}")
        table, text = _schema.rounds, _json.encode(document)
        number = self._connection.scalar(sa.select(table.c.round).where(table.c.task == task))
        if number is None:
            number = self._next(table.c.round)
        values = {"task": _json.plain(task), "status": status, "document": text}
        self._put(table, {"round": number}, values)
        self._note("rounds", str(number), _chain.of(number, task, status, text))
        return number

    def set_status(self, task: str, status: str) -> None:
        """Say of a task what has become of it; its document stays."""
        row = self._reader.round_of(task)
        if row is None:
            raise FFMLError(f"the ledger has no task {task!r}; check its name")
        self.put_round(task, status, row.document)

    def put_version(
        self,
        document: Any,
        state: bytes,
        parts: Sequence[str] = (),
        new: Mapping[str, bytes] | None = None,
        round: int | None = None,
    ) -> int:
        """Append a version of the learner; return its number. Old ones lose their bytes.

        Args:
            document: what to say of it.
            state: its bytes.
            parts: checksums (SHA-256) of the blobs that the state refers to.
            new: the bytes of those that were not kept before, by checksum.
            round: the task that it was learned from, if one.
        """
        table, text = _schema.versions, _json.encode(document)
        number = self._next(table.c.number)
        total, parent = _chain.checksum(state, parts), number - 1 or None
        last = number - KEPT_STATES  # those before have lost theirs
        old = table.c.number.between(last - KEPT_STATES, last)
        self._drop_states(old & table.c.number.not_in(self._promoted()))
        row: dict[str, Any] = {
            "number": number,
            "round": round,
            "event": self._event,
            "checksum": total,
        }
        row |= {"parent": parent, "document": text, "state": state}
        self._connection.execute(sa.insert(table), row)
        self._put_blobs(number, parts, new or {})
        self._note("versions", str(number), _chain.of(number, round, total, parent, text))
        return number

    def promote(self, number: int | None) -> None:
        """Let a version decide from now on, whatever is learned; None: always the newest."""
        versions = _schema.versions.c
        known = sa.select(versions.state.is_not(None)).where(versions.number == number)
        if number is not None and not self._connection.scalar(known):
            raise FFMLError(
                f"version {number} has no state any more, or never was; `Run.versions` lists those "
                "that can decide"
            )
        before = self._promoted()
        kept = [*(one for one in before if one != number), *([number] if number else [])]
        self.put_document(DECIDING, {"version": number, "kept": kept[-KEPT_PROMOTED:]})
        old = self._reader.version_number - KEPT_STATES
        self._drop_states(versions.number.in_([n for n in kept[:-KEPT_PROMOTED] if n <= old]))
        self._drop_unused_blobs()

    def finish(self) -> bool:
        """Complete the event; False if nothing was written, so that there is nothing to keep."""
        if not any(self._manifest.values()):
            return False
        self._row |= {"what": _json.plain(self.what), "document": _json.encode(self._manifest)}
        self._row["digest"] = _chain.digest(*self._hashes.values())
        values = {name: self._row[name] for name in ("what", "document", "digest")}  # not its key:
        values["hash"] = _chain.of(*self._row.values())  # who refers to it would be looked for
        event = sa.update(_schema.events).where(_schema.events.c.seq == self._event)
        self._connection.execute(event.values(values))
        return True

    # -- the parts -------------------------------------------------------------------------------

    def _next(self, column: sa.Column) -> int:
        return (self._connection.scalar(_newest(column)) or 0) + 1

    def _note(self, kind: str, key: str, sum_: str) -> None:
        self._manifest.setdefault(kind, {})[key] = sum_

    def _append(self, kind: str, first: int, hashes: list[bytes]) -> None:
        self._hashes[kind].extend(hashes)
        if self._hashes[kind]:
            start = self._manifest.get(kind, [first])[0]
            self._manifest[kind] = [start, len(self._hashes[kind])]

    def _put(self, table: sa.Table, key: dict[str, Any], values: dict[str, Any]) -> None:
        ((name, wanted),) = key.items()
        update = sa.update(table).where(table.c[name] == wanted).values(values)
        if not self._connection.execute(update).rowcount:
            self._connection.execute(sa.insert(table), key | values)

    def _promoted(self) -> list[int]:
        return (self._reader.document(DECIDING) or {"kept": []})["kept"]

    def _drop_states(self, which: sa.ColumnElement[bool]) -> None:
        versions, parts = _schema.versions, _schema.parts
        self._connection.execute(sa.update(versions).where(which).values(state=None))
        numbers = sa.select(versions.c.number).where(which)
        self._connection.execute(sa.delete(parts).where(parts.c.version.in_(numbers)))

    def _put_blobs(self, number: int, parts: Sequence[str], new: Mapping[str, bytes]) -> None:
        table, links = _schema.blobs, _schema.parts
        known = set(self._connection.scalars(sa.select(table.c.sha256)))
        if lost := next((name for name in parts if name not in known and name not in new), None):
            raise FFMLError(f"a part of the state is not in the ledger ({lost[:8]}…); try again")
        fresh = [{"sha256": n, "bytes": data} for n, data in new.items() if n not in known]
        if fresh:
            self._connection.execute(sa.insert(table), fresh)
        if parts:
            rows = [{"version": number, "place": i, "sha256": n} for i, n in enumerate(parts)]
            self._connection.execute(sa.insert(links), rows)
        self._drop_unused_blobs()

    def _drop_unused_blobs(self) -> None:
        table = _schema.blobs
        unused = table.c.sha256.not_in(sa.select(_schema.parts.c.sha256))
        self._connection.execute(sa.delete(table).where(unused))


@lru_cache
def _newest(column: sa.Column) -> sa.Select[Any]:
    return sa.select(sa.func.max(column))
