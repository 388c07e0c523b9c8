"""Any table that people hold (NumPy, pandas, polars, pyarrow) as Arrow columns."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from ffml.base import FFMLError

if TYPE_CHECKING:
    import pyarrow as pa

LARGEST = 1e30  # beyond it, squares and single precision leave the range of numbers


def as_table(data: Any, names: Sequence[str] | None = None) -> "pa.Table":
    """Turn a table into Arrow columns; the columns of an array are called x0, x1, ....

    Args:
        data: a 2-D array of numbers, a pandas or polars data frame, an Arrow table or batch,
            or a mapping from names to columns.
        names: what to call the columns of an array instead.

    >>> as_table(np.array([[1.0, 2.0]])).column_names
    ['x0', 'x1']
    """
    import pyarrow as pa

    refuse_sparse(data)
    if isinstance(data, pa.RecordBatch):
        table = pa.Table.from_batches([data])
    elif isinstance(data, pa.Table):
        table = data
    elif hasattr(data, "to_arrow"):  # polars
        table = data.to_arrow()
    elif hasattr(data, "iloc") and hasattr(data, "columns"):  # pandas
        table = _from_columns(
            map(str, data.columns), (data.iloc[:, i] for i in range(data.shape[1]))
        )
    elif isinstance(data, Mapping):
        table = _from_columns(data.keys(), data.values())
    else:
        array = as_matrix(data)
        names = names or [f"x{i}" for i in range(array.shape[1])]
        return pa.table({name: array[:, i] for i, name in enumerate(names)})
    refuse_twins(table.column_names)
    return table.select(without_index(table.column_names))


def as_matrix(data: Any) -> np.ndarray:
    """Turn an array (or nested lists) of numbers into a float64 matrix."""
    array = np.asarray(data)
    if array.ndim != 2:
        raise FFMLError(f"features must be a table, got an array of {array.ndim} dimensions")
    if np.iscomplexobj(array):
        raise FFMLError("features must be real numbers, got complex ones")
    try:
        return array.astype(np.float64)
    except (TypeError, ValueError) as error:
        message = "an array must hold numbers only; pass a data frame to use categories"
        raise FFMLError(message) from error


def refuse_sparse(data: Any) -> None:
    """Refuse a sparse matrix: every row is used many times, as it is."""
    if hasattr(data, "tocsr") or "scipy.sparse" in type(data).__module__:
        raise FFMLError("sparse matrices are not supported; pass a dense one: X.toarray()")


def refuse_twins(names: Sequence[str]) -> None:
    """Refuse two columns of one name."""
    if len(set(names)) < len(names):
        twin = next(name for name in names if names.count(name) > 1)
        raise FFMLError(f"two columns are called {twin!r}; rename one of them")


def without_index(names: Iterable[str]) -> list[str]:
    """Leave out the index that pandas adds to a table under a name of its own.

    >>> without_index(["age", "__index_level_0__"])
    ['age']
    """
    return [name for name in names if not re.fullmatch(r"__index_level_\d+__", name)]


def is_number(kind: "pa.DataType") -> bool:
    """Tell whether a column's values are numbers or booleans."""
    from pyarrow import types

    return (
        types.is_integer(kind)
        or types.is_floating(kind)
        or types.is_decimal(kind)
        or types.is_boolean(kind)
    )


def is_text(kind: "pa.DataType") -> bool:
    """Tell whether a column's values are texts or declared categories."""
    from pyarrow import types

    # By its name, since older versions of Arrow do not know the last one.
    return types.is_dictionary(kind) or str(kind) in ("string", "large_string", "string_view")


def is_time(kind: "pa.DataType") -> bool:
    """Tell whether a column's values are dates, times or durations."""
    from pyarrow import types

    return types.is_temporal(kind)


class BadValue(FFMLError):
    """A value that a column must not hold: what is wrong, and what would help.

    Args:
        column: its name.
        wrong: what is wrong.
        help: the remedy.
        is_bad: tells such values, so that the first one's row can be found (see `row_of`).
    """

    def __init__(
        self, column: str, wrong: str, help: str, is_bad: Callable[[Any], np.ndarray]
    ) -> None:
        super().__init__(f"{wrong}; {help}")
        self.column, self.wrong, self.help, self.is_bad = column, wrong, help, is_bad


