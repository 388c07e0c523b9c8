"""A query's rows as a table: fetched once, set aside on disk, and read from there."""

import datetime
import decimal
import hashlib
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ffml.border import public_address
from ffml.tables._columns import refuse_twins
from ffml.tables.sources._database import query_chunks
from ffml.tables.sources._spool import Spool

if TYPE_CHECKING:
    import pyarrow as pa

_NUMBERS = (bool, int, float, decimal.Decimal)
_RAW = (bytes, memoryview, list, tuple, dict)


class SqlSource:
    """The rows of a query.

    The query runs once, through a cursor of the server, chunk by chunk. Its rows are set aside
    in a file without a name, since a second run could bring them in another order, or others.
    To resume a run later, give the query an ORDER BY over a unique key.
    """

    parse = False
    task = None
    has_header = False

    def __init__(self, url: str, query: str) -> None:
        self._url = url
        self._query = query

    @property
    def name(self) -> str:
        """The database, without user and password."""
        return f"the query on {public_address(self._url)}"

    def __repr__(self) -> str:
        return f"SqlSource({public_address(self._url)!r}, {self._query!r})"

    @property
    def columns(self) -> tuple[str, ...]:
        """The names that the query gives."""
        return tuple(self._fetched[1])

    def batches(self, columns: Sequence[str]) -> Iterator["pa.RecordBatch"]:
        """Read some columns from the rows set aside, each with one type throughout."""
        import pyarrow as pa

        spool, kinds, _ = self._fetched
        for number in range(len(spool)):
            batch = spool.read(number)
            arrays = [batch.column(column).cast(kinds[column]) for column in columns]
            yield pa.RecordBatch.from_arrays(arrays, names=list(columns))

    def fingerprint(self) -> str:
        """Return the SHA-256 of the names and rows."""
        return self._fetched[2]

    @cached_property
    def _fetched(self) -> tuple[Spool, dict[str, "pa.DataType"], str]:
        import pyarrow as pa

        spool, digest = Spool(), hashlib.sha256()
        kinds: dict[str, pa.DataType] = {}
        for names, rows in query_chunks(self._url, self._query):
            if not kinds:
                refuse_twins(names)
                digest.update(repr(names).encode())
                kinds = dict.fromkeys(names, pa.null())
            for row in rows:
                digest.update(repr(tuple(row)).encode())
            arrays = [_array([row[i] for row in rows]) for i in range(len(names))]
            batch = pa.RecordBatch.from_arrays(arrays, names=names)
            kinds = {n: _common(kinds[n], batch.schema.field(n).type) for n in names}
            spool.append(batch)
        return spool, kinds, digest.hexdigest()


def _array(values: list[Any]) -> "pa.Array":
    """Make a column of what a driver returned; what fits nothing else becomes texts."""
    import pyarrow as pa

    kinds = {type(value) for value in values if value is not None}
    if not kinds:
        return pa.nulls(len(values))
    if kinds == {bool}:
        return pa.array(values, pa.bool_())
    if kinds <= {int, bool} and all(abs(value or 0) < 2**63 for value in values):
        return pa.array([None if v is None else int(v) for v in values], pa.int64())
    if kinds <= set(_NUMBERS):
        return pa.array([None if v is None else float(v) for v in values], pa.float64())
    if kinds == {datetime.date}:
        return pa.array(values, pa.date32())
    if kinds == {datetime.datetime}:
        return pa.array([_utc(value) for value in values], pa.timestamp("us"))
    if kinds <= set(_RAW):
        return pa.array([None if v is None else repr(v).encode() for v in values], pa.binary())
    return pa.array([None if value is None else str(value) for value in values], pa.string())


def _utc(value: datetime.datetime | None) -> datetime.datetime | None:
    """Take a time zone off, so that all times of a column compare."""
    if value is None or value.tzinfo is None:
        return value
    return value.astimezone(datetime.UTC).replace(tzinfo=None)


def _common(first: "pa.DataType", second: "pa.DataType") -> "pa.DataType":
    """Return the narrowest type that holds the values of both."""
    import pyarrow as pa

    ladder = [pa.null(), pa.bool_(), pa.int64(), pa.float64()]
    if first == second or second == pa.null():
        return first
    if first == pa.null():
        return second
    if first in ladder and second in ladder:
        return ladder[max(ladder.index(first), ladder.index(second))]
    return pa.string()
