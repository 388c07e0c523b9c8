"""Decisions that were made by anybody, counted by task, group, label and decision."""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ffml.base import FFMLError, SensitiveColumn
from ffml.tables._decision_roles import (
    DecisionRoles,
    decision_codes,
    label_codes,
    settled,
    task_column,
)
from ffml.tables._labels import MAX_GROUPS, sensitive_column
from ffml.tables._roles import CROSS
from ffml.tables._time import periods
from ffml.tables._values import role_texts
from ffml.tables.sources._source import Source

MAX_TASKS = 10_000
MAX_LABELS = 10
ALL_ROWS = "all rows"  # the one task of a table without a column of tasks
UNKNOWN = 2  # the label of a row whose outcome is not known (yet)


class Decisions(NamedTuple):
    """What a table of decisions holds."""

    name: str  # of the table
    columns: tuple[SensitiveColumn, ...]
    counts: dict[str, np.ndarray]  # column -> (T, k, 3, 2): group, label or `UNKNOWN`, decision
    by: str | None  # the column that tells the tasks apart; None: all rows are one
    tasks: tuple[str, ...]  # in their order
    decision: str  # the column with what was decided
    positive: str  # the decision that counts as 1
    rows: int
    dropped_rows: int
    labelled_rows: int


def read_decisions(source: Source, roles: DecisionRoles) -> Decisions:
    """Read a table once and count its rows; memory holds a batch and the counts.

    Args:
        source: a table, see `open_table` and `open_sql`.
        roles: which column is what.
    """
    by = task_column(roles, source)
    roles = settled(roles, source)
    names = (CROSS.join(roles.sensitive),) if roles.intersect else roles.sensitive
    reading = _Reading(roles, by, names)
    for batch in source.batches(reading.needed):
        reading.add(batch)
    if not reading.rows:
        raise FFMLError(f"{source.name} has no rows; at least one is needed")
    reading.refuse_missing()
    # As ISO writes periods, texts sort by time.
    tasks = tuple(sorted(reading.tasks) if roles.time else reading.tasks)
    decisions = decision_codes(roles, reading.decisions)
    labels = label_codes(roles, reading.labels)
    columns = tuple(sensitive_column(name, reading.groups[name]) for name in names)
    return Decisions(
        name=source.name,
        columns=columns,
        counts={c.name: reading.table(c, tasks, labels, decisions) for c in columns},
        by=by,
        tasks=tasks,
        decision=roles.decision,
        positive=next(text for text, code in sorted(decisions.items()) if code),
        rows=reading.complete_rows,
        dropped_rows=reading.rows - reading.complete_rows,
        labelled_rows=reading.labelled_rows,
    )


class _Reading:
    """What has been counted so far."""

    def __init__(self, roles: DecisionRoles, by: str | None, names: Sequence[str]) -> None:
        self.roles, self.by = roles, by
        self.parts = [("decision", roles.decision), *(("sensitive", s) for s in roles.sensitive)]
        self.parts += [("task", by)] if by else []
        self.needed = [name for _, name in self.parts] + ([roles.label] if roles.label else [])
        self.rows = self.complete_rows = self.labelled_rows = 0
        self.missing: Counter[str] = Counter()
        self.tasks: dict[str, None] = {}  # in the order of their first rows
        self.decisions: set[str] = set()
        self.labels: set[str] = set()
        self.groups: dict[str, set[str]] = {name: set() for name in names}
        self.counted: dict[str, Counter[tuple]] = {name: Counter() for name in names}

    def add(self, batch: pa.RecordBatch) -> None:
        """Count the rows of one more batch."""
        texts = [self._texts(batch.column(name), name, part) for part, name in self.parts]
        complete = pa.repeat(True, batch.num_rows)
        for (part, name), values in zip(self.parts, texts, strict=True):
            self.missing[f"{part} column {name!r}"] += values.null_count
            complete = pc.and_(complete, values.is_valid())
        self.rows += batch.num_rows
        decision, *groups = (values.filter(complete) for values in texts)
        task = groups.pop() if self.by else pa.repeat(ALL_ROWS, len(decision))
        label = pa.nulls(len(decision), pa.string())
        if self.roles.label:
            values = role_texts(batch.column(self.roles.label), self.roles.label, "label")
            label = values.filter(complete)
        if not len(decision):
            return
        if self.roles.intersect:
            groups = [pc.binary_join_element_wise(*groups, CROSS)]
        self._note(task, decision, label)
        for name, group in zip(self.groups, groups, strict=True):
            self.groups[name].update(group.unique().to_pylist())
            if len(self.groups[name]) > MAX_GROUPS:
                sensitive_column(name, self.groups[name])  # refuses
            keys = {"task": task, "group": group, "label": label, "decision": decision}
            found = pa.table(keys).group_by(list(keys)).aggregate([([], "count_all")])
            cells = zip(*(found[key].to_pylist() for key in keys), strict=True)
            self.counted[name].update(dict(zip(cells, found["count_all"].to_pylist(), strict=True)))

    def _texts(self, values: pa.Array, name: str, part: str) -> pa.Array:
        if part == "task" and self.roles.time:
            return periods(values, name, self.roles.by, self.roles.date_format)
        return role_texts(values, name, part)

    def _note(self, task: pa.Array, decision: pa.Array, label: pa.Array) -> None:
        self.complete_rows += len(decision)
        self.labelled_rows += len(label) - label.null_count
        self.decisions.update(decision.unique().to_pylist())
        self.labels.update(label.drop_null().unique().to_pylist())
        if len(self.decisions) > MAX_LABELS:  # refused before the counts fill the memory
            decision_codes(self.roles, self.decisions)
        if len(self.labels) > MAX_LABELS:
            label_codes(self.roles, self.labels)
        self.tasks.update(dict.fromkeys(task.unique().to_pylist()))
        if len(self.tasks) > MAX_TASKS:
            raise FFMLError(
                f"task column {self.by!r} holds more than {MAX_TASKS:,} different values; choose "
                "one whose values many rows share, such as a month"
            )

    def refuse_missing(self) -> None:
        """Refuse rows that lack a decision, a group or a task."""
        found = [f"{count} in {where}" for where, count in self.missing.items() if count]
        if found and not self.roles.drop_missing:
            raise FFMLError(
                f"rows without a value: {', '.join(found)}; fill them in, or leave such rows out "
                "(--set data.drop_missing=true)"
            )
        if not self.complete_rows:
            raise FFMLError("no rows are left without those that miss a value; fill some in")

    def table(
        self,
        column: SensitiveColumn,
        tasks: Sequence[str],
        labels: dict[str, int],
        decisions: dict[str, int],
    ) -> np.ndarray:
        """Put the counts of one column into an array."""
        place = {task: t for t, task in enumerate(tasks)}
        code = {group: g for g, group in enumerate(column.groups)}
        counts = np.zeros((len(tasks), len(code), 3, 2), int)
        for (task, group, label, decision), count in self.counted[column.name].items():
            known = labels[label] if label is not None else UNKNOWN
            counts[place[task], code[group], known, decisions[decision]] += count
        return counts
