"""Tables whose columns have types: Parquet files, data frames, and the sheet of an Excel file."""

import hashlib
import zipfile
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import pyarrow as pa
from pyarrow import parquet

from ffml.base import FFMLError
from ffml.tables._columns import as_table, refuse_broken, refuse_twins, without_index
from ffml.tables.sources._source import BATCH_ROWS, FileSource, Source, unreadable

BUFFER_BYTES = 1 << 20  # of a column that is read; without, a whole row group is in memory


class ParquetSource(FileSource):
    """A Parquet file."""

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The top-level columns, but for an index that pandas added."""
        with self._open() as file:
            names = file.schema_arrow.names
        refuse_twins(names)
        return tuple(without_index(names))

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Read some columns in batches."""
        with self._open() as file:
            try:
                for batch in file.iter_batches(BATCH_ROWS, columns=list(columns)):
                    refuse_broken(batch, self.name)
                    yield batch.select(list(columns))
            except (pa.ArrowException, OSError) as error:
                raise self._damaged(error) from error

    def _open(self) -> parquet.ParquetFile:
        try:
            return parquet.ParquetFile(self.path, buffer_size=BUFFER_BYTES, pre_buffer=False)
        except pa.ArrowInvalid as error:
            raise self._damaged(error) from error
        except OSError as error:
            raise unreadable(self.path, error) from error

    def _damaged(self, error: Exception) -> FFMLError:
        reason = str(error).splitlines()[0].rstrip(".")
        return FFMLError(f"{self.name} is not a whole Parquet file ({reason}); write it again")


class FrameSource(Source):
    """A table in memory: a pandas or polars data frame, an Arrow table."""

    def __init__(self, data: Any, name: str = "the data frame") -> None:
        self.name, self._table = name, as_table(data)

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """All columns."""
        return tuple(self._table.column_names)

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Cut some columns into batches of bounded size."""
        chosen = self._table.select(list(columns)).combine_chunks()
        for batch in chosen.to_batches(max_chunksize=BATCH_ROWS):
            refuse_broken(batch, self.name)
            yield batch

    def fingerprint(self) -> str:
        """Return the SHA-256 of the columns, in Arrow's format."""
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, self._table.schema.remove_metadata()) as writer:
            writer.write_table(self._table.combine_chunks().replace_schema_metadata())
        return hashlib.sha256(sink.getvalue()).hexdigest()


class ExcelSource(FileSource, FrameSource):
    """The first sheet of an Excel file; its first row names the columns."""

    first_row = 2

    @cached_property
    def _table(self) -> pa.Table:  # type: ignore[override]
        import pandas as pd

        try:
            return as_table(pd.read_excel(self.path))
        except ImportError as error:
            raise FFMLError(
                f"{self.name} is an Excel file, which needs openpyxl; install it with ffml[excel], "
                "or save the sheet as .csv"
            ) from error
        except FFMLError:
            raise
        except OSError as error:
            raise unreadable(self.path, error) from error
        except (ValueError, LookupError, zipfile.BadZipFile) as error:
            reason = str(error).partition("\n")[0]
            raise FFMLError(
                f"{self.name} cannot be read as Excel ({reason}); save the sheet as .csv"
            ) from error
