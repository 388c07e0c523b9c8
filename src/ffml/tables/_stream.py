"""A table as a stream of tasks, with one task in memory at a time."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ffml.base import FFMLError, Schema, Stream
from ffml.tables._once import ReadOnce
from ffml.tables._partition import TaskReader
from ffml.tables._preprocess import Preprocessor
from ffml.tables._read import open_table
from ffml.tables._roles import Roles
from ffml.tables._settle import check_time, settle_time
from ffml.tables._source import Source
from ffml.tables._survey import Known, survey


@dataclass(frozen=True, kw_only=True)
class TableStream(Stream):
    """A stream from someone's own table; features are encoded but not standardised."""

    preprocessor: Preprocessor
    fingerprint: str  # SHA-256 of the file's bytes, or of the query's rows
    roles: Roles
    task_names: tuple[str, ...]
    task_sizes: tuple[int, ...]
    labels: dict[str, int]  # the label's texts and what they stand for
    dropped_rows: int = 0  # rows left out for a missing task, label or sensitive value


def table_stream(
    source: Source | str | Path,
    *,
    label: str,
    sensitive: str | Sequence[str],
    task: str | None = None,
    time: str | None = None,
    by: str | None = None,
    order: str | None = None,
    positive: object = None,
    drop: Sequence[str] = (),
    intersect: bool = False,
    date_format: str | None = None,
    preprocessor: Preprocessor | None = None,
    drop_missing: bool = False,
    id: str | None = None,
    known: Known | None = None,
) -> TableStream:
    """Cut a table into tasks, whatever its size.

    A first pass learns what all rows have in common: the tasks and their sizes, the label's
    values, the groups, and how to encode the features. Only features are learned from for that,
    and what a missing number becomes only from the first task that has a number there. Later passes
    read what the first one set aside, so that texts are parsed once. If the rows lie task by task
    in the order in which tasks are played, a task is handed out as soon as its last row is read.
    Otherwise, the rows are first put into a temporary file, by task; rows of a task that lie apart
    are put together. In both cases, memory holds one task and a few batches of rows.

    Args:
        source: a path (see `open_table`), or what `open_table` or `open_sql` returned.
        label: the column to predict.
        sensitive: the protected column or columns; they are never features.
        task: the column that says which rows belong together; a folder's files by default.
        time: a column of dates or times. Its periods are the tasks, named as ISO does (2024-01,
            2024-W07, 2024-Q1), in their order in time. With ``task``, it gives that order alone.
        by: how long a period is: day, week, month, quarter or year; by default as long as those
            that the column holds, if it holds no days.
        order: play tasks by their smallest value in this column (numbers or texts); without it
            and ``time``, in the order of their first rows. Tasks whose names are times in
            disorder are refused then.
        positive: the label's value that counts as 1, if the values are not 0 and 1.
        drop: columns to leave alone.
        intersect: make one protected attribute of the combinations that occur.
        date_format: how dates are written, such as DD/MM/YYYY; needed if no date of the column
            tells whether the day comes first.
        preprocessor: how features were encoded before; learned from the table by default.
        drop_missing: leave out rows without task, label or sensitive value, which are refused
            otherwise.
        id: the column that names every row; with it, rows may lack their label (-1 then).
        known: what an earlier table of the same stream has settled; a category that is new since
            then is all zeros, and a new group or label is refused.

    Returns:
        A stream whose tasks hold raw features: ``RunningScaler.empty(preprocessor.scaled)``
        standardises them along the stream.
    """
    source = open_table(source) if isinstance(source, str | Path) else source
    check_time(task, time, by, date_format)
    if task is None and time is not None and (by or source.task in (None, time)):
        task = time
    if task is None and source.task is None:
        raise FFMLError("which column says what task a row belongs to? Give one (--task)")
    roles = Roles(
        label=label,
        sensitive=(sensitive,) if isinstance(sensitive, str) else tuple(sensitive),
        task=task or source.task or "",
        order=order,
        positive=None if positive is None else str(positive),
        drop=tuple(dict.fromkeys(drop)) + _unused(source.task, task),
        intersect=intersect,
        time=time,
        by=by,
        date_format=date_format,
        id=id,
    ).check(source.columns)
    if known is not None:
        preprocessor = known.preprocessor
    if preprocessor is not None:
        _check_columns(preprocessor, roles, source)
    roles = settle_time(source, roles)
    if source.parse:
        source = ReadOnce(source)
    found = survey(source, roles, preprocessor, drop_missing, known)
    reader = TaskReader(source, roles, found)
    return TableStream(
        name=source.name,
        schema=Schema(
            found.preprocessor.features,
            found.sensitive,
            roles.label,
            categories=found.preprocessor.categories,
        ),
        tasks=reader.in_place if found.in_place else reader.set_aside,
        num_tasks=len(found.tasks),
        preprocessor=found.preprocessor,
        fingerprint=source.fingerprint(),
        roles=roles,
        task_names=found.tasks,
        task_sizes=found.sizes,
        labels=found.labels,
        dropped_rows=found.dropped_rows,
    )


def _unused(brought: str | None, task: str | None) -> tuple[str, ...]:
    """Leave out a folder's column of files where another column tells the tasks."""
    return (brought,) if brought and task not in (None, brought) else ()


def _check_columns(preprocessor: Preprocessor, roles: Roles, source: Source) -> None:
    """Refuse a table without the columns of a preprocessing learned before."""
    features = roles.features(source.columns)
    for name in preprocessor.names:
        if name not in source.columns:
            raise FFMLError(f"{source.name} has no column {name!r}, which was there at fitting")
        if name not in features:
            raise FFMLError(f"column {name!r} was a feature at fitting; give it no other part")
    preprocessor.warn_of_new(features)
