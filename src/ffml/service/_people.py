"""People in JSON and as tensors: checked, and turned into a table as a file would give it."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import pyarrow as pa

from ffml.base import FFMLError
from ffml.runs import Run

# What the Open Inference Protocol calls kinds of values; a JSON value is taken for what it is.
DATATYPES = ("BYTES", "FP64", "FP32", "INT64", "INT32", "INT16", "INT8", "BOOL")
CONTENT_TYPES = ("np", "pd", "str")  # as MLServer takes them: all of them are one value a row here


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
    if any(not isinstance(row, dict) for row in rows):
        raise FFMLError(f"a person is an object with {', '.join(columns.names)}")
    for names in {tuple(row): None for row in rows}:  # mostly one
        _check_names(names, columns)
    given = [name for name in columns.names if any(name in row for row in rows)]
    return _checked(table({name: [row.get(name) for row in rows] for name in given}), columns)


def tensor_table(inputs: Any, columns: Columns) -> pa.Table:
    """Turn the tensors of the Open Inference Protocol into a table, one column each."""
    if not isinstance(inputs, list) or not all(isinstance(one, dict) for one in inputs):
        raise FFMLError("inputs is a list of tensors, each with name, shape, datatype and data")
    values = {str(one.get("name")): _tensor(one) for one in inputs}
    if len(values) < len(inputs):
        raise FFMLError("two inputs have the same name; give each column once")
    _check_names(values, columns)
    if len({len(column) for column in values.values()}) != 1:
        raise FFMLError("inputs need the same number of rows each")
    return _checked(table(values), columns)


def table(values: Mapping[str, Sequence[Any]]) -> pa.Table:
    """Make a table of columns of plain values."""
    return pa.table({name: _array(name, column) for name, column in values.items()})


def _tensor(one: Mapping[str, Any]) -> list[Any]:
    name, shape, data = one.get("name"), one.get("shape"), one.get("data")
    if one.get("datatype") not in DATATYPES:
        raise FFMLError(f"input {name!r:.60}: datatype is one of {', '.join(DATATYPES)}")
    if not isinstance(data, list) or shape not in ([len(data)], [len(data), 1]):
        raise FFMLError(f"input {name!r:.60}: give shape [n] or [n, 1] and n values as data")
    parameters = one.get("parameters", {})
    kind = parameters.get("content_type", "np") if isinstance(parameters, dict) else None
    if kind not in CONTENT_TYPES:
        raise FFMLError(f"input {name!r:.60}: content_type is one of {', '.join(CONTENT_TYPES)}")
    return [v[0] if isinstance(v, list) and len(v) == 1 else v for v in data]


def _check_names(names: Iterable[str], columns: Columns) -> None:
    known = columns.names
    if strange := [name for name in names if name not in known]:
        raise FFMLError(f"no column {strange[0][:60]!r}; a person has {', '.join(known)}")
    if missing := [name for name in columns.inputs if name not in names]:
        raise FFMLError(f"a person lacks {missing[0]!r}; give null where it is not known")
    if columns.id and columns.id not in names:
        raise FFMLError(f"a person lacks {columns.id!r}; give an id, so that labels find them")


def _checked(people: pa.Table, columns: Columns) -> pa.Table:
    """Refuse lists and objects in place of values, and ids that are missing."""
    for name, column in zip(people.column_names, people.columns, strict=True):
        if pa.types.is_nested(column.type):
            raise FFMLError(f"{name!r} is a list or an object; give a text, a number or null")
    if not len(people):
        raise FFMLError("there is nobody to decide about; give a person or a list of them")
    if columns.id:
        ids = people.column(columns.id)
        if ids.null_count or (pa.types.is_string(ids.type) and "" in ids.to_pylist()):
            raise FFMLError(f"a person lacks {columns.id!r}; give an id, so that labels find them")
    return people


def _array(name: str, values: Sequence[Any]) -> pa.Array:
    try:
        return pa.array(values)
    except (pa.ArrowException, OverflowError, UnicodeEncodeError, TypeError):
        raise FFMLError(
            f"{name!r} has values of different kinds, or too large ones; give all as numbers or "
            "all as texts"
        ) from None
