"""What comes once a run has begun: further tables, and labels of people decided about before."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from ffml.base import FFMLError, Schema, SensitiveColumn, Task
from ffml.tables._labels import label_values
from ffml.tables._roles import CROSS, refuse_unknown
from ffml.tables._stream import Known, TableStream, table_stream
from ffml.tables._time import periods
from ffml.tables._values import role_texts
from ffml.tables.encode._preprocess import Preprocessor
from ffml.tables.sources._folder import FILE, FolderSource
from ffml.tables.sources._open import open_data
from ffml.tables.sources._source import Source, WithColumn, located


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
    unasked = (FILE, roles.get("time") if roles.get("by") else None)  # not given as --task
    task = None if roles["task"] in unasked else roles["task"]
    return table_stream(
        source,
        **dict(roles) | {"drop": drop, "task": task},
        drop_missing=drop_missing,
        known=known,
    )


class LateLabels(NamedTuple):
    """Labels by id, and by task where the table names tasks."""

    ids: list[str]
    labels: np.ndarray  # (n,) 0 or 1
    tasks: list[str | None]


def read_late_labels(
    source: Source, *, id: str, label: str, known: dict[str, int], roles: Mapping[str, Any]
) -> LateLabels:
    """Read a table of labels; rows without a label are left out.

    Args:
        source: the table.
        id: the column of ids.
        label: the column of labels.
        known: the label's texts and what they stand for.
        roles: `Roles.to_json` of the run's table. Its column of tasks, or the time whose periods
            are its tasks, is read if the table of labels has it.
    """
    for part, name in (("id", id), ("label", label)):
        refuse_unknown(part, name, source.columns)
    task = roles["task"] if roles["task"] in source.columns else None
    columns = list(dict.fromkeys([id, label, *([task] if task else [])]))
    ids: list[str] = []
    texts: list[str] = []
    tasks: list[str | None] = []
    for batch in source.batches(columns):
        named = dict(zip(columns, batch.columns, strict=True))
        whom = role_texts(named[id], id, "id").to_pylist()
        said = role_texts(named[label], label, "label").to_pylist()
        when = _task_names(named[task], roles) if task else [None] * len(batch)
        for row, text, of in zip(whom, said, when, strict=True):
            if text is None:
                continue
            if row is None:
                raise FFMLError(f"{source.name} has a label without an id; leave that row out")
            ids.append(row)
            texts.append(text)
            tasks.append(of)
    positive = next((text for text, code in known.items() if code), None)
    codes = label_values(label, {*texts, *known}, positive)
    return LateLabels(ids, np.array([codes[text] for text in texts], np.int32), tasks)


def _task_names(values: Any, roles: Mapping[str, Any]) -> list[str | None]:
    """Return the task of each row, by its name or by the period of its time."""
    if roles.get("by"):
        return periods(values, roles["task"], roles["by"], roles.get("date_format")).to_pylist()
    return role_texts(values, roles["task"], "task").to_pylist()


def labelled_task(
    source: Source,
    preprocessor: Preprocessor,
    schema: Schema,
    *,
    sensitive: Sequence[str],
    positive: str | None = None,
) -> Task:
    """Read all rows of a (small) table as one task, with the model's features and groups.

    Args:
        source: the table.
        preprocessor: how the model's features are encoded.
        schema: the model's schema; its label column is read, and its groups give the codes.
        sensitive: the protected columns; more than the schema has where they were crossed.
        positive: the label's value that counts as 1.
    """
    for name in (schema.label, *sensitive, *preprocessor.names):
        if name not in source.columns:
            raise FFMLError(f"{source.name} has no column {name!r}, which the model needs here")
    xs, labels = [], []
    groups: list[list[str]] = [[] for _ in sensitive]
    for batch in source.batches([schema.label, *sensitive, *preprocessor.names]):
        with located(source):
            xs.append(preprocessor.transform(batch.select(list(preprocessor.names))))
        labels += role_texts(batch.column(0), schema.label, "label").to_pylist()
        for i, name in enumerate(sensitive):
            groups[i] += role_texts(batch.column(1 + i), name, "sensitive").to_pylist()
    if not labels:
        raise FFMLError(f"{source.name} has no rows; at least one is needed")
    for name, values in ((schema.label, labels), *zip(sensitive, groups, strict=True)):
        if None in values:
            raise FFMLError(f"column {name!r} of {source.name} lacks values; leave those rows out")
    codes = label_values(schema.label, set(labels), positive)
    if len(schema.sensitive) < len(sensitive):
        groups = [[CROSS.join(parts) for parts in zip(*groups, strict=True)]]
    return Task(
        source.name,
        np.concatenate(xs),
        np.array([codes[label] for label in labels], np.int32),
        np.stack(
            [_codes(values, c) for values, c in zip(groups, schema.sensitive, strict=True)], 1
        ),
    )


def _codes(values: Sequence[str], column: SensitiveColumn) -> np.ndarray:
    known = {group: code for code, group in enumerate(column.groups)}
    if stray := sorted(set(values) - set(known)):
        raise FFMLError(
            f"the group {stray[0]!r} of {column.name!r} is new to the model, which knows "
            f"{', '.join(known)}; leave its rows out"
        )
    return np.array([known[value] for value in values], np.int32)


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
        texts = [role_texts(batch.column(n), n, "sensitive").to_pylist() for n in self.sensitive]
        groups = np.full((len(batch), len(self.schema.sensitive)), -1, np.int32)
        if texts and len(self.schema.sensitive) < len(texts):
            pairs = zip(*texts, strict=True)
            texts = [[None if None in parts else CROSS.join(parts) for parts in pairs]]
        for i, (values, column) in enumerate(zip(texts, self.schema.sensitive, strict=False)):
            places = {group: code for code, group in enumerate(column.groups)}
            groups[:, i] = [places.get(value, -1) for value in values]
        ids = None
        if self.id is not None:
            ids = np.array(role_texts(batch.column(self.id), self.id, "id").to_pylist(), object)
        tasks: list[str | None] = [None] * len(batch)
        if self.task is not None:
            tasks = _task_names(batch.column(self.task), self.roles)
        return Persons(groups, ids, tasks)


class Persons(NamedTuple):
    """Who some rows are."""

    groups: np.ndarray  # (n, columns) codes, −1 where not known
    ids: np.ndarray | None
    tasks: list[str | None]


def person_columns(source: Source, roles: Mapping[str, Any], schema: Schema) -> PersonColumns:
    """Find the columns of a further table that say who somebody is."""
    own = tuple(roles.get("sensitive", ()))
    there = own if all(name in source.columns for name in own) else ()
    id, task = (n if (n := roles.get(p)) in source.columns else None for p in ("id", "task"))
    return PersonColumns(schema, there, id, task, roles)
