"""What a stream looks like, before anything is learned from it."""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from ffml.base import FFMLError, Schema, Stream, Task
from ffml.tables._labels import adverse_warning
from ffml.tables._order import empty_warning
from ffml.tables.inspection._changes import RepeatFit, changed_units
from ffml.tables.inspection._mistakes import (
    Sample,
    columns_of,
    likely_mistakes,
    number_warnings,
    protected_warning,
    spelling_warnings,
    stray_warnings,
)

Z_CONFIDENCE = 1.959964  # two-sided test at 95 %
Z_POWER = 0.841621  # 80 % of the samples show it
FEW = 10  # labels of one value only that are fewer may be chance
SMALL = 30  # rows below which a task cannot be judged
UNKNOWN = 2  # the place of counts of rows without a label
SAMPLE_ROWS = 50_000  # how many rows the search for mistakes looks at, of all tasks


def detectable_gap(rate: float, rows_in: float, rows_out: float) -> float | None:
    """Return the smallest difference of two proportions that such samples show, or None.

    (z₀.₉₇₅ + z₀.₈₀) · √(p(1 − p)(1/n₁ + 1/n₀)): a test at the 95 % level then finds the gap in
    80 % of the cases. None where there is nothing to compare or even a gap of 1 is too small.

    Args:
        rate: the proportion p of both groups together.
        rows_in: rows of the group.
        rows_out: rows that it is compared with.

    >>> round(detectable_gap(0.5, 100, 100), 3)
    0.198
    """
    if not (0 < rate < 1 and rows_in > 0 and rows_out > 0):
        return None
    error = math.sqrt(rate * (1 - rate) * (1 / rows_in + 1 / rows_out))
    gap = (Z_CONFIDENCE + Z_POWER) * error
    return gap if gap <= 1 else None


@dataclass(frozen=True)
class GroupSummary:
    """One group of one protected attribute."""

    column: str
    group: str
    rows: int
    positive_rate: float | None  # of those with a label; None: none has one


@dataclass(frozen=True)
class TaskSummary:
    """One task, or all of them together."""

    name: str
    rows: int
    unlabelled: int  # people to be decided about, whose label is not known yet
    positive_rate: float | None  # of those with a label; None: none has one
    groups: tuple[GroupSummary, ...]
    detectable_gap: float | None  # for the comparison that needs most rows; None: any gap can hide
    problems: tuple[str, ...]  # why it is too small to judge


@dataclass(frozen=True)
class Inspection:
    """All that `inspect` found; ``to_json`` makes plain JSON values of it."""

    name: str
    fingerprint: str | None
    label: str
    features: tuple[str, ...]
    dropped_rows: int
    validation_fraction: float
    overall: TaskSummary
    tasks: tuple[TaskSummary, ...]
    mistakes: tuple[str, ...]
    favourable: str = ""  # the favourable outcome in the user's words

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return asdict(self)


