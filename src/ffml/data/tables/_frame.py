"""A data frame as a table."""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ffml.data.tables._columns import as_table
from ffml.data.tables._source import BATCH_ROWS

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class FrameSource:
    """A table that is in memory already.

    >>> source = FrameSource.of({"age": [20, 30], "sex": ["f", "m"]})
    >>> source.columns, next(source.batches(["sex"])).to_pydict()
    (('age', 'sex'), {'sex': ['f', 'm']})
    """

    table: "pa.Table"
    name: str = "the data frame"
    parse: bool = False
    task: str | None = None

    @classmethod
    def of(cls, data: Any) -> "FrameSource":
        """Take a pandas or polars data frame, an Arrow table, or a mapping to columns."""
        return cls(as_table(data))

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns."""
        return tuple(self.table.column_names)

    def batches(self, columns: Sequence[str]) -> Iterator["pa.RecordBatch"]:
        """Read some columns from the first row on, in batches of bounded size."""
        yield from self.table.select(list(columns)).to_batches(max_chunksize=BATCH_ROWS)

    def fingerprint(self) -> str:
        """Return the SHA-256 of the rows, in Arrow's form."""
        import pyarrow as pa

        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, self.table.schema) as writer:
            writer.write_table(self.table)
        return hashlib.sha256(sink.getvalue()).hexdigest()
