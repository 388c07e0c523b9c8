"""What comes once a run has begun: further tables, and labels of people decided about before."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ffml.base import FFMLError, Schema, Task
from ffml.tables._labels import known_values
from ffml.tables._play import Known, TableStream
from ffml.tables._roles import crossed, refuse_unknown, sensitive_names
from ffml.tables._stream import table_stream
from ffml.tables._time import periods
from ffml.tables._values import role_texts
from ffml.tables.encode._encoders import Categorical
from ffml.tables.encode._preprocess import Preprocessor
from ffml.tables.sources._open import FILE, FolderSource, open_data
from ffml.tables.sources._source import Source, WithColumn, located, whole


def open_further(data: Any, task: str, query: str | None = None) -> Source:
    """Open the next part of a stream.

    Args:
        data: a path, a data frame, or a database's address with a query.
        task: the run's column of tasks; where the files of a folder are its tasks, a file is one.
        query: for a database.
    """
    source = open_data(data, query)
    if task == FILE and source.task is None:
        return FolderSource(source.name, [source])
    return source


def further_stream(
    source: Source, roles: Mapping[str, Any], known: Known, drop_missing: bool = False
) -> TableStream:
    """Cut a further table into tasks, encoded as the tables before.

    Args:
        source: the table; columns that were dropped before may be gone, and so may the label.
        roles: `Roles.to_json` of the stream so far.
        known: what its tables have settled.
        drop_missing: see `table_stream`.
    """
    if roles["label"] not in source.columns:
        source = WithColumn(source, roles["label"], None)
    other = (source.task, roles.get("id"))
    drop = [name for name in roles["drop"] if name in source.columns and name not in other]
    not_given = (FILE, roles.get("time") if roles.get("by") else None)  # as --task
    task = None if roles["task"] in not_given else roles["task"]
    more = {"drop": drop, "task": task, "drop_missing": drop_missing, "known": known}
    return table_stream(source, **dict(roles) | more)


class LateLabels(NamedTuple):
    """Labels by id, and by task where the table names tasks."""

    ids: list[str]
    labels: np.ndarray  # (n,) 0 or 1
    tasks: list[str | None]


def read_late_labels(
    source: Source,
    *,
    id: str,
    label: str,
    known: dict[str, int],
    roles: Mapping[str, Any],
    tasks: Sequence[str] = (),
) -> LateLabels:
    """Read a table of labels; rows without a label are left out.

    Args:
        source: the table.
        id: the column of ids.
        label: the column of labels.
        known: the label's texts and what they stand for.
        roles: `Roles.to_json` of the run's table. Its column of tasks, or the time whose periods
            are its tasks, is read if the table of labels has it.
        tasks: names of tasks, which are no times even where tasks are periods: who came one by one
            may be of a population with a name of its own.
    """
    for part, name in (("id", id), ("label", label)):
        refuse_unknown(part, name, source.columns)
    task = roles["task"] if roles["task"] in source.columns else None
    table = whole(source, [id, label, *filter(None, [task])])
    table = table.filter(role_texts(table.column(label), label, "label").is_valid())
    ids = role_texts(table.column(id), id, "id").to_pylist()
    texts = role_texts(table.column(label), label, "label").to_pylist()
    if None in ids:
        raise FFMLError(f"{source.name} has a label without an id; leave that row out")
    codes = known_values(label, {*texts}, known)
    values = np.array([codes[text] for text in texts], np.int32)
    return LateLabels(ids, values, _task_names(table, task, roles, tasks))


def labelled_task(
    source: Source,
    preprocessor: Preprocessor,
    schema: Schema,
    *,
    sensitive: Sequence[str],
    positive: str | None = None,
    known: Mapping[str, int] | None = None,
) -> Task:
    """Read all rows of a (small) table as one task, with the model's features and groups.

    Args:
        source: the table.
        preprocessor: how the model's features are encoded.
        schema: the model's schema; its label column is read, and its groups give the codes.
        sensitive: the protected columns; more than the schema has where they were crossed.
        positive: the label's value that counts as 1.
        known: the label's texts and what they stand for; of a few rows all may have one label.
    """
    wanted = [schema.label, *sensitive, *preprocessor.names]
    if lacking := [name for name in wanted if name not in source.columns]:
        raise FFMLError(f"{source.name} has no column {lacking[0]!r}, which the model needs here")
    table = whole(source, wanted)
    if not len(table):
        raise FFMLError(f"{source.name} has no rows; at least one is needed")
    for name in (schema.label, *sensitive):
        part = "label" if name == schema.label else "sensitive"
        if role_texts(table.column(name), name, part).null_count:
            raise FFMLError(f"column {name!r} of {source.name} lacks values; leave those rows out")
    with located(source):
        x = preprocessor.transform(table.select(preprocessor.names))
    labels = role_texts(table.column(schema.label), schema.label, "label").to_pylist()
    codes = known_values(schema.label, {*labels}, known or {}, positive)
    y = np.array([codes[label] for label in labels], np.int32)
    return Task(source.name, x, y, _group_codes(table, sensitive, schema, may_be_new=False))


class PersonColumns(NamedTuple):
    """The columns of a table that say who somebody is: groups, id and task, where it has them."""

    schema: Schema
    sensitive: tuple[str, ...]
    id: str | None
    task: str | None
    roles: Mapping[str, Any]

    @property
    def names(self) -> list[str]:
        """The columns to be read."""
        return [*self.sensitive, *filter(None, (self.id, self.task))]

    def read(self, batch: pa.RecordBatch) -> "Persons":
        """Read a batch's rows; what is not known is −1 or None."""
        groups = _group_codes(batch, self.sensitive, self.schema)
        ids = None
        if self.id is not None:
            ids = np.array(role_texts(batch.column(self.id), self.id, "id").to_pylist(), object)
        return Persons(groups, ids, _task_names(batch, self.task, self.roles))


