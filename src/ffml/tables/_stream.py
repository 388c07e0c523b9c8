"""From a table and the roles of its columns to a stream of tasks."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

from ffml.base import FFMLError, Schema, SensitiveColumn
from ffml.tables._ingest import Ingest
from ffml.tables._labels import label_values, refuse_adverse, refuse_new_groups, sensitive_column
from ffml.tables._play import Known, TableStream, TaskReader
from ffml.tables._roles import Roles, nearest_column, refuse_missing
from ffml.tables._settle import check_time, settle_time
from ffml.tables.encode._preprocess import Preprocessor
from ffml.tables.sources._open import open_data
from ffml.tables.sources._source import Source


def table_stream(
    source: Any,
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
    drop_missing: bool = False,
    id: str | None = None,
    known: Known | None = None,
) -> TableStream:
    """Cut a table into tasks, whatever its size.

    The table is read once. That pass learns what all rows have in common (the tasks and their
    sizes, the label's values, the groups, and how to encode the features), and sets the rows aside
    by task, in a file without a name where they are many. Only features are learned from for that,
    and what a missing number becomes only from the first task that has a number there. Memory
    holds one task and a few batches of rows.

    A row without a label is a person to be decided about: its y is -1.

    Args:
        source: a path or a data frame (see `open_data`), or what `open_data` returned.
        label: the column to predict; this and the other columns' parts are explained at `Roles`.
        sensitive: the protected column or columns; they are never features.
        task: the column that says which rows belong together; a folder's files by default.
        time: a column of dates or times, whose periods are the tasks; with ``task``, their order.
        by: how long a period is; by default as long as those that the column holds, if not days.
        order: play tasks by their smallest value here; without it and ``time``, as they come.
        positive: the label's value that counts as 1, if the values are not 0 and 1.
        drop: columns to leave alone.
        intersect: make one protected attribute of the combinations that occur.
        date_format: how dates are written, if no date tells whether the day comes first.
        drop_missing: leave out rows without task, sensitive value or id, not refuse them.
        id: the column that names every row, so that labels can find it later.
        known: what an earlier table of the same stream has settled; a category that is new since
            then is all zeros, and a new group or label is refused.

    Returns:
        A stream whose tasks hold raw features: ``RunningScaler.empty(preprocessor.scaled)``
        standardises them along the stream.
    """
    source = open_data(source)
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
    preprocessor = known.preprocessor if known else None
    if preprocessor is not None:
        _check_columns(preprocessor, roles, source)
    if time is not None:
        by, date_format = settle_time(source, time, by, date_format, roles.task == time)
        roles = replace(roles, by=by, date_format=date_format)
    with ThreadPoolExecutor(1) as pool:
        digest = pool.submit(source.fingerprint)  # beside the reading
        read = Ingest(source, roles, preprocessor)
    _refuse_missing(read, source.name, drop_missing, known)
    played = read.tasks.played(roles, further=known is not None)
    labels, groups = _labels(read, roles, known), _groups(read, known)
    preprocessor = preprocessor or read.preprocessor(played)
    return TableStream(
        name=source.name,
        schema=Schema(
            preprocessor.features, groups, roles.label, categories=preprocessor.categories
        ),
        tasks=TaskReader(read, played, preprocessor, labels, groups, roles.id),
        num_tasks=len(played),
        preprocessor=preprocessor,
        fingerprint=digest.result(),
        roles=roles,
        task_names=tuple(read.tasks.names[number] for number in played),
        task_sizes=tuple(read.sizes[number] for number in played),
        labels=labels,
        dropped_rows=read.read_rows - sum(read.sizes),
    )


def _refuse_missing(read: Ingest, name: str, drop_missing: bool, known: Known | None) -> None:
    """Refuse a table without rows, and rows that lack a task, a sensitive value or an id."""
    if not read.read_rows:
        raise FFMLError(f"{name} has no rows; at least one is needed")
    refuse_missing(read.missing, drop_missing, lives_on=known is not None)
    if not read.sizes:
        raise FFMLError(f"{name} has no rows left without those that miss a value")


def _labels(read: Ingest, roles: Roles, known: Known | None) -> dict[str, int]:
    """Say what the label's texts stand for; rows may lack them, but not all rows."""
    if known:
        positive = next((text for text, code in known.labels.items() if code), roles.positive)
        return label_values(roles.label, {*read.labels, *known.labels}, positive)
    if not read.labels:
        raise FFMLError(
            f"label column {roles.label!r} is empty; labels of some people are needed to learn from"
        )
    refuse_adverse(roles.label, read.labels, roles.positive)
    return label_values(roles.label, read.labels, roles.positive)


def _groups(read: Ingest, known: Known | None) -> tuple[SensitiveColumn, ...]:
    """Say which groups there are."""
    if known:
        refuse_new_groups(read.groups, known.sensitive)
        return known.sensitive
    return tuple(sensitive_column(name, groups) for name, groups in read.groups.items())


def _unused(brought: str | None, task: str | None) -> tuple[str, ...]:
    """Leave out a folder's column of files where another column tells the tasks."""
    return (brought,) if brought and task not in (None, brought) else ()


def _check_columns(preprocessor: Preprocessor, roles: Roles, source: Source) -> None:
    """Refuse a table without the columns of a preprocessing learned before."""
    features = roles.features(source.columns)
    for name in (column.name for column in preprocessor.columns):
        if name not in source.columns:
            near = nearest_column(name, source.columns)
            hint = f"; is it {near!r} now? Give it its old name" if near else ""
            raise FFMLError(f"{source.name} has no column {name!r}, which the model needs{hint}")
        if name not in features:
            raise FFMLError(f"the model needs column {name!r}; give it no other part")
    preprocessor.warn_of_new(features)
