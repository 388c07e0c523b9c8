"""People as they come: checked, and turned into a table as a file would give it."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from ffml.base import FFMLError
from ffml.runs import Run

LONGEST = 255  # letters of an id, or of a task's name


class Columns(NamedTuple):
    """What a run's table had."""

    inputs: dict[str, str]  # feature -> numeric, category, …
    sensitive: tuple[str, ...]
    id: str | None
    task: str | None
    label: str
    labels: dict[str, int]  # the label's words -> 0 or 1

    @property
    def names(self) -> list[str]:
        """Columns that a person may come with."""
        who = (self.id, self.task)
        return list(dict.fromkeys([*filter(None, who), *self.inputs, *self.sensitive]))

    def word(self, decision: int) -> str:
        """Say a decision in the label's own words."""
        return next((w for w, value in self.labels.items() if value == decision), str(decision))


def columns_of(run: Run) -> Columns:
    """Read what a run's people have."""
    data, encoding = run.config["data"], run.store.document("preprocessing")
    roles = data.get("roles")
    if not roles or encoding is None:
        raise FFMLError(
            f"{run.store.name} learned a data set of the package; serve a run on a table of yours"
        )
    inputs = {column["name"]: column["kind"] for column in encoding["columns"]}
    known = {str(word): int(value) for word, value in data.get("labels", {}).items()}
    sensitive = tuple(roles["sensitive"])
    return Columns(inputs, sensitive, roles.get("id"), roles.get("task"), roles["label"], known)


def people_table(rows: Sequence[Any], columns: Columns) -> pa.Table:
    """Turn JSON objects into a table; a column that is missing or strange is refused by name."""
    if any(not isinstance(row, dict) for row in rows):
        raise FFMLError(f"a person is an object with {', '.join(columns.names)}")
    for names in {tuple(row): None for row in rows}:  # mostly one
        check_names(names, columns)
    given = [name for name in columns.names if any(name in row for row in rows)]
    return check_values(table({name: [row.get(name) for row in rows] for name in given}), columns)


def table(values: Mapping[str, Sequence[Any]]) -> pa.Table:
    """Make a table of columns of plain values."""
    return pa.table({name: _array(name, column) for name, column in values.items()})


def check_names(names: Iterable[str], columns: Columns) -> None:
    """Refuse a person who lacks a column, or has one that the run does not know."""
    known = columns.names
    if strange := [name for name in names if name not in known]:
        raise FFMLError(f"no column {strange[0][:60]!r}; a person has {', '.join(known)}")
    if missing := [name for name in columns.inputs if name not in names]:
        raise FFMLError(f"a person lacks {missing[0]!r}; give null where it is not known")
    if columns.id and columns.id not in names:
        raise FFMLError(f"a person lacks {columns.id!r}; give an id, so that labels find them")


def check_values(people: pa.Table, columns: Columns) -> pa.Table:
    """Return people; refuse lists and objects in place of values, and ids that are missing."""
    for name, column in zip(people.column_names, people.columns, strict=True):
        if pa.types.is_nested(column.type):
            raise FFMLError(f"{name!r} is a list or an object; give a text, a number or null")
    if not len(people):
        raise FFMLError("there is nobody to decide about; give a person or a list of them")
    for name in {columns.id, columns.task}.intersection(people.column_names):
        if _is_too_long(people.column(name)):
            raise FFMLError(f"{name!r} has more than {LONGEST} letters; give a shorter name")
    if columns.id:
        ids = people.column(columns.id)
        if ids.null_count or (pa.types.is_string(ids.type) and "" in ids.to_pylist()):
            raise FFMLError(f"a person lacks {columns.id!r}; give an id, so that labels find them")
    return people


def _is_too_long(column: pa.ChunkedArray) -> bool:
    if not pa.types.is_string(column.type):
        return False
    return (pc.max(pc.utf8_length(column)).as_py() or 0) > LONGEST


def _array(name: str, values: Sequence[Any]) -> pa.Array:
    try:
        return pa.array(values)
    except (pa.ArrowException, OverflowError, UnicodeEncodeError, TypeError):
        raise FFMLError(
            f"{name!r} has values of different kinds, or too large ones; give all as numbers or "
            "all as texts"
        ) from None
