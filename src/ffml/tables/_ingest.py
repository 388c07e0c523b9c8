"""A table is read once: what its columns are is learned, and its rows are set aside by task.

Each value is read, typed and numbered once. Whoever wants the rows later, to inspect them or to
play them, gets them from there, task by task.
"""

import itertools
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from ffml.base import FFMLError
from ffml.tables._roles import Roles, Rows, needed_columns, read_rows, sensitive_names
from ffml.tables._tasks import TaskFit
from ffml.tables.encode._fit import ColumnFit, TextAfterNumbers
from ffml.tables.encode._preprocess import Preprocessor
from ffml.tables.sources._source import Source, located
from ffml.tables.sources._spool import Spool
from ffml.threads import available_cores

ROWS_PER_PIECE = 4096  # how many rows of a task to set aside at once, on average, if memory allows
MAX_HELD_ROWS = 1 << 18  # how many rows to hold at most for that
MAX_TEXTS = 50  # of a label or a group; with one more it is refused


class Typed(NamedTuple):
    """A batch whose values are numbers or texts with a dictionary."""

    num_rows: int  # before incomplete ones were left out
    rows: Rows
    features: list[Any]


class Texts:
    """Numbers the different texts of a column that has few, from 0; -1 is missing.

    >>> import pyarrow as pa
    >>> labels = Texts()
    >>> labels.add(pa.array(["no", None, "yes", "no"])), labels.codes
    (array([ 0, -1,  1,  0], dtype=int16), {'no': 0, 'yes': 1})
    """

    def __init__(self) -> None:
        self.codes: dict[str, int] = {}

    def add(self, values: pa.Array) -> np.ndarray:
        """See more values and return their numbers; beyond `MAX_TEXTS`, the last one."""
        encoded = values.dictionary_encode()
        lookup = []
        for text in encoded.dictionary.to_pylist():
            if len(self.codes) <= MAX_TEXTS:
                self.codes.setdefault(text, len(self.codes))
            lookup.append(self.codes.get(text, MAX_TEXTS))
        return np.array([*lookup, -1], np.int16)[np.asarray(encoded.indices.fill_null(len(lookup)))]


