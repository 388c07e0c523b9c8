"""The tasks of a table that has been read, in the order in which they are played."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from ffml.base import FFMLError, SensitiveColumn, Task
from ffml.tables._ingest import Ingest, kept
from ffml.tables.encode._encoders import Categorical, Numeric
from ffml.tables.encode._preprocess import Preprocessor


class TaskReader:
    """Hands out tasks, any number of times.

    Args:
        read: the table.
        played: the numbers of its tasks, in order.
        preprocessor: how features are encoded.
        labels: what the label's texts stand for.
        sensitive: the protected attributes and their groups.
        id: the column of ids, if rows have them.
    """

    def __init__(
        self,
        read: Ingest,
        played: Sequence[int],
        preprocessor: Preprocessor,
        labels: Mapping[str, int],
        sensitive: Sequence[SensitiveColumn],
        id: str | None,
    ) -> None:
        self._read, self._played, self._id = read, played, id
        self._encoders, self._starts = preprocessor.columns, preprocessor.starts
        self._width = len(preprocessor.features)
        self._labels = _lookup([labels[text] for text in read.labels.codes])
        self._groups = [
            _lookup([column.groups.index(text) for text in read.groups[column.name].codes])
            for column in sensitive
        ]
        self._places = [
            _known_places(encoder, list(fit.codes)) if isinstance(encoder, Categorical) else None
            for encoder, fit in zip(preprocessor.columns, read.columns, strict=True)
        ]

    def __call__(self) -> Iterator[Task]:
        """Begin with the first task."""
        return (self._task(number) for number in self._played)

    def _task(self, number: int) -> Task:
        name, pieces = self._read.tasks.names[number], self._read.pieces(number)
        columns = [[kept(p, i) for p in pieces] for i in range(pieces[0].num_columns)]
        width = len(self._encoders)
        x = np.zeros((self._read.sizes[number], self._width))
        missing = np.array([self._encode(x, i, columns[i]) for i in range(width)])
        ids = self._ids(columns.pop(), name) if self._id else None
        label, *groups = (np.concatenate(parts) for parts in columns[width:])
        codes = [lookup[codes] for lookup, codes in zip(self._groups, groups, strict=True)]
        return Task(name, x, self._labels[label], np.stack(codes, axis=1), missing, ids)

    def _encode(self, x: np.ndarray, place: int, parts: list[Any]) -> int:
        """Write a column's features into a matrix of zeros; return how many values it lacks."""
        encoder = self._encoders[place]
        start = self._starts[place]
        if isinstance(encoder, Numeric):
            numbers = np.concatenate(parts)
            x[:, start] = encoder.filled(numbers)
            return int(np.isnan(numbers).sum())
        places = np.concatenate([self._known(place, part) for part in parts])
        rows = np.flatnonzero(places >= 0)
        x[rows, start + places[rows]] = 1.0
        return sum(_lacks(part) for part in parts)

    def _known(self, place: int, part: Any) -> np.ndarray:
        """Return where the features of a column of texts are."""
        known, encoder = self._places[place], self._encoders[place]
        assert known is not None and isinstance(encoder, Categorical)
        if not isinstance(part, np.ndarray):
            return encoder.places(part)
        return known[part] if part.dtype == np.int32 else np.full(len(part), known[-1])

    def _ids(self, parts: list[Any], task: str) -> np.ndarray:
        ids = np.concatenate([np.asarray(part) for part in parts])
        if len(set(ids)) < len(ids):
            twin, _ = Counter(ids).most_common(1)[0]
            raise FFMLError(
                f"id column {self._id!r} has {twin!r} twice in task {task!r}; give every row its "
                "own"
            )
        return ids


def _lookup(codes: list[int]) -> np.ndarray:
    """Return codes by number; the last one, -1, stays."""
    return np.array([*codes, -1], np.int32)


def _known_places(encoder: Categorical, texts: list[str]) -> np.ndarray:
    """Return the place of each known text's feature, and at last that of a missing one."""
    return encoder.places(pa.array([*texts, None], pa.string()))


def _lacks(part: Any) -> int:
    if not isinstance(part, np.ndarray):
        return part.null_count
    return int((part < 0).sum()) if part.dtype == np.int32 else len(part)