def inspect(
    stream: Stream, *, validation_fraction: float = 0.5, label_delay: int = 0
) -> Inspection:
    """Look at every task once, one in memory at a time.

    Args:
        stream: what `table_stream` returned, or any other stream.
        validation_fraction: the share of a task's rows that will judge decisions; only those
            count for the gap that can be detected.
        label_delay: of the run; 0: decisions are adapted to labels of their own task.
    """
    if not 0 < validation_fraction < 1:
        raise FFMLError(f"validation_fraction must be between 0 and 1, got {validation_fraction}")
    schema = stream.schema
    total = np.zeros((sum(len(c.groups) for c in schema.sensitive), 3), int)
    per_task = max(20, SAMPLE_ROWS // (stream.num_tasks or 100))
    summaries, samples, sampled = [], [], 0
    repeats = RepeatFit(schema)
    for task in stream.tasks():
        counts = _counts(task, schema)
        total += counts
        repeats.add(task)
        summaries.append(_summary(task.name, counts, schema, validation_fraction))
        if sampled < SAMPLE_ROWS:
            samples.append(_sample(task, schema, per_task))
            sampled += len(samples[-1].y)
    if not summaries:
        raise FFMLError(f"{stream.name} has no tasks; at least one is needed")
    sample = Sample(*(np.concatenate(parts) for parts in zip(*samples, strict=True)))
    preprocessor = getattr(stream, "preprocessor", None)
    columns = columns_of(schema, preprocessor)
    some_rows = [(t.name, part.x) for t, part in zip(summaries, samples, strict=False)]
    mistakes = [
        *likely_mistakes(sample, schema, columns),
        *changed_units(some_rows, columns),
        *number_warnings(schema),
        *([] if label_delay else _one_sided(summaries)),
        *spelling_warnings(schema, columns),
        *stray_warnings(columns),
        *adverse_warning(schema.label, _favourable(stream) or None),
        *protected_warning(column.name for column in columns),
        *repeats.finish(),
        *empty_warning([task.name for task in summaries]),
    ]
    return Inspection(
        name=stream.name,
        fingerprint=getattr(stream, "fingerprint", None),
        label=schema.label,
        features=schema.features,
        dropped_rows=getattr(stream, "dropped_rows", 0),
        validation_fraction=validation_fraction,
        overall=_summary("all tasks", total, schema, validation_fraction),
        tasks=tuple(summaries),
        mistakes=tuple(mistakes),
        favourable=_favourable(stream) and f"{schema.label} = {_favourable(stream)}",
    )


def _one_sided(tasks: Sequence[TaskSummary]) -> list[str]:
    """Say where labels seem to be known of those decided favourably only, or of the others."""
    for rate, which in ((1.0, "favourable"), (0.0, "unfavourable")):
        some = [t for t in tasks if t.positive_rate == rate and t.unlabelled >= FEW]
        some = [t for t in some if t.rows - t.unlabelled >= FEW]
        if some:
            names = ", ".join(t.name for t in some[:3]) + (", ..." if len(some) > 3 else "")
            return [
                f"all known labels are {which} in {len(some):,} of {len(tasks):,} tasks ({names}),"
                f" and {sum(t.unlabelled for t in some):,} people there have none: does it depend "
                "on the decision who has one? If so, say that labels come after it (ffml run --set "
                "label_delay=1), or decisions there are adapted to these labels alone"
            ]
    return []


def _favourable(stream: Stream) -> str:
    labels: dict[str, int] = getattr(stream, "labels", {})
    return next((text for text, code in labels.items() if code), "")


def _counts(task: Task, schema: Schema) -> np.ndarray:
    """Count rows by group (of all attributes, one after another) and label 0, 1 or unknown."""
    label = np.where(task.y < 0, UNKNOWN, task.y)
    parts = [
        np.bincount(3 * task.groups[:, i] + label, minlength=3 * len(column.groups))
        for i, column in enumerate(schema.sensitive)
    ]
    return np.concatenate(parts).reshape(-1, 3)


def _rate(counts: np.ndarray) -> float | None:
    labelled = counts[:UNKNOWN].sum()
    return float(counts[1] / labelled) if labelled else None


def _summary(name: str, counts: np.ndarray, schema: Schema, fraction: float) -> TaskSummary:
    own = counts[: len(schema.sensitive[0].groups)].sum(0)  # every attribute counts all rows
    rows, unlabelled, rate = int(own.sum()), int(own[UNKNOWN]), _rate(own)
    names = [(c.name, group) for c in schema.sensitive for group in c.groups]
    groups = tuple(
        GroupSummary(column, group, int(cells.sum()), _rate(cells))
        for (column, group), cells in zip(names, counts, strict=True)
    )
    problems = [f"fewer than {SMALL} rows"] if rows < SMALL else []
    if unlabelled == rows:
        problems.append("no label is known yet")
    else:
        kinds = ("another label than the favourable one", "the favourable label")
        problems += [
            f"no row of {kind}" for kind, rows in zip(kinds, own, strict=False) if not rows
        ]
    problems += [f"no row of {g.column}={g.group}" for g in groups if not g.rows]
    gaps = [
        detectable_gap(rate or 0.0, g.rows * fraction, (rows - g.rows) * fraction)
        for g in groups
        if 0 < g.rows < rows
    ]
    largest = None if not gaps or None in gaps else max(gap for gap in gaps if gap is not None)
    return TaskSummary(name, rows, unlabelled, rate, groups, largest, tuple(problems))


def _sample(task: Task, schema: Schema, size: int) -> Sample:
    """Take rows at even distances."""
    chosen = np.unique(np.linspace(0, len(task.y) - 1, min(size, len(task.y))).astype(int))
    return Sample(task.x[chosen], task.y[chosen], schema.memberships(task.groups[chosen]))
