"""In which row of a source a value is."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from ffml.base import FFMLError
from ffml.tables._columns import BadValue
from ffml.tables.sources._source import Source


class Place(NamedTuple):
    """The first bad value of a column, and how many more there are."""

    value: Any
    row: int  # as a spreadsheet counts: a CSV file's header is row 1
    file: str  # of a folder
    more: int


@contextmanager
def located(source: Source) -> Iterator[None]:
    """Say in which row a value is that turns out to be bad."""
    try:
        yield
    except BadValue as error:
        place = _place(source, error)
        if place is None:
            raise
        shown = "" if repr(place.value) in error.wrong else f"{place.value!r} in "
        of = f" of {place.file}" if place.file else ""
        more = f", and {place.more:,} more" if place.more else ""
        where = f"({shown}row {place.row:,}{of}{more})"
        raise FFMLError(f"{error.wrong} {where}; {error.help}") from error


def _place(source: Source, error: BadValue) -> Place | None:
    """Go through the column once more; nobody waits for a message."""
    first: Place | None = None
    for part in getattr(source, "files", (source,)):
        file = part.name if part is not source else ""
        row = 2 if part.has_header else 1
        for batch in part.batches([error.column]):
            bad = np.flatnonzero(error.is_bad(batch.column(0)))
            if first is not None:
                first = first._replace(more=first.more + len(bad))
            elif len(bad):
                value = batch.column(0)[int(bad[0])].as_py()
                first = Place(value, row + int(bad[0]), file, len(bad) - 1)
            row += len(batch)
    return first
