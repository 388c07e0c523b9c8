"""People in JSON and as tensors: checked, and turned into a table as a file would give it."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import pyarrow as pa

from ffml.base import FFMLError
from ffml.runs import Run

_SCALARS = (str, int, float, bool, type(None))


class Columns(NamedTuple):
    """What a run's table had."""

    inputs: dict[str, str]  # feature -> numeric, category, …
    sensitive: tuple[str, ...]
    id: str | None
    task: str | None
    label: str
    labels: dict[str, int]  # the label's words -> 0 or 1

    @property
    def names(self) -> list[str]:
        """Columns that a person may come with."""
        who = (self.id, self.task)
        return list(dict.fromkeys([*filter(None, who), *self.inputs, *self.sensitive]))

    def word(self, decision: int) -> str:
        """Say a decision in the label's own words."""
        return next((w for w, value in self.labels.items() if value == decision), str(decision))


def columns_of(run: Run) -> Columns:
    """Read what a run's people have."""
    data, encoding = run.config["data"], run.store.document("preprocessing")
    roles = data.get("roles")
    if not roles or encoding is None:
        raise FFMLError(
            f"{run.store.name} learned a data set of the package; serve a run on a table of yours"
        )
    inputs = {column["name"]: column["kind"] for column in encoding["columns"]}
    known = {str(word): int(value) for word, value in data.get("labels", {}).items()}
    sensitive = tuple(roles["sensitive"])
    return Columns(inputs, sensitive, roles.get("id"), roles.get("task"), roles["label"], known)


def people_table(rows: Sequence[Any], columns: Columns) -> pa.Table:
    """Turn JSON objects into a table; a column that is missing or strange is refused by name."""
    if not rows:
        raise FFMLError("there is nobody to decide about; give a person or a list of them")
    for row in rows:
        _check_person(row, columns)
    names = [name for name in columns.names if any(name in row for row in rows)]
    return table({name: [row.get(name) for row in rows] for name in names})


def table(values: Mapping[str, Sequence[Any]]) -> pa.Table:
    """Make a table of columns of plain values."""
    return pa.table({name: _array(name, column) for name, column in values.items()})


def tensor_table(inputs: Any, columns: Columns) -> pa.Table:
    """Turn the tensors of the Open Inference Protocol into a table, one column each."""
    if not isinstance(inputs, list) or not all(isinstance(one, dict) for one in inputs):
        raise FFMLError("inputs is a list of tensors, each with name, shape, datatype and data")
    values: dict[str, list[Any]] = {}
    for one in inputs:
        name, shape, data = one.get("name"), one.get("shape"), one.get("data")
        if name not in columns.names:
            raise FFMLError(f"no input {name!r}; the run has {', '.join(columns.names)}")
        if not isinstance(data, list) or shape not in ([len(data)], [len(data), 1]):
            raise FFMLError(f"input {name!r}: give shape [n] or [n, 1] and n values as data")
        values[str(name)] = [v[0] if isinstance(v, list) and len(v) == 1 else v for v in data]
    if len({len(column) for column in values.values()}) != 1:
        raise FFMLError("inputs need the same number of rows each")
    rows = [dict(zip(values, row, strict=True)) for row in zip(*values.values(), strict=True)]
    return people_table(rows, columns)


def _check_person(row: Any, columns: Columns) -> None:
    if not isinstance(row, dict):
        raise FFMLError(f"a person is an object with {', '.join(columns.names)}")
    if strange := [name for name in row if name not in columns.names]:
        raise FFMLError(f"no column {strange[0][:60]!r}; a person has {', '.join(columns.names)}")
    if missing := [name for name in columns.inputs if name not in row]:
        raise FFMLError(f"a person lacks {missing[0]!r}; give null where it is not known")
    if columns.id and row.get(columns.id) in (None, ""):
        raise FFMLError(f"a person lacks {columns.id!r}; give an id, so that labels find them")
    if odd := [name for name, value in row.items() if not isinstance(value, _SCALARS)]:
        raise FFMLError(f"{odd[0]!r} is a list or an object; give a text, a number or null")


def _array(name: str, values: Sequence[Any]) -> pa.Array:
    try:
        return pa.array(values)
    except (pa.ArrowException, OverflowError, UnicodeEncodeError, TypeError):
        raise FFMLError(
            f"{name!r} has values of different kinds, or too large ones; give all as numbers or "
            "all as texts"
        ) from None
