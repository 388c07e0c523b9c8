"""Further tables of a stream that has begun: next month's rows, encoded as those before."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ffml.tables._stream import Known, TableStream, table_stream
from ffml.tables.sources._folder import FILE, FolderSource
from ffml.tables.sources._open import open_data
from ffml.tables.sources._source import Source

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
