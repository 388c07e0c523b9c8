"""Versions of the learner: appended, promoted, and emptied of their bytes once they are old."""

from collections.abc import Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from ffml.base import FFMLError
from ffml.store import _chain, _json, _read, _schema
from ffml.store._writer import Writer

KEPT_STATES = 3  # newest versions that keep their bytes
KEPT_PROMOTED = 8  # versions promoted last, which keep theirs too


class VersionWriter(Writer):
    """Writes versions."""

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
        for name, data in (new or {}).items():
            if _chain.of_bytes(data) != name:
                raise FFMLError("a part of the state is not what its checksum says; try again")
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
        newest = self._next(versions.number) - 1
        value = {"version": number, "kept": kept[-KEPT_PROMOTED:]}
        self.put_document(_read.DECIDING, value)
        gone = [one for one in kept[:-KEPT_PROMOTED] if one <= newest - KEPT_STATES]
        self._drop_states(versions.number.in_(gone))
        self._drop_unused_blobs()

    def _promoted(self) -> list[int]:
        return (_read.document(self._connection, _read.DECIDING) or {"kept": []})["kept"]

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
