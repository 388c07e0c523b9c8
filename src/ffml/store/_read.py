"""Questions to a run, answered by SQL."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import sqlalchemy as sa

from ffml.base import FFMLError
from ffml.border import one_of
from ffml.store import _chain, _json, _schema
from ffml.store._values import Counts, Round, Version

_KINDS: dict[str, tuple[str, Any]] = {  # column -> SQL, what stands for NULL
    "seq": ("d.seq", 0),
    "round": ("d.round", 0),
    "task": ("r.task", ""),
    "id": ("d.id", ""),
    "cell": ("d.cell", 0),
    "content": ("d.content", 0),
    "version": ("d.version", 0),
    "probability": ("d.probability", np.nan),
    "decision": ("d.decision", -1),
    "unpriced": ("d.unpriced", -1),
    "label": (_schema.NEWEST_LABEL, -1),
    "first_label": ("d.first_label", -1),
    "at": ("e.at", ""),
    "x": ("d.x", b""),
}
COLUMNS = tuple(name for name in _KINDS if name != "x")
_JOINS = {"task": " join rounds r on r.round = d.round", "at": " join events e on e.seq = d.event"}


def document(connection: sa.Connection, key: str) -> Any:
    """Return a document; None if there is none."""
    table = _schema.run
    text = connection.scalar(sa.select(table.c.value).where(table.c.key == key))
    return None if text is None else _json.decode(text)


def task_names(connection: sa.Connection) -> dict[int, str]:
    """Return the tasks by the numbers of their rounds."""
    table = _schema.rounds
    select = sa.select(table.c.round, table.c.task).order_by(table.c.round)
    return {row[0]: row[1] for row in connection.execute(select)}


def round_of(connection: sa.Connection, task: str) -> Round | None:
    """Return a task by its name."""
    table = _schema.rounds
    row = connection.execute(sa.select(table).where(table.c.task == task)).first()
    if row is None:
        return None
    return Round(row.round, row.task, row.status, _json.decode(row.document))


def counts(connection: sa.Connection) -> Counts:
    """Return the table of counts."""
    table = _schema.counts
    return _as_counts(connection.execute(sa.select(table).order_by(*table.primary_key)))


def totals(connection: sa.Connection) -> Counts:
    """Sum the counts over rounds."""
    c = _schema.counts.c
    kind = (c.cell, c.label, c.decision, c.unpriced)
    number = sa.cast(sa.func.sum(c.n), sa.BigInteger)
    select = sa.select(sa.literal_column("0"), *kind, number).group_by(*kind).order_by(*kind)
    return _as_counts(connection.execute(select))


def decisions(
    connection: sa.Connection, number: int | None, ids: Sequence[str] | None, columns: Sequence[str]
) -> dict[str, np.ndarray]:
    """Return decisions as columns, in the order in which they were made."""
    for name in columns:
        one_of("column of decisions", name, _KINDS)
    names = ", ".join(f"{_KINDS[name][0]} as {name}" for name in columns)
    joins = "".join(join for name, join in _JOINS.items() if name in columns)
    where: list[str] = ["1 = 1"]
    values: dict[str, Any] = {}
    if number is not None:
        where, values = [*where, "d.round = :round"], {"round": number}
    if ids is not None:
        where, values = [*where, "d.id in :ids"], {**values, "ids": list(ids)}
    text = f"select {names} from decisions d{joins} where {' and '.join(where)} order by d.seq"
    statement = sa.text(text)
    if ids is not None:
        statement = statement.bindparams(sa.bindparam("ids", expanding=True))
    rows = connection.execute(statement, values).all()
    parts = zip(*rows, strict=True) if rows else ((),) * len(columns)
    return {name: _array(name, part) for name, part in zip(columns, parts, strict=True)}


def labels_of(connection: sa.Connection, number: int) -> dict[str, np.ndarray]:
    """Return labels that came later to a round."""
    names = ("id", "label", "decision", "at")
    rows = connection.execute(
        sa.text(
            "select d.id, l.label, l.decision, e.at from labels l "
            "join decisions d on d.seq = l.decision join events e on e.seq = l.event "
            "where d.round = :round order by l.seq"
        ),
        {"round": number},
    ).all()
    parts = zip(*rows, strict=True) if rows else ((),) * len(names)
    return {name: np.array(part) for name, part in zip(names, parts, strict=True)}


def version(connection: sa.Connection, name: str, number: int | None) -> Version | None:
    """Return a version with its bytes; refuse bytes that are not those that were kept."""
    table, parts, blobs = _schema.versions, _schema.parts, _schema.blobs
    select = sa.select(table).order_by(table.c.number.desc()).limit(1)
    row = connection.execute(
        select if number is None else select.where(table.c.number == number)
    ).first()
    if row is None:
        return None
    joined = (
        sa.select(parts.c.sha256, blobs.c.bytes)
        .join(blobs)
        .where(parts.c.version == row.number)
        .order_by(parts.c.place)
    )
    data = {part: bytes(bytes_) for part, bytes_ in connection.execute(joined)}
    state = None if row.state is None else bytes(row.state)
    whole = all(_chain.of_bytes(bytes_) == part for part, bytes_ in data.items())
    if state is not None and not (whole and _chain.checksum(state, [*data]) == row.checksum):
        raise FFMLError(
            f"version {row.number} in {name} is damaged; put the newest copy of the run back"
        )
    known = (row.number, row.round, row.checksum, row.parent, _json.decode(row.document))
    return Version(*known, state, data)


def _as_counts(rows: sa.CursorResult) -> Counts:
    table = np.array([tuple(row) for row in rows], np.int64).reshape(-1, 6)
    return Counts(*table.T)


def _array(name: str, values: Sequence[Any]) -> np.ndarray:
    unknown = _KINDS[name][1]
    known = [unknown if value is None else value for value in values]
    if name == "x":
        rows = [np.frombuffer(value, "<f4") for value in known]
        return np.array(rows) if len({*map(len, rows)}) == 1 else np.array(rows, object)
    kinds = {str: object, float: np.float64, int: np.int64}
    return np.array(known, kinds[type(unknown)])
