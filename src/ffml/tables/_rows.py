"""The rows of a batch, with the columns that play a part as texts."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from ffml.tables._roles import Roles, role_texts
from ffml.tables._time import periods

if TYPE_CHECKING:
    import pyarrow as pa

CROSS = "×"  # joins the names of crossed attributes and of their groups


class Rows(NamedTuple):
    """The rows of a batch that have a task, all sensitive values, and an id if rows have ids."""

    batch: "pa.RecordBatch"
    task: "pa.Array"
    label: "pa.Array"  # null where it is not known yet
    sensitive: tuple["pa.Array", ...]  # see `sensitive_names`
    ids: "pa.Array | None"
    order: "pa.Array | None"  # what tasks are played by, if by more than their names or places
    missing: dict[str, int]  # "task column 'month'" -> how many rows have no value there


def read_rows(batch: "pa.RecordBatch", roles: Roles) -> Rows:
    """Leave out the rows that lack a task, a sensitive value or an id, and count them."""
    import pyarrow.compute as pc

    named = [("task", roles.task), *(("sensitive", name) for name in roles.sensitive)]
    named += [("id", roles.id)] if roles.id else []
    parts = [_part(batch.column(name), name, part, roles) for part, name in named]
    missing = {
        f"{part} column {name!r}": values.null_count
        for (part, name), values in zip(named, parts, strict=True)
    }
    if any(missing.values()):
        complete = parts[0].is_valid()
        for values in parts[1:]:
            complete = pc.and_(complete, values.is_valid())
        batch, parts = batch.filter(complete), [values.filter(complete) for values in parts]
    task, *sensitive = parts
    ids = sensitive.pop() if roles.id else None
    if roles.intersect:
        sensitive = [pc.binary_join_element_wise(*sensitive, CROSS)]
    label = role_texts(batch.column(roles.label), roles.label, "label")
    return Rows(batch, task, label, tuple(sensitive), ids, _order(batch, roles), missing)


def _part(values: "pa.Array", name: str, part: str, roles: Roles) -> "pa.Array":
    if part == "task" and roles.by:
        return periods(values, name, roles.by, roles.date_format)
    return role_texts(values, name, part)


def _order(batch: "pa.RecordBatch", roles: Roles) -> "pa.Array | None":
    if roles.time is not None and roles.time != roles.task:
        return periods(batch.column(roles.time), roles.time, None, roles.date_format)
    if roles.order is not None:
        return role_texts(batch.column(roles.order), roles.order, "order")
    return None


def sensitive_names(roles: Roles) -> tuple[str, ...]:
    """Return the protected attributes' names: the columns', or one for their combinations."""
    return (CROSS.join(roles.sensitive),) if roles.intersect else roles.sensitive


def needed_columns(roles: Roles, features: Sequence[str]) -> list[str]:
    """Return the columns to read, each once."""
    more = [name for name in (roles.order, roles.time, roles.id) if name]
    return list(dict.fromkeys((roles.task, roles.label, *roles.sensitive, *more, *features)))
