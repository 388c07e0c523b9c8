"""Which column of a table plays which part, and the rows of a batch seen so."""

import difflib
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from ffml.base import FFMLError
from ffml.tables._time import periods
from ffml.tables._values import role_texts

CROSS = "×"  # joins the names of crossed attributes and of their groups


@dataclass(frozen=True)
class Roles:
    """The columns' parts. All columns without a part are features.

    Attributes:
        label: what is predicted; two values.
        sensitive: the protected attributes.
        task: whose rows belong together.
        order: tasks arrive by their smallest value here; None: as they appear in the table.
        positive: the label's value that counts as 1; None: 1 or true.
        drop: columns that play no part.
        intersect: make one protected attribute of the combinations of all.
        time: tasks arrive by their earliest time in this column; if it is also ``task``, its
            periods are the tasks.
        by: how long such a period is: day, week, month, quarter or year.
        date_format: how times are written where they do not tell themselves: DD/MM/YYYY.
        id: names every row; with it, rows may lack their labels, which come later.
    """

    label: str
    sensitive: tuple[str, ...]
    task: str
    order: str | None = None
    positive: str | None = None
    drop: tuple[str, ...] = ()
    intersect: bool = False
    time: str | None = None
    by: str | None = None
    date_format: str | None = None
    id: str | None = None

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return asdict(self)

    def features(self, columns: Sequence[str]) -> tuple[str, ...]:
        """Return the columns without a part, in the table's order."""
        taken = {self.label, *self.sensitive, self.task, self.order, self.time, self.id}
        taken |= set(self.drop)
        return tuple(column for column in columns if column not in taken)

    def check(self, columns: Sequence[str]) -> "Roles":
        """Refuse columns that are not there, or that play two parts."""
        parts = [("label", self.label), ("task", self.task)]
        parts += [("sensitive", name) for name in self.sensitive]
        parts += [("id", self.id)] if self.id else []
        for part, name in [
            *parts,
            ("order", self.order),
            ("time", self.time),
            *(("drop", n) for n in self.drop),
        ]:
            if name is not None:
                refuse_unknown(part, name, columns)
        if not self.sensitive:
            raise FFMLError("at least one sensitive column is needed (--sensitive)")
        seen: dict[str, str] = {}
        if self.time is not None and self.time != self.task:
            parts.append(("time", self.time))
        for part, name in [*parts, *(("drop", n) for n in self.drop)]:
            if name in seen:
                raise FFMLError(
                    f"column {name!r} is given as {seen[name]} and as {part}; give it one part"
                )
            seen[name] = part
        return self


def refuse_unknown(part: str, name: str, columns: Sequence[str]) -> None:
    """Refuse a column that is not there, naming the nearest one."""
    if name not in columns:
        raise FFMLError(f"there is no {part} column {name!r}; {_nearest(name, columns)}")


def _nearest(name: str, columns: Sequence[str]) -> str:
    near = difflib.get_close_matches(name, columns, n=1, cutoff=0.6)
    hint = f"did you mean {near[0]!r}? " if near else ""
    shown = ", ".join(columns[:30]) + (", ..." if len(columns) > 30 else "")
    return f"{hint}The table has {shown}" if hint else f"the table has {shown}"


class Rows(NamedTuple):
    """The rows of a batch that have a task, all sensitive values, and an id if rows have ids."""

    batch: pa.RecordBatch
    task: pa.Array
    label: pa.Array  # null where it is not known yet
    sensitive: tuple[pa.Array, ...]  # see `sensitive_names`
    ids: pa.Array | None
    order: pa.Array | None  # what tasks are played by, if by more than their names or places
    missing: dict[str, int]  # "task column 'month'" -> how many rows have no value there


def read_rows(batch: pa.RecordBatch, roles: Roles) -> Rows:
    """Leave out the rows that lack a task, a sensitive value or an id, and count them."""
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
    label = _part(batch.column(roles.label), roles.label, "label", roles)
    return Rows(batch, task, label, tuple(sensitive), ids, _order(batch, roles), missing)


def _part(values: pa.Array, name: str, part: str, roles: Roles) -> pa.Array:
    """Return a column that plays a part as texts; of few different texts, each is seen once."""
    if pa.types.is_string(values.type) and part != "id":
        encoded = values.dictionary_encode()
        return _part_texts(encoded.dictionary, name, part, roles).take(encoded.indices)
    return _part_texts(values, name, part, roles)


def _part_texts(values: pa.Array, name: str, part: str, roles: Roles) -> pa.Array:
    if part == "task" and roles.by:
        return periods(values, name, roles.by, roles.date_format)
    return role_texts(values, name, part)


def _order(batch: pa.RecordBatch, roles: Roles) -> pa.Array | None:
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
