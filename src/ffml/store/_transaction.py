"""One transaction: everything that belongs together, and the event that vouches for it."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import sqlalchemy as sa

from ffml.base import FFMLError
from ffml.store import _chain, _json, _schema
from ffml.store._people import PeopleReader
from ffml.store._values import Decided, Labels, Placement
from ffml.store._writer import Writer

_DECISION = (
    *("seq", "round", "id", "cell", "content", "version", "probability"),
    *("decision", "unpriced", "first_label", "event", "hash", "x"),
)
_LABEL = ("seq", "decision", "label", "event", "hash")


class Transaction(Writer):
    """What a writer may do. Nothing is kept unless all of it is."""

    def __init__(
        self,
        connection: sa.Connection,
        reader: PeopleReader,
        cells: Mapping[str, int],
        who: str,
        what: str,
    ) -> None:
        super().__init__(connection, reader, who, what)
        self._committed = cells  # by their JSON
        self.cells: dict[str, int] = {}  # that this transaction has met

    def add_decisions(
        self, number: int, people: Decided, threshold: float | None = None, new: bool = False
    ) -> range:
        """Append people of a round; return their numbers. An id comes once in a round.

        The event keeps the threshold of people who came one by one: the probability from which on
        they are decided positively if no gap is bounded. ``new``: this transaction has found that
        none of them is there, and no two are one.
        """
        if threshold is not None:
            self._manifest["threshold"] = threshold
        ids = [str(person) for person in people.ids]
        _json.refuse_no_text(ids)
        if not new:
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
        rows = _columns_of(columns) | {"id": ids, "content": content, "hash": hashes}
        self._insert(_schema.decisions, _DECISION, rows | {"x": _features(people.x, n)})
        names = ("round", "cell", "first_label", "decision", "unpriced")
        self._count(zip(*(columns[name].tolist() for name in names), strict=True))
        self._append("decisions", first, hashes)
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

    def drop_features(self, number: int) -> None:
        """Take the features of a task's people out; nothing needs them any more."""
        table = _schema.decisions
        dropped = sa.update(table).where(table.c.round == number, table.c.x.is_not(None))
        self._connection.execute(dropped.values(x=None))

    def add_labels(self, labels: Labels, correct: bool = False) -> Placement:
        """Append labels that came later, by the rule of `ffml.store._labels`."""
        placement = self._reader.place(labels, correct)
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
        self._append("labels", first, hashes)
        return placement

    def forget(self, person: str, tasks: Sequence[str] | None = None) -> int:
        """Take a person's id, content and features out; return of how many decisions.

        Of the states that may hold them as people waited for, the newest alone stays.
        """
        newest = self._reader.version_number
        if (decides := self._reader.deciding) != newest:
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
        number = self._committed.get(text) or self.cells.get(text)
        if number is None:
            number = self._connection.scalar(sa.select(table.c.cell).where(table.c.groups == text))
        if number is None:
            number = self._next(table.c.cell)
            self._connection.execute(sa.insert(table), {"cell": number, "groups": text})
            self._note("cells", str(number), _chain.of(number, text))
        self.cells[text] = number
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

    def _insert(self, table: sa.Table, names: tuple[str, ...], columns: dict[str, Any]) -> None:
        """Insert many rows by the driver's own call."""
        text, order = _insertion(table, names, self._connection.dialect)
        rows = list(zip(*(columns[name] for name in order), strict=True))
        if rows:
            self._connection.exec_driver_sql(text, rows)


@lru_cache
def _insertion(table: sa.Table, names: tuple[str, ...], dialect: Any) -> tuple[str, Sequence[str]]:
    """Compile an insertion once for many; return its text and the order of its values."""
    compiled: Any = sa.insert(table).compile(dialect=dialect, column_keys=list(names))
    return str(compiled), compiled.positiontup or names


def _columns_of(columns: Mapping[str, np.ndarray]) -> dict[str, list[Any]]:
    """Return columns for the driver: None where a value is not known."""
    unknown = {"decision", "unpriced", "first_label"}
    by_column: dict[str, list[Any]] = {}
    for name, values in columns.items():
        lost = values < 0 if name in unknown else values != values
        by_column[name] = values.tolist()
        for place in np.flatnonzero(lost).tolist():
            by_column[name][place] = None
    return by_column


def _features(x: np.ndarray | None, n: int) -> list[bytes | None]:
    if x is None or not x.size:
        return [None] * n
    data = np.ascontiguousarray(x, "<f8").tobytes()
    width = len(data) // n
    return [data[start : start + width] for start in range(0, len(data), width)]
