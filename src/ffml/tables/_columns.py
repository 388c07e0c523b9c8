"""Any table that people hold (NumPy, pandas, polars, pyarrow) as Arrow columns."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from ffml.base import FFMLError


def as_table(data: Any, names: Sequence[str] | None = None) -> pa.Table:
    """Turn a table into Arrow columns; the columns of an array are called x0, x1, ....

    Args:
        data: a 2-D array of numbers, a pandas or polars data frame, an Arrow table or batch,
            or a mapping from names to columns.
        names: what to call the columns of an array instead.

    >>> as_table(np.array([[1.0, 2.0]])).column_names
    ['x0', 'x1']
    """
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


def _from_columns(names: Iterable[str], columns: Iterable[Any]) -> pa.Table:
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


def refuse_broken(batch: pa.RecordBatch, name: str) -> None:
    """Refuse texts that are not UTF-8, which a typed file may claim to hold."""
    for column in batch.schema.names:
        try:
            batch.column(column).validate(full=True)
        except pa.ArrowInvalid:
            raise FFMLError(
                f"{name} holds a text in column {column!r} that is not in UTF-8; write it with "
                "that encoding"
            ) from None
