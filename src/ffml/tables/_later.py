"""What comes once a run has begun: further tables, and labels of people decided about before."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ffml.base import FFMLError, Schema, SensitiveColumn, Task
from ffml.tables._labels import label_values
from ffml.tables._roles import CROSS, refuse_unknown
from ffml.tables._stream import Known, TableStream, table_stream
from ffml.tables._time import periods
from ffml.tables._values import role_texts
from ffml.tables.encode._preprocess import Preprocessor
from ffml.tables.sources._folder import FILE, FolderSource
from ffml.tables.sources._open import open_data
from ffml.tables.sources._source import Source, located

if TYPE_CHECKING:
    import pyarrow as pa


def open_further(data: Any, task: str, query: str | None = None) -> Source:
    """Open the next part of a stream.

    Args:
        data: a path, a data frame, or a database's address with a query.
        task: the run's column of tasks; where the files of a folder are its tasks, a file is one.
        query: for a database.
    """
    source = open_data(data, query)
    if task == FILE and source.task is None:
        return FolderSource(source.name, (source,))
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
        source = WithoutLabels(source, roles["label"])
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


@dataclass(frozen=True)
class WithoutLabels:
    """A table of people of whom no label is known yet: the column is there, and empty."""

    source: Source
    label: str

    def __getattr__(self, name: str) -> Any:
        return getattr(self.source, name)

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns, and the label's."""
        return (*self.source.columns, self.label)

    def batches(self, columns: Sequence[str]) -> Iterator["pa.RecordBatch"]:
        """Read some columns; the label's has no values."""
        import pyarrow as pa

        own = [name for name in columns if name != self.label]
        for batch in self.source.batches(own):
            table = dict(zip(own, batch.columns, strict=True))
            table[self.label] = pa.nulls(batch.num_rows, pa.string())
            yield pa.RecordBatch.from_arrays([table[c] for c in columns], names=list(columns))


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
    task: str | None = None,
    by: str | None = None,
    date_format: str | None = None,
) -> LateLabels:
    """Read a table of labels; rows without a label are left out.

    Args:
        source: the table.
        id: the column of ids.
        label: the column of labels.
        known: the label's texts and what they stand for.
        task: the column of tasks, which is read if the table has it.
        by: how long a task is, if the column of tasks holds times.
        date_format: how these are written.
    """
    import pyarrow as pa

    for part, name in (("id", id), ("label", label)):
        refuse_unknown(part, name, source.columns)
    columns = [id, label] + ([task] if task and task in source.columns else [])
    parts = [pa.table({name: pa.array([], pa.string()) for name in LateLabels._fields})]
    for batch in source.batches(columns):
        found = {
            "ids": role_texts(batch.column(0), id, "id"),
            "labels": role_texts(batch.column(1), label, "label"),
            "tasks": pa.nulls(len(batch), pa.string()),
        }
        if len(columns) > 2 and by:
            found["tasks"] = periods(batch.column(2), columns[2], by, date_format)
        elif len(columns) > 2:
            found["tasks"] = role_texts(batch.column(2), columns[2], "task")
        parts.append(pa.table(found).filter(found["labels"].is_valid()))
    ids, texts, tasks = (column.to_pylist() for column in pa.concat_tables(parts).columns)
    if None in ids:
        raise FFMLError(f"{source.name} has a label without an id; leave that row out")
    positive = next((text for text, code in known.items() if code), None)
    codes = label_values(label, {*texts, *known}, positive)
    return LateLabels(ids, np.array([codes[text] for text in texts], np.int32), tasks)


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
