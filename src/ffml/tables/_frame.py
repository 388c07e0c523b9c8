"""Tables that are in memory already: pandas, polars, Arrow."""

import hashlib
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from ffml.tables._columns import as_table
from ffml.tables._source import BATCH_ROWS

if TYPE_CHECKING:
    import pyarrow as pa


class FrameSource:
    """A data frame; its columns have types, so that texts are not read as numbers."""

    parse = False
    task = None

    def __init__(self, data: Any, name: str) -> None:
        self._table = as_table(data)
        self.name = name
        self.columns = tuple(self._table.column_names)

    def batches(self, columns: Sequence[str]) -> Iterator["pa.RecordBatch"]:
        """Cut some columns into batches of bounded size."""
        chosen = self._table.select(list(columns)).combine_chunks()
        yield from chosen.to_batches(max_chunksize=BATCH_ROWS)

    def fingerprint(self) -> str:
        """Return the SHA-256 of the columns, in Arrow's format."""
        import pyarrow as pa

        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, self._table.schema.remove_metadata()) as writer:
            writer.write_table(self._table.combine_chunks().replace_schema_metadata())
        return hashlib.sha256(sink.getvalue()).hexdigest()
