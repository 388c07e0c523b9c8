"""CSV files: separator and compression found out, values left as texts, read block by block."""

import codecs
import contextlib
import csv
import io
import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv as arrow_csv

from ffml.base import FFMLError
from ffml.tables._columns import refuse_twins
from ffml.tables.sources._source import FileSource, unreadable

SEPARATORS = (",", ";", "\t", "|")
# What stands for "no value", beside an empty cell.
MISSING_WORDS = ("", "?", "#N/A", "N/A", "n/a", "NA", "<NA>", "NULL", "null", "NaN", "nan", "-nan")
SAMPLE_BYTES = 1 << 18
BLOCK_BYTES = 1 << 18  # the longest row that can be read; Arrow reads up to 32 blocks ahead
BATCH_BYTES = 1 << 21  # that are looked at together: many small batches take twice as long


class Sample(NamedTuple):
    """What the beginning of a file tells."""

    separator: str
    header: list[str]
    blank_lines: int  # before the header
    has_rows: bool


class CsvSource(FileSource):
    """A CSV file in UTF-8 (with or without byte order mark), perhaps gzipped.

    The first row names the columns. The separator is the one of comma, semicolon, tab and bar
    that cuts the first rows most evenly. Spaces around a value are dropped.
    """

    parse = True
    first_row = 2

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The header; a column without a name is left out, since pandas writes its index so."""
        return tuple(name for name in self._sample.header if name)

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Read some columns as texts, missing ones as nulls."""
        if not self._sample.has_rows:
            return
        places = [str(self._sample.header.index(column)) for column in columns]
        last = str(len(self._sample.header) - 1)
        end = ""
        try:
            with self._open() as stream:
                for batch in _gathered(self._reader(stream, list(dict.fromkeys([*places, last])))):
                    arrays = [_cleaned(batch.column(place)) for place in places]
                    end = (batch.column(last)[-1].as_py() or "") if batch.num_rows else end
                    yield pa.RecordBatch.from_arrays(arrays, names=list(columns))
        except (pa.ArrowInvalid, OSError) as error:
            raise _refusal(self.name, self._with_row(error)) from error
        self._refuse_open_quote(end)

    @cached_property
    def _sample(self) -> Sample:
        """Look at the beginning of the file."""
        try:
            with self._open() as stream:
                start = stream.read(SAMPLE_BYTES)
        except OSError as error:
            raise _refusal(self.name, str(error)) from error
        return _sniff(self.name, start)

    def _with_row(self, error: Exception) -> str:
        """Return what Arrow says; in which row, it knows only if one thread reads."""
        try:
            with self._open() as stream:
                for _ in self._reader(stream, ["0"], threads=False):
                    pass
        except (pa.ArrowInvalid, OSError) as again:
            return str(again)
        return str(error)

    def _reader(self, stream: Any, places: list[str], threads: bool = True) -> Any:
        return arrow_csv.open_csv(
            stream,
            read_options=arrow_csv.ReadOptions(
                use_threads=threads,
                block_size=BLOCK_BYTES,
                column_names=[str(i) for i in range(len(self._sample.header))],
                skip_rows=self._sample.blank_lines,
                skip_rows_after_names=1,
            ),
            parse_options=arrow_csv.ParseOptions(
                delimiter=self._sample.separator, newlines_in_values=True
            ),
            convert_options=arrow_csv.ConvertOptions(
                include_columns=places,
                column_types=dict.fromkeys(places, pa.string()),
                null_values=list(MISSING_WORDS),
                strings_can_be_null=True,
            ),
        )

    def _refuse_open_quote(self, end: str) -> None:
        """Refuse a file whose last value swallowed the rows after a quote that is not closed."""
        swallowed = "\n".join(end.splitlines()[1:20])
        widths = set()
        with contextlib.suppress(csv.Error):
            widths = {len(row) for row in _rows(swallowed, self._sample.separator)}
        if widths == {len(self._sample.header)}:
            raise FFMLError(f"{self.name} ends inside a quoted value; close the quote")

    def _open(self) -> Any:
        compression = "gzip" if self.path.suffix == ".gz" else None
        try:
            return pa.input_stream(str(self.path), compression=compression)
        except OSError as error:
            raise unreadable(self.path, error) from error


