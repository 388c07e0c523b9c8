"""An inspection in plain words."""

from collections import Counter

import numpy as np

from ffml.tables.inspection._inspect import Inspection, TaskSummary

MAX_TASKS = 20
MAX_GROUPS = 20  # of more, a line a task would be a page
MAX_REASONS = 12


def describe(inspection: Inspection) -> list[str]:
    """Say what a stream looks like, a line at a time."""
    return [
        *_whole(inspection),
        *_tasks(inspection),
        *_too_small(inspection),
        *_gap(inspection),
        *_mistakes(inspection),
    ]


def _whole(inspection: Inspection) -> list[str]:
    overall, sizes = inspection.overall, [task.rows for task in inspection.tasks]
    lines = [
        f"{inspection.name}: {_many(overall.rows, 'row')} in {_many(len(sizes), 'task')} of "
        f"{min(sizes):,} to {max(sizes):,} rows (median {np.median(sizes):,.0f}), "
        f"{_many(len(inspection.features), 'feature')}.",
        f"Label {inspection.label!r}: {_percent(overall.positive_rate)} favourable"
        f"{f' ({inspection.favourable})' if inspection.favourable else ''}.",
    ]
    if overall.unlabelled:
        lines.append(
            f"{_many(overall.unlabelled, 'row')} without a label: people to be decided about; "
            "shares of favourable labels are of the others."
        )
    for group in overall.groups:
        lines.append(
            f"{group.column}={group.group}: {group.rows / overall.rows:.1%} of the rows, "
            f"{_percent(group.positive_rate)} of them favourable."
        )
    if inspection.dropped_rows:
        dropped = _many(inspection.dropped_rows, "row")
        lines.append(f"Left out: {dropped} without task, sensitive value or id.")
    return lines


def _tasks(inspection: Inspection) -> list[str]:
    lines = ["Tasks in the order in which they are played:"]
    for number, task in enumerate(inspection.tasks[:MAX_TASKS], start=1):
        groups = ", ".join(
            f"{g.column}={g.group} {g.rows:,} ({_percent(g.positive_rate)})" for g in task.groups
        )
        by_group = f"; rows (favourable) by group: {groups}"
        lines.append(
            f"  {number}. {task.name}: {_many(task.rows, 'row')}, {_percent(task.positive_rate)} "
            f"favourable{by_group if len(task.groups) <= MAX_GROUPS else ''}"
        )
    if len(inspection.overall.groups) > MAX_GROUPS:
        lines.append("  (--json lists rows by group)")
    if (rest := len(inspection.tasks) - MAX_TASKS) > 0:
        lines.append(f"  ... and {rest:,} more (--json lists all)")
    return lines


def _too_small(inspection: Inspection) -> list[str]:
    total = len(inspection.tasks)
    doubtful = [task for task in inspection.tasks if task.problems]
    if not doubtful:
        return ["Every task has at least 30 rows, both labels and all groups."]
    reasons = Counter(problem for task in doubtful for problem in task.problems)
    return (
        [f"{len(doubtful):,} of {_many(total, 'task')} cannot be judged in full:"]
        + [
            f"  {reason}: {_many(count, 'task')} ({_examples(doubtful, reason)})"
            for reason, count in list(reasons.items())[:MAX_REASONS]
        ]
        + ["  ... (--json lists all)"] * (len(reasons) > MAX_REASONS)
    )


def _examples(tasks: list[TaskSummary], reason: str) -> str:
    names = [task.name for task in tasks if reason in task.problems]
    return ", ".join(names[:5]) + (", ..." if len(names) > 5 else "")


def _gap(inspection: Inspection) -> list[str]:
    share = f"{inspection.validation_fraction:.0%} of the rows judge decisions"
    gaps = [t.detectable_gap for t in inspection.tasks if t.detectable_gap is not None]
    labelled = [task for task in inspection.tasks if task.positive_rate is not None]
    hidden = sum(task.detectable_gap is None for task in labelled)
    lines = []
    if inspection.overall.detectable_gap is not None:
        lines.append(
            "Smallest gap between groups' decision rates that these sizes can show, over all tasks "
            f"together: {100 * inspection.overall.detectable_gap:.1f} points."
        )
    if gaps:
        lines.append(
            f"Within one task: {100 * min(gaps):.1f} to {100 * max(gaps):.1f} points "
            f"(median {100 * np.median(gaps):.1f})."
        )
    if hidden:
        lines.append(f"In {_many(hidden, 'task')}, no gap between groups can be shown at all.")
    lines.append(
        "  (95 % confidence, 80 % power: 2.80 √(p(1−p)(1/n₁+1/n₀)), p the share of favourable "
        f"labels, n₁ and n₀ the rows compared; {share}.)"
    )
    return lines


def _mistakes(inspection: Inspection) -> list[str]:
    if not inspection.mistakes:
        return ["No likely mistakes found among the features."]
    return ["Likely mistakes:", *(f"  {mistake}" for mistake in inspection.mistakes)]


def _many(count: int, what: str) -> str:
    return f"{count:,} {what}" + ("" if count == 1 else "s")


def _percent(rate: float | None) -> str:
    return "-" if rate is None else f"{rate:.1%}"
