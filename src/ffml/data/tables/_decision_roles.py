"""Which column of a table of decisions plays which part, and what its values stand for."""

import re
from collections.abc import Iterable
from typing import NamedTuple

from ffml.base import FFMLError
from ffml.data.tables._labels import label_values
from ffml.data.tables._roles import refuse_unknown
from ffml.data.tables._source import Source

_NUMBER = re.compile(r"[+-]?\d+(\.\d+)?")
_ISO = re.compile(r"\d{4}-\d{2}(-\d{2}([T ].*)?)?|\d{4}-?(Q\d|W\d{2})")


class DecisionRoles(NamedTuple):
    """Which column of a table of decisions plays which part.

    Attributes:
        decision: what was decided; two values.
        sensitive: the protected attributes.
        label: what turned out to be right, where that is known; two values.
        task: whose rows belong together; None: all, or a folder's files.
        time: as ``task``, but the tasks come in the order of these values.
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
    positive: str | None = None
    positive_label: str | None = None
    intersect: bool = False
    drop_missing: bool = False


def task_column(roles: DecisionRoles, source: Source) -> str | None:
    """Refuse columns that are not there or play two parts; return the column of the tasks."""
    if roles.task and roles.time:
        raise FFMLError("--task and --time both say which rows belong together; give one of them")
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


def decision_codes(roles: DecisionRoles, seen: set[str]) -> dict[str, int]:
    """Say which decision is 1."""
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
    return label_values(roles.label, seen, positive, option="--positive-label")


def in_time_order(name: str, tasks: Iterable[str]) -> tuple[str, ...]:
    """Sort times: numbers by value, ISO dates as texts; refuse what is neither.

    >>> in_time_order("year", ["10", "9"]), in_time_order("month", ["2024-02", "2023-12"])
    (('9', '10'), ('2023-12', '2024-02'))
    """
    tasks = list(tasks)
    for pattern, key in ((_NUMBER, float), (_ISO, str)):
        if all(pattern.fullmatch(task) for task in tasks):
            return tuple(sorted(tasks, key=key))
    odd = next((t for t in tasks if not (_ISO.fullmatch(t) or _NUMBER.fullmatch(t))), tasks[0])
    raise FFMLError(
        f"time column {name!r} holds {odd!r}; write all times as 2024-05, as 2024-05-17 or as "
        "numbers, or give the column as --task to take its values in the order of the rows"
    )