def _sniff(name: str, start: bytes) -> Sample:
    """Take the separator that cuts the first rows most evenly."""
    try:
        text = codecs.getincrementaldecoder("utf-8-sig")().decode(start)
    except UnicodeDecodeError as error:
        raise _refusal(name, "invalid UTF8") from error
    if "\0" in text:
        raise FFMLError(f"{name} is not a text file; save it as CSV, or name Parquet .parquet")
    if not text.strip():
        raise FFMLError(f"{name} is empty; a header and rows are needed")
    separator = max(SEPARATORS, key=lambda candidate: _evenness(text, candidate))
    rows = _rows(text, separator)
    header = [column.strip() for column in next(rows)]
    if len(header) < 2:
        raise FFMLError(
            f"{name} has a single column, {header[0]!r}; separate columns by comma, semicolon, tab "
            "or |"
        )
    refuse_twins([column for column in header if column])
    blank_lines = len(text[: len(text) - len(text.lstrip("\r\n"))].splitlines())
    has_rows = len(start) == SAMPLE_BYTES or next(rows, None) is not None
    return Sample(separator, header, blank_lines, has_rows)


def _rows(text: str, separator: str) -> Iterator[list[str]]:
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
    return (row for row in reader if row)


def _evenness(text: str, separator: str) -> tuple[float, int]:
    """Return the share of rows as wide as the header, and that width; a single column is worst."""
    widths: list[int] = []
    with contextlib.suppress(csv.Error):  # an endless field: judge by the rows before it
        widths.extend(len(row) for row in itertools.islice(_rows(text, separator), 101))
    widths = widths[:-1] or widths  # the last row may be cut off
    even = sum(width == widths[0] for width in widths) / len(widths)
    return (even, widths[0]) if widths[0] > 1 else (0.0, 1)


def _gathered(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Put batches together until they are large enough."""
    waiting: list[pa.RecordBatch] = []
    for batch in batches:
        waiting.append(batch)
        if sum(one.nbytes for one in waiting) >= BATCH_BYTES:
            yield from pa.Table.from_batches(waiting).combine_chunks().to_batches()
            waiting = []
    if waiting:
        yield from pa.Table.from_batches(waiting).combine_chunks().to_batches()


def _cleaned(values: pa.Array) -> pa.Array:
    """Drop spaces around values; where there were any, look again for what is missing."""
    trimmed = pc.utf8_trim_whitespace(values)
    if _num_bytes(trimmed) == _num_bytes(values):
        return values
    missing = pc.is_in(trimmed, value_set=pa.array(MISSING_WORDS))
    return pc.if_else(missing, pa.scalar(None, pa.string()), trimmed)


def _num_bytes(values: pa.Array) -> int:
    """Return how long all texts are together."""
    if not len(values):
        return 0
    ends = np.frombuffer(values.buffers()[1], np.int32)
    return int(ends[values.offset + len(values)] - ends[values.offset])


def _refusal(name: str, reason: str) -> FFMLError:
    if "invalid UTF8" in reason:
        return FFMLError(f"{name} is not in UTF-8; save it with that encoding")
    if ragged := re.search(r"Row #(\d+): Expected (\d+) columns, got (\d+)", reason):
        row, expected, found = ragged.groups()
        return FFMLError(
            f"{name}: row {row} has {found} columns, the header {expected}; quote values that "
            "hold the separator"
        )
    if "straddling" in reason:
        return FFMLError(f"{name} has a row of more than 256 KB; look for a missing quote")
    if "compressed" in reason or "inflate" in reason:
        return FFMLError(f"{name} cannot be decompressed; compress it again with gzip")
    return FFMLError(f"cannot read {name}: {reason.splitlines()[0]}")
