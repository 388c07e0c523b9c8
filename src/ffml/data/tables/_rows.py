"""The rows of a batch, with the columns that play a part as texts."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from ffml.data.tables._roles import Roles, role_texts

if TYPE_CHECKING:
    import pyarrow as pa

CROSS = "×"  # joins the names of crossed attributes and of their groups


class Rows(NamedTuple):
    """The rows of a batch that have a task, all sensitive values, and a label or an id."""

    batch: "pa.RecordBatch"
    task: "pa.Array"
    label: "pa.Array"
    sensitive: tuple["pa.Array", ...]  # see `sensitive_names`
    ids: "pa.Array | None"
    missing: dict[str, int]  # "label column 'y'" -> how many rows have no value there


def read_rows(batch: "pa.RecordBatch", roles: Roles) -> Rows:
    """Leave out the rows that lack a task, a label or a sensitive value, and count them.

    Rows with ids may lack the label, but not the id.
    """
    import pyarrow.compute as pc

    named = [("task", roles.task), ("id" if roles.id else "label", roles.id or roles.label)]
    named += [("sensitive", name) for name in roles.sensitive]
    parts = [role_texts(batch.column(name), name, part) for part, name in named]
    missing = {
        f"{part} column {name!r}": values.null_count
        for (part, name), values in zip(named, parts, strict=True)
    }
    if any(missing.values()):
        complete = parts[0].is_valid()
        for values in parts[1:]:
            complete = pc.and_(complete, values.is_valid())
        batch, parts = batch.filter(complete), [values.filter(complete) for values in parts]
    task, label, *sensitive = parts
    ids = None
    if roles.id:
        ids, label = label, role_texts(batch.column(roles.label), roles.label, "label")
    if roles.intersect:
        sensitive = [pc.binary_join_element_wise(*sensitive, CROSS)]
    return Rows(batch, task, label, tuple(sensitive), ids, missing)


def sensitive_names(roles: Roles) -> tuple[str, ...]:
    """Return the protected attributes' names: the columns', or one for their combinations."""
    return (CROSS.join(roles.sensitive),) if roles.intersect else roles.sensitive


def needed_columns(roles: Roles, features: Sequence[str]) -> list[str]:
    """Return the columns to read, each once."""
    more = [name for name in (roles.order, roles.id) if name]
    return list(dict.fromkeys((roles.task, roles.label, *roles.sensitive, *more, *features)))
