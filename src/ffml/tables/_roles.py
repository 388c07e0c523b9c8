"""Which column of a table plays which part."""

import difflib
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from ffml.base import FFMLError
from ffml.tables._columns import is_number, is_text, is_time, texts


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


def role_texts(values: Any, name: str, part: str) -> Any:
    """Return a label, group, task or order column as texts; times lose idle zeros.

    >>> import pyarrow as pa
    >>> role_texts(pa.array([2013.0, None]), "year", "task").to_pylist()
    ['2013', None]
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = values.type
    if not (is_number(kind) or is_text(kind) or is_time(kind) or pa.types.is_null(kind)):
        raise FFMLError(
            f"{part} column {name!r} holds values of the nested or raw type {kind}; "
            "turn it into numbers or texts"
        )
    found = texts(values)
    if pc.any(pc.is_in(found, value_set=pa.array(["inf", "-inf"]))).as_py():
        raise FFMLError(f"{part} column {name!r} holds infinite values; make them missing")
    if pa.types.is_timestamp(kind):
        found = pc.replace_substring_regex(found, r"( 00:00:00)?(\.0+)?Z?$", "")
    return found


def refuse_unknown(part: str, name: str, columns: Sequence[str]) -> None:
    """Refuse a column that is not there, naming the nearest one."""
    if name not in columns:
        raise FFMLError(f"there is no {part} column {name!r}; {_nearest(name, columns)}")


def _nearest(name: str, columns: Sequence[str]) -> str:
    near = difflib.get_close_matches(name, columns, n=1, cutoff=0.6)
    hint = f"did you mean {near[0]!r}? " if near else ""
    shown = ", ".join(columns[:30]) + (", ..." if len(columns) > 30 else "")
    return f"{hint}The table has {shown}" if hint else f"the table has {shown}"
