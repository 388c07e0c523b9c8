"""Tables that are in memory: pandas, polars, Arrow, and the sheet of an Excel file."""

import hashlib
import zipfile
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ffml.base import FFMLError
from ffml.tables._columns import as_table, refuse_broken
from ffml.tables.sources._source import BATCH_ROWS, file_digest, unreadable

if TYPE_CHECKING:
    import pyarrow as pa


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
