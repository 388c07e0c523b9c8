"""A column's values as numbers or as texts, whatever they came as."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

from ffml.base import FFMLError

LARGEST = 1e30  # beyond it, squares and single precision leave the range of numbers


def is_number(kind: pa.DataType) -> bool:
    """Tell whether a column's values are numbers or booleans."""
    kinds = types.is_integer, types.is_floating, types.is_decimal, types.is_boolean
    return any(is_kind(kind) for is_kind in kinds)


def is_text(kind: pa.DataType) -> bool:
    """Tell whether a column's values are texts or declared categories."""
    # By its name, since older versions of Arrow do not know the last one.
    return types.is_dictionary(kind) or str(kind) in ("string", "large_string", "string_view")


def is_time(kind: pa.DataType) -> bool:
    """Tell whether a column's values are dates, times or durations."""
    return types.is_temporal(kind)


class BadValue(FFMLError):
    """A value that a column must not hold: what is wrong, and what would help.

    Args:
        column: its name.
        wrong: what is wrong.
        help: the remedy.
        is_bad: tells such values, so that the first one's row can be named (see `located`).
    """

    def __init__(
        self, column: str, wrong: str, help: str, is_bad: Callable[[Any], np.ndarray]
    ) -> None:
        super().__init__(f"{wrong}; {help}")
        self.column, self.wrong, self.help, self.is_bad = column, wrong, help, is_bad


def numbers(values: Any, name: str) -> np.ndarray:
    """Return a column as float64, missing values as NaN; texts are read as numbers."""
    try:
        parsed = _parsed(values)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        strays = values.filter(pa.array(no_number(values))).to_pylist() or [str(values.type)]
        raise BadValue(
            name,
            f"column {name!r} held numbers before and now holds {strays[0]!r}",
            "correct the value or leave it empty",
            no_number,
        ) from error
    refuse_extremes(parsed, name)
    return parsed


def no_number(values: Any) -> np.ndarray:
    """Tell which values are no numbers; missing ones could be."""
    try:
        _parsed(values)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        if len(values) == 1:
            return np.ones(1, bool)
        return np.concatenate([no_number(values.slice(i, 1)) for i in range(len(values))])
    return np.zeros(len(values), bool)


def refuse_extremes(numbers: np.ndarray, name: str) -> None:
    """Refuse infinite and huge numbers."""
    largest = np.fmax.reduce(np.abs(numbers), initial=0.0)
    if largest <= LARGEST:
        return
    wrong, help = f"column {name!r} holds infinite values", "make them missing"
    if not np.isinf(largest):
        wrong = f"column {name!r} holds {largest:.3g}, and {LARGEST:.0e} is the limit"
        help = "rescale the column or make such values missing"
    raise BadValue(name, wrong, help, lambda values: np.abs(_parsed(values)) >= largest)


def _parsed(values: Any) -> np.ndarray:
    """Return a column of numbers, or of texts that all are, as float64."""
    return np.asarray((texts(values) if is_text(values.type) else values).cast(pa.float64(), False))


def texts(values: Any) -> Any:
    """Return a column as texts, whatever it held: 1.0 becomes "1", True becomes "true".

    White space around a text is dropped, so that "F " is "F"; a text of nothing else is missing.

    >>> import pyarrow as pa
    >>> texts(pa.array(["F ", "F", " "])).to_pylist()
    ['F', 'F', None]
    """
    if pa.types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    if pa.types.is_floating(values.type):
        values = pc.if_else(pc.is_nan(values), None, values)
    if not is_text(values.type):
        return values.cast(pa.string())
    trimmed = pc.utf8_trim_whitespace(values.cast(pa.string()))
    return pc.if_else(pc.equal(trimmed, ""), pa.scalar(None, pa.string()), trimmed)


def role_texts(values: Any, name: str, part: str) -> Any:
    """Return a label, group, task or order column as texts; times lose idle zeros.

    >>> import pyarrow as pa
    >>> role_texts(pa.array([2013.0, None]), "year", "task").to_pylist()
    ['2013', None]
    """
    kind = values.type
    if not (is_number(kind) or is_text(kind) or is_time(kind) or pa.types.is_null(kind)):
        raise FFMLError(
            f"{part} column {name!r} holds values of the nested or raw type {kind}; "
            "turn it into numbers or texts"
        )
    written = texts(values)
    if pc.any(pc.is_in(written, value_set=pa.array(["inf", "-inf"]))).as_py():
        raise FFMLError(f"{part} column {name!r} holds infinite values; make them missing")
    if pa.types.is_timestamp(kind):
        written = pc.replace_substring_regex(written, r"( 00:00:00)?(\.0+)?Z?$", "")
    return written


def num_missing(values: Any) -> int:
    """Count the values of a column that are missing."""
    return pc.sum(pc.is_null(values, nan_is_null=True)).as_py() or 0
