"""Decisions that were made by anybody, counted by task, group, label and decision."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from ffml.base import FFMLError, SensitiveColumn
from ffml.tables._labels import MAX_GROUPS, label_values, refuse_adverse, sensitive_column
from ffml.tables._roles import (
    check_parts,
    complete_rows,
    crossed,
    part_texts,
    refuse_missing,
    sensitive_names,
)
from ffml.tables._settle import check_time, settle_time
from ffml.tables.sources._source import Source

MAX_TASKS = 10_000
MAX_LABELS = 10
ALL_ROWS = "all rows"  # the one task of a table without a column of tasks
UNKNOWN = 2  # the label of a row whose outcome is not known (yet)
KEYS = ("task", "group", "label", "decision")  # what rows are counted by


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
    label: tuple[str, str] | None = None  # its column, and the favourable value


def read_decisions(source: Source, roles: DecisionRoles) -> Decisions:
    """Read a table once and count its rows; memory holds a batch and the counts.

    Args:
        source: a table, see `open_data`.
        roles: which column is what.
    """
    _check(roles, source)
    by = roles.task or roles.time or source.task
    if roles.time is not None:
        settled = settle_time(source, roles.time, roles.by, roles.date_format, are_tasks=True)
        roles = roles._replace(by=settled[0], date_format=settled[1])
    count = _Count(roles, by)
    for batch in source.batches(count.needed):
        count.add(batch)
    if not count.rows:
        raise FFMLError(f"{source.name} has no rows; at least one is needed")
    refuse_missing(count.missing, roles.drop_missing)
    if not count.complete_rows:
        raise FFMLError("no rows are left without those that miss a value; fill some in")
    texts = count.texts
    # As ISO writes periods, texts sort by time.
    tasks = tuple(sorted(texts["task"]) if roles.time else texts["task"])
    decisions, labels = _decision_codes(roles, texts["decision"]), _label_codes(roles, texts)
    columns = tuple(sensitive_column(name, texts[name]) for name in count.cells)
    codes: dict[str, dict[Any, int]] = {
        "task": {task: place for place, task in enumerate(tasks)},
        "label": {**labels, None: UNKNOWN},
        "decision": decisions,
    }
    return Decisions(
        name=source.name,
        columns=columns,
        counts={c.name: _counts(count.cells[c.name], codes, c.groups) for c in columns},
        by=by,
        tasks=tasks,
        decision=roles.decision,
        positive=next(text for text, code in sorted(decisions.items()) if code),
        rows=count.complete_rows,
        dropped_rows=count.rows - count.complete_rows,
        labelled_rows=count.labelled_rows,
        label=_named(roles.label, labels),
    )


def _named(label: str | None, codes: Mapping[str, int]) -> tuple[str, str] | None:
    favourable = next((text for text, code in sorted(codes.items()) if code), None)
    return None if label is None or favourable is None else (label, favourable)


class _Count:
    """What has been counted so far."""

    def __init__(self, roles: DecisionRoles, by: str | None) -> None:
        self.roles, self.by = roles, by
        self.parts = [("decision", roles.decision), *(("sensitive", s) for s in roles.sensitive)]
        self.parts += [("task", by)] if by else []
        self.needed = [name for _, name in self.parts] + ([roles.label] if roles.label else [])
        self.rows = self.complete_rows = self.labelled_rows = 0
        self.missing: Counter[str] = Counter()
        names = sensitive_names(roles.sensitive, roles.intersect)
        # The different texts of each part, in the order of their first rows.
        self.texts: dict[str, dict[str, None]] = {n: {} for n in (*KEYS, *names)}
        self.cells: dict[str, Counter[tuple]] = {name: Counter() for name in names}

    def add(self, batch: pa.RecordBatch) -> None:
        """Count the rows of one more batch."""
        self.rows += len(batch)
        batch, (decision, *groups), missing = complete_rows(batch, self.parts, self.roles)
        self.missing.update(missing)
        if not len(batch):
            return
        task = groups.pop() if self.by else pa.repeat(ALL_ROWS, len(batch))
        label = pa.nulls(len(batch), pa.string())
        if self.roles.label:
            label = part_texts(batch, "label", self.roles.label, self.roles)
        self.complete_rows += len(batch)
        self.labelled_rows += len(batch) - label.null_count
        groups = list(crossed(groups, self.roles.intersect))
        named = zip(self.cells, groups, strict=True)
        for name, values in [("task", task), ("decision", decision), ("label", label), *named]:
            self.texts[name] |= dict.fromkeys(values.drop_null().unique().to_pylist())
        self._refuse_many()
        for name, group in zip(self.cells, groups, strict=True):
            table = pa.table([task, group, label, decision], names=KEYS)
            counted = table.group_by(list(KEYS)).aggregate([([], "count_all")])
            *keys, counts = (counted[key].to_pylist() for key in (*KEYS, "count_all"))
            self.cells[name].update(dict(zip(zip(*keys, strict=True), counts, strict=True)))

    def _refuse_many(self) -> None:
        """Refuse columns of too many values before the counts fill the memory."""
        if len(self.texts["decision"]) > MAX_LABELS:
            _decision_codes(self.roles, self.texts["decision"])
        if len(self.texts["label"]) > MAX_LABELS:
            _label_codes(self.roles, self.texts)
        for name in self.cells:
            if len(self.texts[name]) > MAX_GROUPS:
                sensitive_column(name, self.texts[name])
        if len(self.texts["task"]) > MAX_TASKS:
            raise FFMLError(
                f"task column {self.by!r} holds more than {MAX_TASKS:,} different values; choose "
                "one whose values many rows share, such as a month"
            )


def _check(roles: DecisionRoles, source: Source) -> None:
    """Refuse columns that are not there or play two parts."""
    if roles.task and roles.time:
        raise FFMLError("--task and --time both say which rows belong together; give one of them")
    check_time(roles.task, roles.time, roles.by, roles.date_format)
    parts = [("decision", roles.decision), ("label", roles.label)]
    parts += [("sensitive", name) for name in roles.sensitive]
    check_parts([*parts, ("task", roles.task), ("time", roles.time)], source.columns)
    if roles.positive_label is not None and roles.label is None:
        raise FFMLError("--positive-label is a value of the label; give --label too")


def _decision_codes(roles: DecisionRoles, texts: dict[str, None]) -> dict[str, int]:
    refuse_adverse(roles.decision, texts, roles.positive)
    return label_values(roles.decision, texts, roles.positive, part="decision")


def _label_codes(roles: DecisionRoles, texts: dict[str, dict[str, None]]) -> dict[str, int]:
    """Say which label is 1: as for decisions, where they share their values."""
    if roles.label is None:
        return {}
    if not texts["label"]:
        raise FFMLError(f"label column {roles.label!r} is empty; leave out --label")
    positive = roles.positive_label
    if positive is None and roles.positive in texts["label"]:
        positive = roles.positive
    refuse_adverse(roles.label, texts["label"], positive, "--positive-label")
    return label_values(roles.label, texts["label"], positive, option="--positive-label")


def _counts(
    cells: Counter[tuple], codes: dict[str, dict[Any, int]], groups: Sequence[str]
) -> np.ndarray:
    """Put the counts of one column into an array."""
    codes = codes | {"group": {group: code for code, group in enumerate(groups)}}
    counts = np.zeros((len(codes["task"]), len(groups), 3, 2), int)
    for cell, count in cells.items():
        counts[tuple(codes[key][text] for key, text in zip(KEYS, cell, strict=True))] += count
    return counts
