"""What the first rows of a table tell about its columns."""

from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from ffml.base import FFMLError
from ffml.tables._roles import role_texts
from ffml.tables._time import UNCLEAR, parse_time, time_texts
from ffml.tables.sources._source import BATCH_ROWS, Source

if TYPE_CHECKING:
    import pyarrow as pa

MAX_VALUES = 5


class ColumnLook(NamedTuple):
    """One column in the first rows."""

    distinct: int  # different values; 0 where it cannot have a part
    values: tuple[str, ...]  # the first of them, sorted
    unit: str | None  # what its values are, if they are times: "day", "month", ...


def look(source: Source) -> dict[str, ColumnLook]:
    """Look at the first rows of all columns."""
    batch = next(iter(source.batches(source.columns)), None)
    if batch is None or not batch.num_rows:
        raise FFMLError(f"{source.name} has no rows; at least one is needed")
    return {name: _look_at(batch.column(name), name) for name in source.columns}


def _look_at(values: "pa.Array", name: str) -> ColumnLook:
    times: list[str] = []
    try:
        texts = role_texts(values, name, "any").slice(0, BATCH_ROWS).drop_null().unique()
    except FFMLError:  # nested: no part
        return ColumnLook(0, (), None)
    with suppress(FFMLError):  # hours have no date
        times = time_texts(values, name).slice(0, BATCH_ROWS).drop_null().unique().to_pylist()
    shown = tuple(sorted(texts.to_pylist())[:MAX_VALUES])
    return ColumnLook(len(texts), shown, _unit(times))


def _unit(texts: list[str]) -> str | None:
    """Return the unit of a column of times; plain numbers are times only if they are years."""
    units = {"day" if UNCLEAR.fullmatch(t) else getattr(parse_time(t), "unit", None) for t in texts}
    if len(units) != 1 or None in units:
        return None
    numbers = all(text.isdigit() for text in texts)
    if numbers and not all(1900 <= int(text[:4]) <= 2100 for text in texts):
        return None
    return units.pop()
