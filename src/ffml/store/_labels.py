"""Which decision a label belongs to.

A person is (task, id). Without a task an id must occur in one task only. A label that is known
already is counted and not written; another than the known one is refused, or with ``correct`` kept
as a correction next to the first. So a file of labels given twice changes nothing.
"""

from collections.abc import Iterator
from typing import Any

import sqlalchemy as sa

from ffml.base import FFMLError
from ffml.store._schema import NEWEST_LABEL
from ffml.store._values import Correction, Labels, Placement

_CHUNK = 5000  # ids in one query
_SELECT = (
    "select d.seq, d.id, d.round, d.cell, d.decision, d.unpriced, "
    f"{NEWEST_LABEL} as label from decisions d where "
)
_BY_ROUND = sa.text(_SELECT + "d.round = :round and d.id in :ids").bindparams(
    sa.bindparam("ids", expanding=True)
)
_BY_ID = sa.text(_SELECT + "d.id in :ids").bindparams(sa.bindparam("ids", expanding=True))
_AMBIGUOUS = sa.text(
    "select id, count(*) from decisions where id in :ids group by id having count(*) > 1"
).bindparams(sa.bindparam("ids", expanding=True))


def place(
    connection: sa.Connection, names: dict[int, str], labels: Labels, correct: bool
) -> Placement:
    """Find the decisions that labels belong to, or say which labels have no place.

    Args:
        connection: reads.
        names: of the tasks, by number.
        labels: that have come.
        correct: whether those that contradict earlier ones are corrections, or else refused.
    """
    values = _once(labels)
    rows = _by_task(connection, values, names) if labels.tasks is not None else None
    if rows is None:
        rows = _by_id(connection, values)
    if missing := [key for key in values if key not in rows]:
        raise _unknown(missing, len(values))
    fresh = [(rows[key], value, key) for key, value in values.items() if rows[key].label != value]
    corrections = tuple(
        Correction(names[row.round], row.id, row.label, value)
        for row, value, _ in fresh
        if row.label is not None
    )
    if corrections and not correct:
        raise _contradiction(corrections)
    return Placement(
        decision=[row.seq for row, _, _ in fresh],
        label=[value for _, value, _ in fresh],
        cell=[_cell(row) for row, _, _ in fresh],
        tasks=tuple(dict.fromkeys(names[row.round] for row, _, _ in fresh)),
        repeated=len(labels.ids) - len(fresh),
        corrections=corrections,
    )


def _once(labels: Labels) -> dict[Any, int]:
    """Return each person's label: by id, or by (task, id)."""
    numbers = [int(value) for value in labels.values]
    if odd := next((value for value in numbers if value not in (0, 1)), None):
        raise FFMLError(f"labels are 0 or 1, got {odd}; leave out rows without a label")
    keys = labels.ids if labels.tasks is None else zip(labels.tasks, labels.ids, strict=True)
    values: dict[Any, int] = {}
    for key, number in zip(keys, numbers, strict=True):
        if values.setdefault(key, number) != number:
            raise FFMLError(f"{_named(key)} has two labels in one file; keep the right one")
    return values


def _by_task(connection: sa.Connection, values: dict, names: dict[int, str]) -> dict[Any, Any]:
    numbers = {task: number for number, task in names.items()}
    wanted: dict[str, list[str]] = {}
    for task, person in values:
        wanted.setdefault(task, []).append(person)
    if strange := [task for task in wanted if task not in numbers]:
        raise FFMLError(
            f"the run has no task {strange[0]!r} ({len(strange)} such); it has {_some(numbers)}"
        )
    return {
        (task, row.id): row
        for task, ids in wanted.items()
        for part in _chunks(ids)
        for row in connection.execute(_BY_ROUND, {"round": numbers[task], "ids": part})
    }


def _by_id(connection: sa.Connection, values: dict) -> dict[Any, Any]:
    rows: dict[Any, Any] = {}
    for part in _chunks(list(values)):
        if several := connection.execute(_AMBIGUOUS, {"ids": part}).first():
            raise FFMLError(
                f"id {several[0]!r} occurs in {several[1]} tasks; add the task's column to the "
                "labels, so that each finds its task"
            )
        rows |= {row.id: row for row in connection.execute(_BY_ID, {"ids": part})}
    return rows


def _cell(row: Any) -> tuple[int, int, int, int, int]:
    known = (-1 if value is None else value for value in (row.label, row.decision, row.unpriced))
    return (row.round, row.cell, *known)  # type: ignore[return-value]


def _chunks(ids: list[str]) -> Iterator[list[str]]:
    return (ids[start : start + _CHUNK] for start in range(0, len(ids), _CHUNK))


def _unknown(missing: list[Any], total: int) -> FFMLError:
    return FFMLError(
        f"{len(missing)} of {total} labels are for people the run has not decided about, such as "
        f"{_named(missing[0])}; check the ids, or leave these rows out"
    )


def _contradiction(corrections: tuple[Correction, ...]) -> FFMLError:
    first = corrections[0]
    return FFMLError(
        f"{first.words} ({len(corrections)} such); if the new labels are right, give them as "
        'corrections (--correct; over HTTP, "correct": true)'
    )


def _named(key: Any) -> str:
    return f"id {key!r}" if isinstance(key, str) else f"id {key[1]!r} of task {key[0]!r}"


def _some(names: dict[str, int]) -> str:
    some = [*names][-3:]
    return ("…, " if len(names) > 3 else "") + ", ".join(some) if some else "none yet"
