"""Parquet files, read batch by batch."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ffml.base import FFMLError
from ffml.tables._columns import refuse_broken, refuse_twins, without_index
from ffml.tables.sources._source import BATCH_ROWS, file_digest, unreadable

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class ParquetSource:
    """A Parquet file; columns keep their types."""

    path: Path
    parse: bool = field(default=False, init=False)
    task: None = field(default=None, init=False)
    has_header: bool = field(default=False, init=False)

    @property
    def name(self) -> str:
        """The path as it was given."""
        return str(self.path)

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The top-level columns, but for an index that pandas added."""
        with self._open() as file:
            names = file.schema_arrow.names
        refuse_twins(names)
        return tuple(without_index(names))

    def batches(self, columns: Sequence[str]) -> Iterator["pa.RecordBatch"]:
        """Read some columns in batches."""
        import pyarrow as pa

        with self._open() as file:
            try:
                for batch in file.iter_batches(BATCH_ROWS, columns=list(columns)):
                    refuse_broken(batch, self.name)
                    yield batch.select(list(columns))
            except (pa.ArrowException, OSError) as error:
                raise self._damaged(error) from error

    def fingerprint(self) -> str:
        """Return the SHA-256 of the file's bytes."""
        return file_digest(self.path)

    def _open(self) -> Any:
        import pyarrow as pa
        from pyarrow import parquet

        try:
            return parquet.ParquetFile(self.path)
        except pa.ArrowInvalid as error:
            raise self._damaged(error) from error
        except OSError as error:
            raise unreadable(self.path, error) from error

    def _damaged(self, error: Exception) -> FFMLError:
        reason = str(error).splitlines()[0].rstrip(".")
        return FFMLError(f"{self.name} is not a whole Parquet file ({reason}); write it again")
