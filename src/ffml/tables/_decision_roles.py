"""Which column of a table of decisions plays which part, and what its values stand for."""

from typing import NamedTuple

from ffml.base import FFMLError
from ffml.tables._labels import label_values, refuse_adverse
from ffml.tables._roles import Roles, refuse_unknown
from ffml.tables._settle import check_time, settle_time
from ffml.tables.sources._source import Source


class DecisionRoles(NamedTuple):
    """Which column of a table of decisions plays which part.

    Attributes:
        decision: what was decided; two values.
        sensitive: the protected attributes.
        label: what turned out to be right, where that is known; two values.
        task: whose rows belong together; None: all, or a folder's files.
        time: a column of times; the tasks are its periods, in their order.
        by: how long such a period is: day, week, month, quarter or year.
        date_format: how times are written where they do not tell themselves: DD/MM/YYYY.
        positive: the decision that counts as 1; None: 1 or true.
        positive_label: the label that counts as 1; None: 1 or true, or as ``positive``.
        intersect: make one protected attribute of the combinations of all.
        drop_missing: leave out rows without decision, group or task, which are refused otherwise.
    """

    decision: str
    sensitive: tuple[str, ...]
    label: str | None = None
    task: str | None = None
    time: str | None = None
    by: str | None = None
    date_format: str | None = None
    positive: str | None = None
    positive_label: str | None = None
    intersect: bool = False
    drop_missing: bool = False


def task_column(roles: DecisionRoles, source: Source) -> str | None:
    """Refuse columns that are not there or play two parts; return the column of the tasks."""
    if roles.task and roles.time:
        raise FFMLError("--task and --time both say which rows belong together; give one of them")
    check_time(roles.task, roles.time, roles.by, roles.date_format)
    parts = [("decision", roles.decision), ("label", roles.label)]
    parts += [("sensitive", name) for name in roles.sensitive]
    parts += [("task", roles.task), ("time", roles.time)]
    seen: dict[str, str] = {}
    for part, name in parts:
        if name is None:
            continue
        refuse_unknown(part, name, source.columns)
        if name in seen:
            raise FFMLError(
                f"column {name!r} is given as {seen[name]} and as {part}; give it one part"
            )
        seen[name] = part
    if roles.positive_label is not None and roles.label is None:
        raise FFMLError("--positive-label is a value of the label; give --label too")
    return roles.task or roles.time or source.task


def settled(roles: DecisionRoles, source: Source) -> DecisionRoles:
    """Find out how times are written and, if it was not said, which periods they are."""
    if roles.time is None:
        return roles
    found = settle_time(
        source,
        Roles(
            label=roles.decision,
            sensitive=roles.sensitive,
            task=roles.time,
            time=roles.time,
            by=roles.by,
            date_format=roles.date_format,
        ),
    )
    return roles._replace(by=found.by, date_format=found.date_format)


def decision_codes(roles: DecisionRoles, seen: set[str]) -> dict[str, int]:
    """Say which decision is 1."""
    refuse_adverse(roles.decision, seen, roles.positive)
    return label_values(roles.decision, seen, roles.positive, part="decision")


def label_codes(roles: DecisionRoles, seen: set[str]) -> dict[str, int]:
    """Say which label is 1: as for decisions, where they share their values."""
    if roles.label is None:
        return {}
    if not seen:
        raise FFMLError(f"label column {roles.label!r} is empty; leave out --label")
    positive = roles.positive_label
    if positive is None and roles.positive in seen:
        positive = roles.positive
    refuse_adverse(roles.label, seen, positive, "--positive-label")
    return label_values(roles.label, seen, positive, option="--positive-label")
