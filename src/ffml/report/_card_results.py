"""The part of the model card that says what was measured, and what could not be."""

import numpy as np

from ffml.report import _gaps, _tables, _words
from ffml.report._groups import group_tables
from ffml.report._view import RunView
from ffml.report.markdown import bullets, escape, table
from ffml.report.numbers import counted

MIN_VALIDATION_ROWS = 30  # with fewer rows a ratio is mostly noise


def evaluation(run: RunView) -> list[str]:
    """Return gaps with intervals, and what became of the constraints."""
    header = ["compared", "all people", "typical gap", "long-run gap", "rounds"]
    gaps = [
        [
            escape(f"{row['whose']}, {row['column']}: {row['comparison']}"),
            *(f"{row[k]} ({row[f'{k}_interval']})" for k in ("pooled", "typical", "long_run")),
            row["rounds"],
        ]
        for row in _gaps.gap_rows(run)
    ]
    return [
        "## Evaluation",
        "In every round the model decided about rows of a new task that it had not learned from,"
        " after adapting to other rows of that task. What needs labels is of those who have one.",
        "Gaps between decision rates in percentage points, with 95 % intervals. The typical gap is"
        " how far apart two groups are within a task, with chance taken out. In the long-run gap,"
        " a mean of signed gaps, opposite gaps cancel. Rounds are those in which both have people.",
        table(header, gaps),
        *_constraints(run),
    ]


def _constraints(run: RunView) -> list[str]:
    rows = [[escape(row["name"]), *row["cells"][:3]] for row in _tables.constraint_totals(run)]
    header = ["constraint", "rounds with gap ≤ ε", "largest gap − ε", "last λ"]
    return [table(header, rows)] if rows else []


def groups(run: RunView) -> list[str]:
    """Return one table for each protected column, and one for their intersection."""
    parts = [
        "## By group, all rounds pooled",
        "Impact ratio: a group's rate over the highest rate (four-fifths rule: 0.8), with its 95 %"
        " interval. The lowest comes first.",
    ]
    for found in group_tables(run):
        rows = [
            [escape(_noted(name["group"], name["note"]))]
            + [_noted(cell["value"], cell["range"]) for cell in cells]
            for name, cells in zip(found["names"], found["rows"], strict=True)
        ]
        parts.append(table([escape(found["column"]), *map(str.lower, found["head"])], rows))
    return parts


def _noted(value: str, note: str) -> str:
    return f"{value} ({note})" if note else value


def unmeasured(run: RunView) -> list[str]:
    """Say what is not known, and why."""
    rounds, found = len(run.rounds), []
    for metric in ("dp", "eo"):
        missing = int(np.isnan(run.rounds.numbers(metric)).sum())
        if missing:
            reasons = _words.undefined_reasons(run, metric).most_common()
            why = "; ".join(f"{escape(reason)}: {counted(n, 'round')}" for reason, n in reasons)
            because = f" ({why})" if why else ""
            found.append(f"{metric.upper()} in {missing} of {rounds} rounds{because}.")
    judged = run.rounds.numbers("n_validation")
    small = int(((judged > 0) & (judged < MIN_VALIDATION_ROWS)).sum())
    if small:
        few = f"fewer than {MIN_VALIDATION_ROWS} rows"
        found.append(
            f"{small} of {rounds} rounds were judged on {few}: one by one they say little."
        )
    if why := run.summary["answer"]["unmeasured"]:
        found.append(f"Whatever needs labels: {escape(why)}.")
    enough = f"at least {MIN_VALIDATION_ROWS} rows"
    nothing = f"Both ratios could be measured in every round, on {enough} each."
    return ["## What could not be measured", bullets(found) if found else nothing]
