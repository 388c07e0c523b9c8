"""The first pass over a table: what all rows have in common, learned within bounded memory."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ffml.base import FFMLError, SensitiveColumn
from ffml.tables._fit import ColumnFit, ordered_fits
from ffml.tables._in_order import read_in_order
from ffml.tables._labels import label_values
from ffml.tables._preprocess import Preprocessor
from ffml.tables._roles import Roles
from ffml.tables._rows import (
    Rows,
    needed_columns,
    order_texts,
    read_rows,
    sensitive_names,
)
from ffml.tables._source import Source
from ffml.tables._tasks import TaskFit

if TYPE_CHECKING:
    import pyarrow as pa

MAX_GROUPS = 50
MAX_LABELS = 10


@dataclass(frozen=True)
class Survey:
    """What the first pass found."""

    tasks: tuple[str, ...]  # in the order in which they are played
    sizes: tuple[int, ...]  # rows of each
    in_place: bool  # the table's rows are in that order already, task by task
    sensitive: tuple[SensitiveColumn, ...]
    labels: dict[str, int]  # the label's texts and what they stand for
    preprocessor: Preprocessor
    dropped_rows: int


@dataclass(frozen=True)
class Known:
    """What a run knows of its tables already, so that it holds for further ones."""

    preprocessor: Preprocessor
    sensitive: tuple[SensitiveColumn, ...]
    labels: dict[str, int]


def survey(
    source: Source,
    roles: Roles,
    preprocessor: Preprocessor | None,
    drop_missing: bool,
    known: Known | None = None,
) -> Survey:
    """Read the table once: tasks, and, as far as they are not known, labels, groups, encoding."""
    features = preprocessor.names if preprocessor else roles.features(source.columns)
    if not features:
        raise FFMLError("no columns are left as features; drop fewer (--drop)")
    learned = _SurveyFit(roles, [] if preprocessor else features, source.parse)
    num_rows = 0
    for batch in source.batches(needed_columns(roles, features)):
        num_rows += batch.num_rows
        learned.add(read_rows(batch, roles))
    if not num_rows:
        raise FFMLError(f"{source.name} has no rows; at least one is needed")
    if not drop_missing:
        learned.refuse_missing()
    if not learned.num_rows:
        raise FFMLError(f"{source.name} has no rows left without those that miss a value")
    tasks, sizes, in_place = learned.tasks.finish(roles)
    if preprocessor is None:
        fits = ordered_fits(learned.columns)
        first = read_in_order(source, roles, tasks, in_place, fits)
        preprocessor = Preprocessor.finish(learned.columns, first)
    positive = roles.positive
    if known:
        _refuse_new_groups(learned.groups, known.sensitive)
        positive = next((text for text, code in known.labels.items() if code), positive)
    return Survey(
        tasks,
        sizes,
        in_place,
        known.sensitive
        if known
        else tuple(sensitive_column(name, groups) for name, groups in learned.groups.items()),
        label_values(roles.label, {*learned.labels, *(known.labels if known else ())}, positive),
        preprocessor,
        num_rows - learned.num_rows,
    )


class _SurveyFit:
    """What has been seen so far."""

    def __init__(self, roles: Roles, features: Iterable[str], parse: bool) -> None:
        self.roles = roles
        self.num_rows = 0
        self.tasks = TaskFit()
        self.labels: set[str] = set()
        self.groups: dict[str, set[str]] = {name: set() for name in sensitive_names(roles)}
        self.columns = [ColumnFit(name, parse) for name in features]
        self.missing: Counter[str] = Counter()

    def add(self, rows: Rows) -> None:
        """See one more batch."""
        self.missing.update(rows.missing)
        self.num_rows += len(rows.task)
        if not len(rows.task):
            return
        self.tasks.add(rows.task, order_texts(rows, self.roles))
        _add_distinct(self.labels, rows.label, MAX_LABELS)
        for groups, values in zip(self.groups.values(), rows.sensitive, strict=True):
            _add_distinct(groups, values, MAX_GROUPS)
        for column in self.columns:
            column.add(rows.batch.column(column.name))

    def refuse_missing(self) -> None:
        """Refuse rows that lack a task, a label or a sensitive value."""
        if found := [f"{count} in {where}" for where, count in self.missing.items() if count]:
            raise FFMLError(
                f"rows without a value: {', '.join(found)}; fill them in, or leave such rows out "
                "(--set data.drop_missing=true)"
            )


def _add_distinct(seen: set[str], values: "pa.Array", limit: int) -> None:
    """Remember different values, up to one more than the limit."""
    if len(seen) <= limit:
        for value in values.drop_null().unique().to_pylist():
            seen.add(value)
            if len(seen) > limit:
                return


def sensitive_column(name: str, groups: set[str]) -> SensitiveColumn:
    """Name the groups of a column in order; refuse too many, or a single one."""
    if len(groups) > MAX_GROUPS:
        examples = ", ".join(repr(group) for group in sorted(groups)[:3])
        raise FFMLError(
            f"sensitive column {name!r} has more than {MAX_GROUPS} groups ({examples}, ...); "
            "make fewer of them, such as bands of age"
        )
    if len(groups) < 2:
        only = "".join(groups)
        raise FFMLError(
            f"sensitive column {name!r} has one group only ({only!r}); groups are compared, so at "
            "least two are needed"
        )
    return SensitiveColumn(name, tuple(sorted(groups, key=_by_number)))


def _refuse_new_groups(found: Mapping[str, set[str]], columns: tuple[SensitiveColumn, ...]) -> None:
    for column in columns:
        if new := sorted(found[column.name] - set(column.groups)):
            raise FFMLError(
                f"sensitive column {column.name!r} has a new group {new[0]!r}, and the run "
                f"compares {', '.join(column.groups)}; leave its rows out, or start another run"
            )


def _by_number(text: str) -> tuple[int, float, str]:
    """Sort numbers by value, before texts."""
    try:
        return (0, float(text), text)
    except ValueError:
        return (1, 0.0, text)