class Persons(NamedTuple):
    """Who some rows are."""

    groups: np.ndarray  # (n, columns) codes, −1 where not known
    ids: np.ndarray | None
    tasks: list[str | None]


def person_columns(source: Source, roles: Mapping[str, Any], schema: Schema) -> PersonColumns:
    """Find the columns of a further table that say who somebody is."""
    own = tuple(roles.get("sensitive", ()))
    there = tuple(name for name in own if name in source.columns)
    if len(schema.sensitive) < len(own) > len(there):  # of a combination no part is enough
        there = ()
    id, task = (n if (n := roles.get(p)) in source.columns else None for p in ("id", "task"))
    return PersonColumns(schema, there, id, task, roles)


def _group_codes(
    batch: pa.RecordBatch, sensitive: Sequence[str], schema: Schema, may_be_new: bool = True
) -> np.ndarray:
    """Return the codes of a batch's groups ``(n, columns)``, -1 where there is none, or a new one.

    Args:
        batch: some rows.
        sensitive: the protected columns that are there; more than the schema has where they were
            crossed.
        schema: its groups give the codes.
        may_be_new: whether groups may be new to the model.
    """
    cross = len(schema.sensitive) < len(sensitive)
    texts = crossed([role_texts(batch.column(n), n, "sensitive") for n in sensitive], cross)
    groups = dict(zip(sensitive_names(tuple(sensitive), cross), texts, strict=True))
    codes = np.full((len(batch), len(schema.sensitive)), -1, np.int32)
    for place, column in enumerate(schema.sensitive):
        if (values := groups.get(column.name)) is None:
            continue
        codes[:, place] = Categorical(column.name, column.groups).places(values)
        new = codes[:, place] < 0
        if not may_be_new and new.any():
            raise FFMLError(
                f"the group {min(values.filter(pa.array(new)).to_pylist())!r} of "
                f"{column.name!r} is new to the model, which knows {', '.join(column.groups)}; "
                "leave its rows out"
            )
    return codes


def _task_names(
    batch: pa.RecordBatch, task: str | None, roles: Mapping[str, Any], known: Sequence[str] = ()
) -> list[str | None]:
    """Return the task of each row, by its name or by the period of its time."""
    if task is None:
        return [None] * len(batch)
    values, names = batch.column(task), role_texts(batch.column(task), task, "task")
    if not roles.get("by"):
        return names.to_pylist()
    is_time = pc.invert(pc.is_in(names, value_set=pa.array([*known], pa.string())))
    times = values.filter(is_time)
    found = iter(periods(times, task, roles["by"], roles.get("date_format")).to_pylist())
    pairs = zip(names.to_pylist(), is_time.to_pylist(), strict=True)
    return [next(found) if one_is else name for name, one_is in pairs]
