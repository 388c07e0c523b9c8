"""One transaction: everything that belongs together, and the event that vouches for it."""

import datetime
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import sqlalchemy as sa

from ffml.base import FFMLError
from ffml.store import _chain, _json, _labels, _read, _schema
from ffml.store._migrations import FORMAT, migrate
from ffml.store._values import Decided, Labels, Placement

KEPT_STATES = 3  # newest versions that keep their bytes
KEPT_PROMOTED = 8  # versions promoted last, which keep theirs too
STATUSES = ("open", "decided", "learned")
_DECISION = (
    *("seq", "round", "id", "cell", "content", "version", "probability"),
    *("decision", "unpriced", "first_label", "event", "hash", "x"),
)
_LABEL = ("seq", "decision", "label", "event", "hash")


class Transaction:
    """What a writer may do. Nothing is kept unless all of it is."""

    def __init__(
        self, connection: sa.Connection, cells: dict[str, int], who: str, what: str
    ) -> None:
        self._connection = connection
        self._known_cells = cells  # committed ones, by their JSON
        self.new_cells: dict[str, int] = {}
        self._manifest: dict[str, Any] = {}
        self._hashes: tuple[list[bytes], list[bytes]] = ([], [])  # of decisions, of labels
        head = connection.execute(
            sa.select(_schema.events.c.seq, _schema.events.c.hash)
            .order_by(_schema.events.c.seq.desc())
            .limit(1)
        ).first()
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
        table = _schema.rounds
        text = self._connection.scalar(sa.select(table.c.document).where(table.c.task == task))
        if text is None:
            raise FFMLError(f"the ledger has no task {task!r}; check its name")
        self.put_round(task, status, _json.decode(text))

    def add_decisions(self, number: int, people: Decided) -> range:
        """Append people of a round; return their numbers. An id comes once in a round."""
        ids = [_json.plain(str(person)) for person in people.ids]
        self._refuse_twins(number, ids)
        first, n = self._next(_schema.decisions.c.seq), len(ids)
        fields: dict[str, Any] = {
            **{"seq": np.arange(first, first + n), "cell": self._cells(people.groups, n)},
            **{"round": number, "version": people.version, "event": self._event},
            "probability": np.asarray(people.probability, np.float64) + 0.0,  # no -0.0
            **{"decision": people.decision, "unpriced": people.unpriced},
            "first_label": people.label,
        }
        columns = {name: np.broadcast_to(value, (n,)) for name, value in fields.items()}
        content = np.asarray(people.content, np.int64).tolist()
        persons = map(_chain.person_hash, ids, content)
        hashes = _chain.decision_hashes(persons, **columns)
        rows = columns_of(columns) | {"id": ids, "content": content, "hash": hashes}
        self._insert(_schema.decisions, _DECISION, rows | {"x": _features(people.x, n)})
        names = ("round", "cell", "first_label", "decision", "unpriced")
        self._count(zip(*(columns[name].tolist() for name in names), strict=True))
        self._append(0, "decisions", first, hashes)
        return range(first, first + n)

    def request(self, key: str, asked: str) -> list[int] | None:
        """Return the decisions that were made under a key before; None if it is new.

        Raises:
            FFMLError: something else was asked under that key.
        """
        table = _schema.requests
        chosen = sa.select(table.c.asked, table.c.decisions)
        row = self._connection.execute(chosen.where(table.c.key == _chain.of(key))).first()
        if row is not None and row.asked != asked:
            raise FFMLError(
                f"another request was made under the key {key!r}; give every request its own"
            )
        return None if row is None else _json.decode(row.decisions)

    def put_request(self, key: str, asked: str, decisions: Sequence[int]) -> None:
        """Keep which decisions answer a request, so that it can come again."""
        row = {"key": _chain.of(key), "asked": asked, "decisions": _json.encode(list(decisions))}
        self._connection.execute(sa.insert(_schema.requests), row | {"event": self._event})
        self._note("requests", row["key"], _chain.of(*row.values()))

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

    def drop_features(self, number: int) -> None:
        """Take the features of a task's people out; nothing needs them any more."""
        table = _schema.decisions
        dropped = sa.update(table).where(table.c.round == number, table.c.x.is_not(None))
        self._connection.execute(dropped.values(x=None))

    def add_labels(self, labels: Labels, correct: bool = False) -> Placement:
        """Append labels that came later, by the rule of `ffml.store._labels`."""
        placement = _labels.place(self._connection, labels, correct)
        if not placement.decision:
            return placement
        first, event = self._next(_schema.labels.c.seq), self._event
        seqs = range(first, first + len(placement.decision))
        hashes = [
            _chain.label_hash(*row, event)
            for row in zip(seqs, placement.decision, placement.label, strict=True)
        ]
        rows = {"seq": seqs, "decision": placement.decision, "label": placement.label}
        self._insert(_schema.labels, _LABEL, rows | {"event": [event] * len(seqs), "hash": hashes})
        self._count(placement.cell, -1)
        moved = zip(placement.cell, placement.label, strict=True)
        self._count((number, cell, label, *rest) for (number, cell, _, *rest), label in moved)
        self._append(1, "labels", first, hashes)
        return placement

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

    def forget(self, person: str, tasks: Sequence[str] | None = None) -> int:
        """Take a person's id, content and features out; return of how many decisions.

        Of the states that may hold them as people waited for, the newest alone stays.
        """
        newest = self._next(_schema.versions.c.number) - 1
        if (decides := _read.deciding(self._connection)) != newest:
            raise FFMLError(
                f"version {decides} decides, whose state may hold the person; let the newest one "
                f"decide first (ffml promote)"
            )
        table = _schema.decisions
        chosen = sa.select(table.c.seq, table.c.content).where(table.c.id == person)
        if tasks is not None:
            known = sa.select(_schema.rounds.c.round).where(_schema.rounds.c.task.in_(tasks))
            chosen = chosen.where(table.c.round.in_(known))
        rows = self._connection.execute(chosen).all()
        for row in rows:
            left: dict[str, Any] = {"forgotten": _chain.person_hash(person, row.content)}
            left |= dict.fromkeys(("id", "content", "x"))
            self._connection.execute(sa.update(table).where(table.c.seq == row.seq), left)
        self._manifest.setdefault("forgotten", []).extend(row.seq for row in rows)
        self._drop_states(_schema.versions.c.number < newest)
        self._drop_unused_blobs()
        return len(rows)

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

    # -- the parts -------------------------------------------------------------------------------

    def _next(self, column: sa.Column) -> int:
        return (self._connection.scalar(sa.select(sa.func.max(column))) or 0) + 1

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

    def _refuse_twins(self, number: int, ids: list[str]) -> None:
        twins = [person for person, n in Counter(ids).items() if n > 1]
        table = _schema.decisions
        known = sa.select(table.c.id).where(table.c.round == number)
        if not twins and (len(ids) == 1 or self._connection.execute(known.limit(1)).first()):
            for start in range(0, len(ids), 5000):
                part = known.where(table.c.id.in_(ids[start : start + 5000]))
                twins += self._connection.scalars(part)
        if twins:
            task = self._connection.scalar(
                sa.select(_schema.rounds.c.task).where(_schema.rounds.c.round == number)
            )
            raise FFMLError(
                f"id {twins[0]!r} comes twice in task {task!r} ({len(twins)} such); give each "
                "person of a task an id of their own"
            )

    def _cells(self, groups: Mapping[str, Sequence[Any]], n: int) -> np.ndarray:
        names = tuple(groups)
        combinations = list(zip(*groups.values(), strict=True)) or [()] * n
        kinds = dict.fromkeys(combinations)  # in their order: numbers are the same in every process
        numbers = {one: self._cell(dict(zip(names, one, strict=True))) for one in kinds}
        return np.array([numbers[one] for one in combinations], np.int64)

    def _cell(self, groups: dict[str, Any]) -> int:
        text, table = _json.encode(groups), _schema.cells
        number = self._known_cells.get(text) or self.new_cells.get(text)
        if number is None:
            number = self._connection.scalar(sa.select(table.c.cell).where(table.c.groups == text))
        if number is None:
            number = self._next(table.c.cell)
            self._connection.execute(sa.insert(table), {"cell": number, "groups": text})
            self._note("cells", str(number), _chain.of(number, text))
        self.new_cells[text] = number
        return number

    def _count(self, keys: Iterable[tuple[int, ...]], sign: int = 1) -> None:
        names = ("round", "cell", "label", "decision", "unpriced")
        sums = sorted(Counter(keys).items())
        rows = [dict(zip(names, key, strict=True), n=sign * n) for key, n in sums]
        if rows:
            self._connection.execute(_schema.ADD_COUNTS, rows)
        if sign < 0:
            c, touched = _schema.counts.c, {key[0] for key, _ in sums}
            empty = sa.delete(_schema.counts).where(c.round.in_(touched), c.n == 0)
            self._connection.execute(empty)

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


@lru_cache
def _insertion(table: sa.Table, names: tuple[str, ...], dialect: Any) -> tuple[str, Sequence[str]]:
    """Compile an insertion once for many; return its text and the order of its values."""
    compiled: Any = sa.insert(table).compile(dialect=dialect, column_keys=list(names))
    return str(compiled), compiled.positiontup or names


def columns_of(columns: Mapping[str, np.ndarray]) -> dict[str, list[Any]]:
    """Return columns for the driver: None where a value is not known."""
    unknown = {"decision", "unpriced", "first_label"}
    return {
        name: [None if v != v or (v < 0 and name in unknown) else v for v in values.tolist()]
        for name, values in columns.items()
    }


def _features(x: np.ndarray | None, n: int) -> list[bytes | None]:
    if x is None:
        return [None] * n
    return [row.tobytes() for row in np.ascontiguousarray(x, "<f8")]
