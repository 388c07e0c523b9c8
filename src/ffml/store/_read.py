"""Questions to a run, answered by SQL."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import sqlalchemy as sa

from ffml.base import FFMLError
from ffml.border import one_of
from ffml.store import _chain, _json, _schema
from ffml.store._values import Counts, Round, Version, VersionRow

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
    "event": ("d.event", 0),
    "at": ("e.at", ""),
    "forgotten": ("d.forgotten", b""),  # hash of the person taken out
    "x": ("d.x", b""),
}
LAST = 2**62  # above every number
PERIODS = {"year": 4, "month": 7, "day": 10, "hour": 13}  # characters of a time
DECIDING = "deciding"  # the document that says which version was promoted
_DECIDING = sa.text(
    f"select (select value from run where key = '{DECIDING}'), (select max(number) from versions)"
)
COLUMNS = tuple(name for name in _KINDS if name not in ("x", "event", "forgotten"))
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
    connection: sa.Connection,
    number: int | None,
    ids: Sequence[str] | None,
    columns: Sequence[str],
    numbers: Sequence[int] | None = None,
) -> dict[str, np.ndarray]:
    """Return decisions as columns, in the order in which they were made."""
    for name in columns:
        one_of("column of decisions", name, _KINDS)
    names = ", ".join(f"{_KINDS[name][0]} as {name}" for name in columns)
    joins = "".join(join for name, join in _JOINS.items() if name in columns)
    rounds = None if number is None else [number]
    wanted: dict[str, Any] = {"d.round": rounds, "d.id": ids, "d.seq": numbers}
    lists = {name: list(some) for name, some in wanted.items() if some is not None}
    mark = "?" if connection.dialect.name == "sqlite" else "%s"
    parts = (f"{name} in ({', '.join([mark] * len(some))})" for name, some in lists.items() if some)
    nobody = ["1 = 0"] if any(not some for some in lists.values()) else []
    where = " and ".join(["1 = 1", *nobody, *parts])
    text = f"select {names} from decisions d{joins} where {where} order by d.seq"
    given = tuple(one for some in lists.values() for one in some)
    rows = connection.exec_driver_sql(text, given).all()  # SQLAlchemy names every value: slow
    values = zip(*rows, strict=True) if rows else ((),) * len(columns)
    return {name: _array(name, part) for name, part in zip(columns, values, strict=True)}


def thresholds(connection: sa.Connection, events: Sequence[int]) -> dict[int, float]:
    """Return the thresholds that events kept."""
    table = _schema.events.c
    rows = connection.execute(sa.select(table.seq, table.document).where(table.seq.in_(events)))
    kept = {seq: _json.decode(text).get("threshold") for seq, text in rows}
    return {seq: value for seq, value in kept.items() if value is not None}


def labels_of(connection: sa.Connection, number: int) -> dict[str, np.ndarray]:
    """Return labels that came later to a round."""
    names = ("seq", "id", "label", "decision", "at")
    rows = connection.execute(
        sa.text(
            "select l.seq, d.id, l.label, l.decision, e.at from labels l "
            "join decisions d on d.seq = l.decision join events e on e.seq = l.event "
            "where d.round = :round order by l.seq"
        ),
        {"round": number},
    ).all()
    parts = zip(*rows, strict=True) if rows else ((),) * len(names)
    return {name: np.array(part) for name, part in zip(names, parts, strict=True)}


def periods(
    connection: sa.Connection, start: str | None, end: str | None, by: str | None
) -> list[Any]:
    """Count people by period, cell, label, decision and decision without fairness.

    An index finds the decisions of the time asked for: events are in the order of time, so that
    those from ``start`` on begin with one number.
    """
    period = f"substr(e.at, 1, {one_of('period', by, PERIODS)})" if by else "''"
    given = {name: time for name, time in (("start", start), ("end", end)) if time}
    signs = {"start": ">=", "end": "<"}
    where = "".join(
        f" and d.event {signs[name]} "
        f"(select coalesce(min(seq), {LAST}) from events where at >= :{name})"
        for name in given
    )
    text = (
        f"select {period} as period, d.cell, coalesce(d.label, -1), d.decision, "
        "coalesce(d.unpriced, -1), count(*) from (select d.event, d.cell, d.decision, d.unpriced, "
        f"{_schema.NEWEST_LABEL} as label from decisions d where d.decision is not null{where}) d "
        "join events e on e.seq = d.event group by 1, 2, 3, 4, 5 order by 1, 2, 3, 4, 5"
    )
    return list(connection.execute(sa.text(text), given))


def scores(connection: sa.Connection) -> list[Any]:
    """Count people by cell, newest label, decision and tenth of probability, with Σ p, min and max.

    A label that is not there is -1, and so is the tenth of who has no probability.
    """
    tenths = " ".join(f"when probability * 10 < {k} then {k - 1}" for k in range(1, 10))
    text = (
        "select cell, coalesce(label, -1) as label, decision, "
        f"case when probability is null then -1 {tenths} else 9 end as tenth, count(*) as n, "
        "sum(probability) as total, min(probability) as lowest, max(probability) as highest "
        f"from (select d.cell, d.decision, d.probability, {_schema.NEWEST_LABEL} as label "
        "from decisions d where d.decision is not null) d group by 1, 2, 3, 4 order by 1, 2, 3, 4"
    )
    return list(connection.execute(sa.text(text)))


def versions(connection: sa.Connection) -> list[VersionRow]:
    """Return what is known of all versions."""
    now = deciding(connection)
    rows = connection.exec_driver_sql(
        "select v.number, e.at, r.task, v.checksum, v.parent, v.document, "
        "v.state is not null from versions v join events e on e.seq = v.event "
        "left join rounds r on r.round = v.round order by v.number"
    )
    return [
        VersionRow(number, at, task, sum_, parent, _json.decode(text), bool(kept), number == now)
        for number, at, task, sum_, parent, text, kept in rows
    ]


def deciding(connection: sa.Connection) -> int:
    """Return the number of the version that decides; 0 before the first."""
    promoted, newest = connection.execute(_DECIDING).one()
    return (_json.decode(promoted)["version"] if promoted else None) or newest or 0


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
        rows = [np.frombuffer(value, "<f8") for value in known]
        return np.array(rows) if len({*map(len, rows)}) == 1 else np.array(rows, object)
    kinds = {str: object, bytes: object, float: np.float64, int: np.int64}
    return np.array(known, kinds[type(unknown)])