def numbers(values: Any, name: str) -> np.ndarray:
    """Return a column as float64, missing values as NaN; texts are read as numbers."""
    import pyarrow as pa

    if pa.types.is_dictionary(values.type) or is_text(values.type):
        values = texts(values)
    try:
        found = values.cast(pa.float64(), safe=False)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        strays = values.filter(pa.array(no_number(values))).to_pylist() or [str(values.type)]
        raise BadValue(
            name,
            f"column {name!r} held numbers when it was fitted and now holds {strays[0]!r}",
            "correct the value or leave it empty",
            no_number,
        ) from error
    found = np.asarray(found)
    refuse_extremes(found, name)
    return found


def no_number(values: Any) -> np.ndarray:
    """Tell which values are no numbers; missing ones could be."""
    import pyarrow as pa

    def is_stray(value: Any) -> bool:
        try:
            pa.array([value]).cast(pa.float64(), safe=False)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            return True
        return False

    found = texts(values) if is_text(values.type) else values
    with suppress(pa.ArrowInvalid, pa.ArrowNotImplementedError):
        found.cast(pa.float64(), safe=False)
        return np.zeros(len(found), bool)
    return np.array([is_stray(value) for value in found.to_pylist()], bool)


def refuse_extremes(found: np.ndarray, name: str) -> None:
    """Refuse infinite and huge numbers."""
    largest = np.fmax.reduce(np.abs(found), initial=0.0)
    if largest <= LARGEST:
        return
    wrong, help = f"column {name!r} holds infinite values", "make them missing"
    if not np.isinf(largest):
        wrong = f"column {name!r} holds {largest:.3g}, and {LARGEST:.0e} is the limit"
        help = "rescale the column or make such values missing"
    raise BadValue(name, wrong, help, lambda values: np.abs(numbers_of(values)) >= largest)


def numbers_of(values: Any) -> np.ndarray:
    """Return a column of numbers, or of texts that all are, as float64."""
    import pyarrow as pa

    return np.asarray((texts(values) if is_text(values.type) else values).cast(pa.float64(), False))


def texts(values: Any) -> Any:
    """Return a column as texts, whatever it held: 1.0 becomes "1", True becomes "true".

    White space around a text is dropped, so that "F " is "F"; a text of nothing else is missing.

    >>> import pyarrow as pa
    >>> texts(pa.array(["F ", "F", " "])).to_pylist()
    ['F', 'F', None]
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    if pa.types.is_floating(values.type):
        values = pc.if_else(pc.is_nan(values), None, values)
    if not is_text(values.type):
        return values.cast(pa.string())
    trimmed = pc.utf8_trim_whitespace(values.cast(pa.string()))
    return pc.if_else(pc.equal(trimmed, ""), pa.scalar(None, pa.string()), trimmed)


def _from_columns(names: Iterable[str], columns: Iterable[Any]) -> "pa.Table":
    import pyarrow as pa

    names, converted = list(names), []
    refuse_twins(names)
    for name, values in zip(names, columns, strict=True):
        try:
            converted.append(pa.array(values, from_pandas=True))
        except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError) as error:
            raise FFMLError(
                f"column {name!r} mixes kinds of values{_odd(values)}; make them all numbers or "
                "all texts"
            ) from error
    return pa.table(converted, names=names)


def _odd(values: Any) -> str:
    """Show the first value that is of another kind than most, and its place among the rows."""
    kinds = [type(value).__name__ for value in values]
    rare = min((k for k in kinds if k != "NoneType"), key=kinds.count, default=None)
    if rare is None:
        return ""
    place = kinds.index(rare)
    return f", such as {list(values)[place]!r} in row {place + 1:,}"


def num_missing(values: Any) -> int:
    """Count the values of a column that are missing."""
    import pyarrow.compute as pc

    return pc.sum(pc.is_null(values, nan_is_null=True)).as_py() or 0


def refuse_broken(batch: "pa.RecordBatch", name: str) -> None:
    """Refuse texts that are not UTF-8, which a typed file may claim to hold."""
    import pyarrow as pa

    for column in batch.schema.names:
        try:
            batch.column(column).validate(full=True)
        except pa.ArrowInvalid:
            raise FFMLError(
                f"{name} holds a text in column {column!r} that is not in UTF-8; write it with "
                "that encoding"
            ) from None
