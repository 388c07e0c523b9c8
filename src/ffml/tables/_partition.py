"""The second pass over a table: its rows, task by task."""

import itertools
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ffml.base import FFMLError, Task
from ffml.tables._columns import numbers, texts
from ffml.tables._encoders import Numeric
from ffml.tables._roles import Roles
from ffml.tables._rows import needed_columns, read_rows
from ffml.tables._source import BATCH_ROWS, Source
from ffml.tables._spool import Spool
from ffml.tables._survey import Survey
from ffml.tables._tasks import run_starts

if TYPE_CHECKING:
    import pyarrow as pa

ROWS_PER_PIECE = 32  # how many rows of a task to set aside at once, on average, if memory allows
MAX_RUN_ROWS = 8 * BATCH_ROWS  # how many rows to hold at most for that

Coded = tuple[np.ndarray, "pa.RecordBatch"]  # each row's task by number; features, label, groups


class TaskReader:
    """Hands out the tasks of a table that has been surveyed, any number of times."""

    def __init__(self, source: Source, roles: Roles, found: Survey) -> None:
        self._source = source
        self._roles = replace(roles, order=None, time=None)  # the survey settled it
        self._found = found
        self._aside: tuple[Spool, dict[int, list[int]]] | None = None

    def in_place(self) -> Iterator[Task]:
        """Read a table whose rows lie task by task: a task ends where the next one starts."""
        pieces: list[pa.RecordBatch] = []
        current = 0
        for codes, batch in self._batches():
            for code, piece in _runs(codes, batch):
                if code != current:
                    yield self._task(current, pieces)
                    current, pieces = code, []
                pieces.append(piece)
        yield self._task(current, pieces)

    def set_aside(self) -> Iterator[Task]:
        """Sort some rows at a time by task, set them aside on disk, and collect them by task.

        They stay there for the next pass, until nobody holds the reader any more.
        """
        if self._aside is None:
            self._aside = self._set_aside()
        spool, places = self._aside
        for code in range(len(self._found.tasks)):
            yield self._task(code, [spool.read(number) for number in places[code]])

    def _set_aside(self) -> tuple[Spool, dict[int, list[int]]]:
        spool = Spool()
        places: dict[int, list[int]] = defaultdict(list)
        for codes, batch in self._long_batches():
            order = np.argsort(codes, kind="stable")
            for code, piece in _runs(codes[order], batch.take(order)):
                places[code].append(spool.append(piece))
        return spool, places

    def _batches(self) -> Iterator[Coded]:
        """Read batches in one form, whatever the types: numbers, texts, then codes."""
        import pyarrow as pa

        columns = self._found.preprocessor.columns
        groups = [{g: i for i, g in enumerate(c.groups)} for c in self._found.sensitive]
        tasks = {name: i for i, name in enumerate(self._found.tasks)}
        wanted = needed_columns(self._roles, self._found.preprocessor.names)
        for batch in self._source.batches(wanted):
            rows = read_rows(batch, self._roles)
            if not len(rows.task):
                continue
            features = [
                pa.array(numbers(rows.batch.column(column.name), column.name))
                if isinstance(column, Numeric)
                else texts(rows.batch.column(column.name))
                for column in columns
            ]
            codes = [self._codes(rows.label, {**self._found.labels, None: -1})]
            codes += [self._codes(v, k) for v, k in zip(rows.sensitive, groups, strict=True)]
            named = [*self._found.preprocessor.names, *map(str, range(len(codes)))]
            arrays = [*features, *map(pa.array, codes)]
            if rows.ids is not None:
                named, arrays = [*named, "id"], [*arrays, rows.ids]
            yield self._codes(rows.task, tasks), pa.RecordBatch.from_arrays(arrays, names=named)

    def _long_batches(self) -> Iterator[Coded]:
        """Join batches until tasks have enough rows in them."""
        import pyarrow as pa

        enough = min(ROWS_PER_PIECE * len(self._found.tasks), MAX_RUN_ROWS)
        held: list[Coded] = []
        for coded in itertools.chain(self._batches(), [None]):
            if coded is not None:
                held.append(coded)
            if held and (coded is None or sum(len(codes) for codes, _ in held) >= enough):
                table = pa.Table.from_batches([batch for _, batch in held])
                codes = np.concatenate([codes for codes, _ in held])
                held = []
                yield codes, table.combine_chunks().to_batches()[0]

    def _codes(self, values: "pa.Array", known: Mapping[Any, int]) -> np.ndarray:
        encoded = values.dictionary_encode(null_encoding="encode")
        try:
            lookup = [known[text] for text in encoded.dictionary.to_pylist()]
        except KeyError as error:
            raise self._changed() from error
        return np.array(lookup, np.int32)[np.asarray(encoded.indices)]

    def _task(self, code: int, pieces: list["pa.RecordBatch"]) -> Task:
        import pyarrow as pa

        if sum(piece.num_rows for piece in pieces) != self._found.sizes[code]:
            raise self._changed()
        table = pa.Table.from_batches(pieces)
        preprocessor = self._found.preprocessor
        width = len(preprocessor.columns)
        label, *groups = (np.asarray(column) for column in table.columns[width:])
        ids = groups.pop() if self._roles.id else None
        if ids is not None and len(set(ids)) < len(ids):
            twin, _ = Counter(ids).most_common(1)[0]
            raise FFMLError(
                f"id column {self._roles.id!r} has {twin!r} twice in task "
                f"{self._found.tasks[code]!r}; give every row its own"
            )
        x = preprocessor.transform(table.select(list(range(width))))
        missing = np.array([num_missing(column) for column in table.columns[:width]])
        groups_of = np.stack(groups, axis=1)
        return Task(self._found.tasks[code], x, label, groups_of, missing, ids)

    def _changed(self) -> FFMLError:
        return FFMLError(f"{self._source.name} changed while it was read; start again")


def num_missing(values: "pa.ChunkedArray") -> int:
    """Count the values of a column that are missing."""
    import pyarrow.compute as pc

    return pc.sum(pc.is_null(values, nan_is_null=True)).as_py() or 0


def _runs(codes: np.ndarray, batch: "pa.RecordBatch") -> Iterator[tuple[int, "pa.RecordBatch"]]:
    """Cut a batch where the task changes."""
    starts = run_starts(codes)
    for start, stop in zip(starts, [*starts[1:], len(codes)], strict=True):
        yield int(codes[start]), batch.slice(start, stop - start)
