"""A table is read once: what its columns are is learned, and its rows are set aside by task.

Each value is read and typed once. Whoever wants the rows later, to inspect them or to play them,
gets them from there, task by task.
"""

import itertools
import shlex
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np
import pyarrow as pa

from ffml.base import FFMLError
from ffml.tables._roles import Roles, Rows, needed_columns, read_rows, sensitive_names
from ffml.tables._tasks import TaskFit
from ffml.tables.encode._encoders import Encoder
from ffml.tables.encode._fit import ColumnFit, TextAfterNumbers, short
from ffml.tables.encode._preprocess import Preprocessor
from ffml.tables.sources._source import Source, located
from ffml.tables.sources._spool import Spool
from ffml.threads import available_cores

ROWS_PER_PIECE = 4096  # how many rows of a task to set aside at once, on average, if memory allows
MAX_HELD_ROWS = 1 << 18  # how many rows to hold at most for that
MAX_TEXTS = 50  # of a label or a group; with one more it is refused
MAX_TOLD = 10  # columns that are refused with a reason each


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

        def tasks(place: int) -> Iterator[list[pa.Array]]:
            for pieces in itertools.chain([first], map(self.pieces, played[1:])):
                yield [piece.column(place) for piece in pieces]

        encoders: list[Encoder] = []
        refusals: dict[str, str] = {}  # column -> why
        for place, column in enumerate(self.columns):
            try:
                with located(self._source):
                    encoders.append(column.finish(tasks(place)))
            except FFMLError as error:
                refusals[column.name] = str(error)
        if refusals:
            raise FFMLError(_refused(refusals))
        return Preprocessor(tuple(encoders))

    def _read(self) -> None:
        self.read_rows = 0
        self.missing: Counter[str] = Counter()
        self.tasks = TaskFit()
        self.labels: dict[str, None] = {}  # its different texts
        names = sensitive_names(self._roles.sensitive, self._roles.intersect)
        self.groups: dict[str, dict[str, None]] = {name: {} for name in names}
        self.sizes: list[int] = []  # rows of each task
        self._places: list[list[int]] = []  # where the rows of each task are
        self._spool = Spool()
        held: list[pa.RecordBatch] = []
        wanted = needed_columns(self._roles, [column.name for column in self.columns])
        for typed in _ahead(self._typed, self._source.batches(wanted)):
            rows = self._add(*typed)
            enough = min(ROWS_PER_PIECE * len(self.sizes), MAX_HELD_ROWS)
            if held and (held[0].schema != rows.schema or sum(map(len, held)) >= enough):
                self._set_aside(held)
                held = []
            if len(rows):
                held.append(rows)
        if held:
            self._set_aside(held)

    def _typed(self, batch: pa.RecordBatch) -> tuple[int, Rows, list[pa.Array]]:
        """Type the values of a batch; runs beside the reading, and changes nothing."""
        rows = read_rows(batch, self._roles)
        return len(batch), rows, [c.typed(rows.batch.column(c.name)) for c in self.columns]

    def _add(self, read_rows: int, rows: Rows, typed: list[pa.Array]) -> pa.RecordBatch:
        """See a batch; return as columns each row's features, label, groups, id and task."""
        features, turned = [], []
        self.read_rows += read_rows
        self.missing.update(rows.missing)
        for column, values in zip(self.columns, typed, strict=True):
            try:
                features.append(column.add(values, rows.batch.column(column.name)))
            except TextAfterNumbers:
                turned.append(column.name)
        if turned:
            raise TextAfterNumbers(*turned)
        texts = [(self.labels, rows.label), *zip(self.groups.values(), rows.sensitive, strict=True)]
        parts = [_encoded(seen, values) for seen, values in texts]
        parts += [] if rows.ids is None else [rows.ids]
        columns = [*features, *parts, pa.array(self.tasks.add(rows.task, rows.order))]
        return pa.record_batch(columns, names=[str(i) for i in range(len(columns))])

    def _set_aside(self, held: list[pa.RecordBatch]) -> None:
        """Sort some rows by task, and write each task's."""
        rows = pa.Table.from_batches(held).unify_dictionaries().combine_chunks().to_batches()[0]
        tasks = np.asarray(rows.column(rows.num_columns - 1))
        if (np.diff(tasks) < 0).any():
            small = tasks.astype(np.int16) if len(self.tasks.names) < 2**15 else tasks  # faster
            order = np.argsort(small, kind="stable")
            tasks, rows = tasks[order], rows.take(pa.array(order))
        starts = np.flatnonzero(np.diff(tasks, prepend=-1)).tolist()
        for start, stop in itertools.pairwise([*starts, len(tasks)]):
            task = int(tasks[start])
            while len(self.sizes) <= task:
                self.sizes.append(0)
                self._places.append([])
            self.sizes[task] += stop - start
            self._places[task].append(self._spool.append(rows.slice(start, stop - start)))


def _encoded(seen: dict[str, None], values: pa.Array) -> pa.Array:
    """Note the different texts, up to more than are allowed; return texts with a dictionary."""
    encoded = values.dictionary_encode()
    if len(seen) <= MAX_TEXTS:
        seen |= dict.fromkeys(encoded.dictionary.to_pylist())
    return short(encoded)


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


def _refused(refusals: Mapping[str, str]) -> str:
    """Say why columns cannot be used, with the options that drop those that may be dropped."""
    if len(refusals) == 1:
        return next(iter(refusals.values()))
    reasons = list(refusals.values())[:MAX_TOLD]
    numbered = "; ".join(f"({i}) {one}" for i, one in enumerate(reasons, 1))
    drops = [f"--drop {shlex.quote(name)}" for name, why in refusals.items() if "--drop" in why]
    once = f"; to drop all of these at once: {' '.join(drops)}" if len(drops) > 1 else ""
    return f"{len(refusals)} columns cannot be used as they are: {numbered}{once}"
