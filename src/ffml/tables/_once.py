"""A source that is read once: what the first pass brings is set aside on disk for the others."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ffml.tables._source import Source
from ffml.tables._spool import Spool

if TYPE_CHECKING:
    import pyarrow as pa


class ReadOnce:
    """Parse a table's texts once, however often its rows are gone through.

    The first pass that comes to its end sets aside the columns that it asked for, in a file
    without a name. Later passes over these columns, or over some of them, read from there.
    """

    def __init__(self, source: Source) -> None:
        self._source = source
        self.name, self.columns = source.name, source.columns
        self.parse, self.task, self.fingerprint = source.parse, source.task, source.fingerprint
        self._kept: tuple[Spool, frozenset[str]] | None = None

    def batches(self, columns: Sequence[str]) -> Iterator["pa.RecordBatch"]:
        """Read some columns from the first row on, in batches of bounded size."""
        if self._kept is not None and self._kept[1].issuperset(columns):
            spool, _ = self._kept
            for number in range(len(spool)):
                yield spool.read(number).select(list(columns))
            return
        spool = Spool()
        for batch in self._source.batches(columns):
            spool.append(batch)
            yield batch
        self._kept = (spool, frozenset(columns))
