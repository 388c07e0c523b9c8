"""Tables whose columns have types: Parquet files, data frames, and the sheet of an Excel file."""

import hashlib
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ffml.base import FFMLError
from ffml.tables._columns import as_table, refuse_broken, refuse_twins, without_index
from ffml.tables.sources._source import BATCH_ROWS, file_digest, unreadable

if TYPE_CHECKING:
    import pyarrow as pa

BUFFER_BYTES = 1 << 20  # of a column that is read; without, a whole row group is in memory


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
            return parquet.ParquetFile(self.path, buffer_size=BUFFER_BYTES, pre_buffer=False)
        except pa.ArrowInvalid as error:
            raise self._damaged(error) from error
        except OSError as error:
            raise unreadable(self.path, error) from error

    def _damaged(self, error: Exception) -> FFMLError:
        reason = str(error).splitlines()[0].rstrip(".")
        return FFMLError(f"{self.name} is not a whole Parquet file ({reason}); write it again")


class FrameSource:
    """A data frame; its columns have types, so that texts are not read as numbers."""

    parse = False
    task = None
    has_header = False

    def __init__(self, data: Any, name: str) -> None:
        self.name = name
        self._table = as_table(data)

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns."""
        return tuple(self._table.column_names)

    def batches(self, columns: Sequence[str]) -> Iterator["pa.RecordBatch"]:
        """Cut some columns into batches of bounded size."""
        chosen = self._table.select(list(columns)).combine_chunks()
        for batch in chosen.to_batches(max_chunksize=BATCH_ROWS):
            refuse_broken(batch, self.name)
            yield batch

    def fingerprint(self) -> str:
        """Return the SHA-256 of the columns, in Arrow's format."""
        import pyarrow as pa

        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, self._table.schema.remove_metadata()) as writer:
            writer.write_table(self._table.combine_chunks().replace_schema_metadata())
        return hashlib.sha256(sink.getvalue()).hexdigest()


class ExcelSource(FrameSource):
    """The first sheet of an Excel file; its first row names the columns."""

    has_header = True

    def __init__(self, path: Path) -> None:
        self.path, self.name = path, str(path)

    @cached_property
    def _table(self) -> "pa.Table":  # type: ignore[override]
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

    def fingerprint(self) -> str:
        """Return the SHA-256 of the file's bytes."""
        return file_digest(self.path)
