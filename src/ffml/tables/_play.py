"""A table that has been read as a stream of tasks, with one task in memory at a time."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from ffml.base import FFMLError, Schema, SensitiveColumn, Stream, Task
from ffml.tables._ingest import Ingest
from ffml.tables._roles import Roles
from ffml.tables._values import num_missing
from ffml.tables.encode._encoders import Categorical, Encoder
from ffml.tables.encode._preprocess import Preprocessor


@dataclass(frozen=True, kw_only=True)
class TableStream(Stream):
    """A stream from someone's own table; features are encoded but not standardised."""

    preprocessor: Preprocessor
    fingerprint: str  # SHA-256 of the file's bytes, or of the query's rows
    roles: Roles
    task_names: tuple[str, ...]
    task_sizes: tuple[int, ...]
    labels: dict[str, int]  # the label's texts and what they stand for
    dropped_rows: int = 0  # rows left out for a missing task, sensitive value or id


@dataclass(frozen=True)
class Known:
    """What a run knows of its tables already, so that it holds for further ones."""

    preprocessor: Preprocessor
    sensitive: tuple[SensitiveColumn, ...]
    labels: dict[str, int]


@dataclass(frozen=True)
class TaskReader:
    """Hands out tasks, any number of times."""

    table: Ingest
    played: Sequence[int]  # the numbers of its tasks, in order
    preprocessor: Preprocessor
    labels: Mapping[str, int]  # what the label's texts stand for
    sensitive: Sequence[SensitiveColumn]
    id: str | None  # the column of ids, if rows have them

    def __call__(self) -> Iterator[Task]:
        """Begin with the first task."""
        return (self._task(number) for number in self.played)

    def _task(self, number: int) -> Task:
        name, pieces = self.table.tasks.names[number], self.table.pieces(number)
        columns = map(_joined, zip(*(piece.columns for piece in pieces), strict=True))
        x = np.zeros((self.table.sizes[number], len(self.preprocessor.features)))
        missing = [
            _encode(x, encoder, start, next(columns))
            for encoder, start in zip(
                self.preprocessor.columns, self.preprocessor.starts, strict=True
            )
        ]
        label = _codes(self.labels, next(columns))
        groups = [
            _codes({group: code for code, group in enumerate(column.groups)}, next(columns))
            for column in self.sensitive
        ]
        ids = self._ids(next(columns), name) if self.id else None
        return Task(name, x, label, np.stack(groups, axis=1), np.array(missing), ids)

    def _ids(self, values: pa.Array, task: str) -> np.ndarray:
        ids = np.asarray(values)
        if len(set(ids)) < len(ids):
            twin, _ = Counter(ids).most_common(1)[0]
            raise FFMLError(
                f"id column {self.id!r} has {twin!r} twice in task {task!r}; give every row its own"
            )
        return ids


def _joined(parts: Sequence[pa.Array]) -> pa.Array:
    """Join the pieces of a column; if some have texts without a dictionary, all do then."""
    if len({part.type for part in parts}) > 1:
        parts = [_texts(part).cast(pa.string()) for part in parts]
    return pa.chunked_array(parts).unify_dictionaries().combine_chunks()


def _texts(values: pa.Array) -> pa.Array:
    """Return texts; a piece of a column of texts that has none was taken for numbers."""
    return pa.nulls(len(values), pa.string()) if pa.types.is_floating(values.type) else values


def _encode(x: np.ndarray, encoder: Encoder, start: int, values: pa.Array) -> int:
    """Write a column's features into a matrix of zeros; return how many values it lacks."""
    if isinstance(encoder, Categorical):
        places = encoder.places(_texts(values))
        rows = np.flatnonzero(places >= 0)
        x[rows, start + places[rows]] = 1.0
    else:
        x[:, start] = encoder.filled(np.asarray(values))
    return num_missing(values)


def _codes(code: Mapping[str, int], values: pa.Array) -> np.ndarray:
    """Return the code of each text, -1 where it is missing."""
    codes = np.array([*code.values(), -1], np.int32)
    return codes[Categorical("", tuple(code)).places(values)]


def with_memberships(schema: Schema, x: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """Put the memberships behind the features, if the schema has them."""
    if not schema.known_groups:
        return x
    return np.concatenate([x, schema.memberships(groups)], axis=1).astype(x.dtype)


def with_groups(stream: Stream) -> Stream:
    """Return the stream with everybody's memberships among the columns of x.

    Only corrections look at these columns, never a model: a price on a group is then a threshold
    of its own.
    """
    if isinstance(stream, TableStream) and stream.roles.intersect:
        raise FFMLError(
            "deciding with groups takes every protected column by itself; leave out intersect, or "
            "put the crossed groups into a column of their own"
        )
    schema = stream.schema.with_known_groups()

    def tasks() -> Iterator[Task]:
        for task in stream.tasks():
            yield task._replace(x=with_memberships(schema, task.x, task.groups))

    if not isinstance(stream, TableStream):
        return replace(stream, schema=schema, tasks=tasks)
    preprocessor = replace(stream.preprocessor, groups=schema.sensitive)
    return replace(stream, schema=schema, tasks=tasks, preprocessor=preprocessor)