class Ingest:
    """The rows of a table, set aside by task, and what they have in common.

    Args:
        source: the table.
        roles: of its columns.
        preprocessor: how features are encoded, if that was settled before.
    """

    def __init__(self, source: Source, roles: Roles, preprocessor: Preprocessor | None) -> None:
        self._source, self._roles = source, roles
        encoders = {e.name: e for e in preprocessor.columns} if preprocessor else {}
        features = list(encoders) or roles.features(source.columns)
        if not features:
            raise FFMLError("no columns are left as features; drop fewer (--drop)")
        texts: set[str] = set()  # columns whose first rows looked like numbers
        while True:
            self.columns = [ColumnFit(name, source.parse, encoders.get(name)) for name in features]
            for column in self.columns:
                column.holds_numbers = False if column.name in texts else None
            try:
                with located(source):
                    self._read()
                return
            except TextAfterNumbers as error:
                texts.update(error.args)

    def pieces(self, task: int) -> list[pa.RecordBatch]:
        """Return the rows of a task: features by place, then label, groups and perhaps ids."""
        return [self._spool.read(number) for number in self._places[task]]

    def preprocessor(self, played: Sequence[int]) -> Preprocessor:
        """Say how features are encoded, learning from the first tasks that are played."""
        first = self.pieces(played[0])  # most often enough, and read once for all columns

        def tasks(place: int) -> Iterator[list[Any]]:
            for pieces in itertools.chain([first], map(self.pieces, played[1:])):
                yield [kept(piece, place) for piece in pieces]

        with located(self._source):
            return Preprocessor(tuple(c.finish(tasks(i)) for i, c in enumerate(self.columns)))

    def _read(self) -> None:
        self.read_rows = 0
        self.missing: Counter[str] = Counter()
        self.tasks, self.labels = TaskFit(), Texts()
        self.groups = {name: Texts() for name in sensitive_names(self._roles)}
        self.sizes: list[int] = []  # rows of each task
        self._places: list[list[int]] = []  # where the rows of each task are
        self._spool = Spool()
        held: list[list[Any]] = []
        wanted = needed_columns(self._roles, [column.name for column in self.columns])
        for typed in _ahead(self._typed, self._source.batches(wanted)):
            rows = self._add(typed)
            enough = min(ROWS_PER_PIECE * len(self.sizes), MAX_HELD_ROWS)
            count = sum(len(tasks) for tasks, *_ in held)
            if held and (_kinds(held[0]) != _kinds(rows) or count >= enough):
                self._set_aside(held)
                held = []
            if len(rows[0]):
                held.append(rows)
        if held:
            self._set_aside(held)

    def _typed(self, batch: pa.RecordBatch) -> Typed:
        """Type the values of a batch; runs beside the reading, and changes nothing."""
        rows = read_rows(batch, self._roles)
        return Typed(
            batch.num_rows, rows, [c.typed(rows.batch.column(c.name)) for c in self.columns]
        )

    def _add(self, typed: Typed) -> list[Any]:
        """See a batch; return as columns each row's task, features, label, groups and id."""
        rows, features, turned = typed.rows, [], []
        self.read_rows += typed.num_rows
        self.missing.update(rows.missing)
        tasks = self.tasks.add(rows.task, rows.order)
        for column, values in zip(self.columns, typed.features, strict=True):
            try:
                features.append(column.add(values, rows.batch.column(column.name)))
            except TextAfterNumbers:
                turned.append(column.name)
        if turned:
            raise TextAfterNumbers(*turned)
        groups = [t.add(v) for t, v in zip(self.groups.values(), rows.sensitive, strict=True)]
        ids = [] if rows.ids is None else [rows.ids]
        return [tasks, *features, self.labels.add(rows.label), *groups, *ids]

    def _set_aside(self, held: list[list[Any]]) -> None:
        """Sort some rows by task, and write each task's."""
        tasks, *columns = (_joined(parts) for parts in zip(*held, strict=True))
        batch = pa.record_batch(columns, names=[str(i) for i in range(len(columns))])
        if (np.diff(tasks) < 0).any():
            small = tasks.astype(np.int16) if len(self.tasks.names) < 2**15 else tasks  # faster
            order = np.argsort(small, kind="stable")
            tasks, batch = tasks[order], batch.take(pa.array(order))
        starts = np.flatnonzero(np.diff(tasks, prepend=-1)).tolist()
        for start, stop in zip(starts, [*starts[1:], len(tasks)], strict=True):
            task = int(tasks[start])
            while len(self.sizes) <= task:
                self.sizes.append(0)
                self._places.append([])
            self.sizes[task] += stop - start
            self._places[task].append(self._spool.append(batch.slice(start, stop - start)))


def kept(piece: pa.RecordBatch, place: int) -> Any:
    """Return a column of a piece: numbers or codes as an array, texts as they are."""
    values = piece.column(place)
    return values if pa.types.is_string(values.type) else np.asarray(values)


def _kinds(columns: list[Any]) -> list[str]:
    return [str(getattr(column, "dtype", "text")) for column in columns]


def _joined(parts: Sequence[Any]) -> Any:
    if isinstance(parts[0], np.ndarray):
        return parts[0] if len(parts) == 1 else np.concatenate(parts)
    return pa.concat_arrays(parts)


def _ahead(function: Callable[[Any], Any], items: Iterable[Any]) -> Iterator[Any]:
    """Call a function for every item; items and results are made ahead of time, on all cores."""
    workers, iterator = available_cores(), iter(items)
    with ThreadPoolExecutor(1) as reader, ThreadPoolExecutor(workers) as pool:
        waiting: deque[Future[Any]] = deque()
        following = reader.submit(next, iterator, None)
        while (item := following.result()) is not None:
            following = reader.submit(next, iterator, None)
            waiting.append(pool.submit(function, item))
            if len(waiting) > workers:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
