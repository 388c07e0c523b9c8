"""The package's own CSV files: any text comes back as it was, and none is taken for a formula.

Spreadsheets run a cell that begins with ``=``, ``+``, ``-`` or ``@``, or with a tab or a new line
before it. A text that begins so and is no number is written with an apostrophe before it; whoever
reads the file takes one off.
"""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ffml.tables._values import is_text

if TYPE_CHECKING:
    import pandas as pd

# Also as full-width letters, and with apostrophes already there, so that taking one off is safe.
# Python and Arrow (RE2) read both in the same way.
FORMULA = "^'*[=+\\-@\\t\\r\\n＝＋－＠]"
NUMBER = "[+-]?(([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]+)?|inf|nan)"
_FORMULA, _NUMBER = re.compile(FORMULA), re.compile(NUMBER)
_QUOTED = re.compile('[",\r\n]')


def csv_text(rows: Iterable[Iterable[Any]]) -> str:
    """Write rows of cells as lines; None is an empty cell.

    >>> csv_text([["task", "dp"], ["a,b", 0.5], ["=1+1", -1]])
    'task,dp\\n"a,b",0.5\\n\\'=1+1,-1\\n'
    """
    return "".join(_line([_cell(value) for value in row]) for row in rows)


def table_text(rows: Sequence[Mapping[str, Any]], header: bool = True) -> str:
    """Write rows that name their cells, all in the order of the first one."""
    if not rows:
        return ""
    lines = [list(rows[0])] if header else []
    return csv_text([*lines, *([row[name] for name in rows[0]] for row in rows)])


def frame_text(frame: "pd.DataFrame") -> str:
    """Write a data frame without its index; numbers have six digits, undefined ones are empty."""
    cells = frame.astype(object).where(frame.notna(), None)
    rows = cells.itertuples(index=False, name=None)
    return csv_text([frame.columns, *([_six_digits(value) for value in row] for row in rows)])


def number_cell(value: Any) -> Any:
    """Format a number for a table: six decimals, nothing where undefined."""
    if isinstance(value, (str, int, np.integer)):
        return value
    return "" if math.isnan(value) else f"{float(value):.6f}"


def guarded_batch(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Put the apostrophes into Arrow's columns of texts, for Arrow to write them."""
    arrays = [_guarded(column) for column in batch.columns]
    return pa.RecordBatch.from_arrays(arrays, names=[_cell(name) for name in batch.schema.names])


def _line(cells: list[str]) -> str:
    return (",".join(map(_quoted, cells)) if cells != [""] else '""') + "\n"


def _quoted(cell: str) -> str:
    return '"' + cell.replace('"', '""') + '"' if _QUOTED.search(cell) else cell


def _cell(value: Any) -> str:
    text = "" if value is None else str(value)
    return f"'{text}" if _FORMULA.match(text) and not _NUMBER.fullmatch(text) else text


def _guarded(values: pa.Array) -> pa.Array:
    if pa.types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    if not is_text(values.type):
        return values
    values = values.cast(pa.string())
    formula = pc.match_substring_regex(values, FORMULA)
    number = pc.match_substring_regex(values, f"^({NUMBER})$")
    guarded = pc.binary_join_element_wise("'", values, "")
    return pc.if_else(pc.and_not(formula, number), guarded, values)


def _six_digits(value: Any) -> Any:
    return f"{value:.6g}" if isinstance(value, (float, np.floating)) else value
