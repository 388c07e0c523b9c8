"""Which column of a table plays which part, and the rows of a batch seen so."""

import difflib
import functools
from collections.abc import Iterable, Mapping, Sequence
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
            periods are the tasks, named as ISO does (2024-01, 2024-W07, 2024-Q1).
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
        parts: list[tuple[str, str | None]] = [("label", self.label), ("task", self.task)]
        parts += [("sensitive", name) for name in self.sensitive]
        parts += [("id", self.id), ("time", self.time if self.time != self.task else None)]
        parts += [("drop", name) for name in self.drop]
        if self.order is not None:
            refuse_unknown("order", self.order, columns)
        check_parts(parts, columns)
        if not self.sensitive:
            raise FFMLError("at least one sensitive column is needed (--sensitive)")
        return self


def check_parts(parts: Iterable[tuple[str, str | None]], columns: Sequence[str]) -> None:
    """Refuse columns that are not there, or that play two parts."""
    seen: dict[str, str] = {}
    for part, name in parts:
        if name is None:
            continue
        refuse_unknown(part, name, columns)
        if name in seen:
            raise FFMLError(
                f"column {name!r} is given as {seen[name]} and as {part}; give it one part"
            )
        seen[name] = part


def refuse_unknown(part: str, name: str, columns: Sequence[str]) -> None:
    """Refuse a column that is not there, naming the nearest one."""
    if name not in columns:
        near = nearest_column(name, columns)
        hint = f"did you mean {near!r}? The" if near else "the"
        shown = ", ".join(columns[:30]) + (", ..." if len(columns) > 30 else "")
        raise FFMLError(f"there is no {part} column {name!r}; {hint} table has {shown}")


def nearest_column(name: str, columns: Sequence[str]) -> str | None:
    """Find the column that a misspelt name stands for; capitals and spaces do not matter.

    >>> nearest_column("monthly income", ["Age", "Monthly_Income"]), nearest_column("y", ["Age"])
    ('Monthly_Income', None)
    """
    plain = {column.casefold().replace(" ", "_"): column for column in columns}
    near = difflib.get_close_matches(name.casefold().replace(" ", "_"), plain, n=1)
    return plain[near[0]] if near else None


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
    batch, (task, *sensitive), missing = complete_rows(batch, named, roles)
    ids = sensitive.pop() if roles.id else None
    label = part_texts(batch, "label", roles.label, roles)
    groups = tuple(crossed(sensitive, roles.intersect))
    return Rows(batch, task, label, groups, ids, _order(batch, roles), missing)


def complete_rows(
    batch: pa.RecordBatch, parts: Sequence[tuple[str, str]], roles: Any
) -> tuple[pa.RecordBatch, list[pa.Array], dict[str, int]]:
    """Leave out the rows that lack a value of a part; return the parts' texts, and count them."""
    texts = [part_texts(batch, part, name, roles) for part, name in parts]
    missing = {
        f"{part} column {name!r}": values.null_count
        for (part, name), values in zip(parts, texts, strict=True)
    }
    if any(missing.values()):
        complete = functools.reduce(pc.and_, [values.is_valid() for values in texts])
        batch, texts = batch.filter(complete), [values.filter(complete) for values in texts]
    return batch, texts, missing


def part_texts(batch: pa.RecordBatch, part: str, name: str, roles: Any) -> pa.Array:
    """Return a column that plays a part as texts; the times of tasks as their periods.

    Args:
        batch: some rows.
        part: "label", "task", ...
        name: the column.
        roles: have ``by`` and ``date_format``.
    """

    def read(values: pa.Array) -> pa.Array:
        if part == "task" and roles.by:
            return periods(values, name, roles.by, roles.date_format)
        return role_texts(values, name, part)

    values = batch.column(name)
    if not pa.types.is_string(values.type) or part == "id":
        return read(values)
    encoded = values.dictionary_encode()  # each different text is read once
    return read(encoded.dictionary).take(encoded.indices)


def crossed(columns: Sequence[pa.Array], intersect: bool) -> Sequence[pa.Array]:
    """Make one column of the combinations of all, if asked; a part that is missing leaves none."""
    if not intersect:
        return columns
    for values in columns:  # two combinations would have one name
        odd = values.filter(pc.fill_null(pc.match_substring(values, CROSS), False))
        if len(odd):
            raise FFMLError(
                f"a group is called {odd[0].as_py()!r}, and {CROSS} joins the names of groups that"
                " are crossed; rename it"
            )
    return [pc.binary_join_element_wise(*columns, CROSS)]


def _order(batch: pa.RecordBatch, roles: Roles) -> pa.Array | None:
    if roles.time is not None and roles.time != roles.task:
        return periods(batch.column(roles.time), roles.time, None, roles.date_format)
    if roles.order is not None:
        return role_texts(batch.column(roles.order), roles.order, "order")
    return None


def sensitive_names(sensitive: tuple[str, ...], intersect: bool) -> tuple[str, ...]:
    """Return the protected attributes' names: the columns', or one for their combinations."""
    return (CROSS.join(sensitive),) if intersect else sensitive


def needed_columns(roles: Roles, features: Sequence[str]) -> list[str]:
    """Return the columns to read, each once."""
    more = [name for name in (roles.order, roles.time, roles.id) if name]
    return list(dict.fromkeys((roles.task, roles.label, *roles.sensitive, *more, *features)))


def refuse_missing(missing: Mapping[str, int], drop_missing: bool, lives_on: bool = False) -> None:
    """Refuse rows that lack the value of a part, unless they are to be left out.

    Args:
        missing: how many rows lack a value, by what they lack.
        drop_missing: they are to be left out.
        lives_on: they are for a run that goes on, which decides about people of no known group.
    """
    lacking = {where: count for where, count in missing.items() if count}
    if drop_missing or not lacking:
        return
    how = " (--set data.drop_missing=true)"
    if lives_on:
        of_groups = any(where.startswith("sensitive") for where in lacking)
        how = ", or give such people to `ffml decide`" if of_groups else ""
    counts = ", ".join(f"{count} in {where}" for where, count in lacking.items())
    raise FFMLError(f"rows without a value: {counts}; fill them in, or leave such rows out{how}")
