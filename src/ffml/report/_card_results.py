"""The part of the model card that says what was measured, and what could not be."""

import math

import numpy as np

from ffml.report import _gaps, _tables, _words
from ffml.report._view import RunView
from ffml.report.markdown import bullets, escape, table
from ffml.report.numbers import UNDEFINED, counted, interval, listed, percent, rate

_METRICS = {
    "dp": "Demographic parity (DP) ratio",
    "eo": "Equalized odds (EO) ratio",
    "disc": "Gap in selection rates",
    "balanced_accuracy": "Balanced accuracy",
    "accuracy": "Accuracy",
}
_RATIO_CELLS = ("mean", "share", "rounds")


def evaluation(run: RunView) -> list[str]:
    """Return metrics with intervals and ceilings, pooled, and what became of the constraints."""
    header = ["metric", "all rounds", "95 % interval", "noise ceiling", "of ceiling"]
    rows = [[name, *_metric_cells(run, metric)] for metric, name in _METRICS.items()]
    return [
        "## Evaluation",
        "In every round the model decided about rows of a new task that it had not learned from,"
        " after adapting to other rows of that task. Below, these rows are pooled over all rounds;"
        " what needs labels is of those who have one. The noise ceiling is what decisions unrelated"
        " to the groups would show on as many rows; intervals are bootstrapped.",
        table(header, rows),
        *_gap_tables(run),
        *_constraints(run),
    ]


def _gap_tables(run: RunView) -> list[str]:
    """Return gaps of any two groups, and ratios with their ceilings, for each protected column."""
    header = ["compared", "all people", "typical gap", "long-run gap", "rounds"]
    gaps = [
        [
            escape(f"{row['whose']}, {row['column']}: {row['comparison']}"),
            *(f"{row[k]} ({row[f'{k}_interval']})" for k in ("pooled", "typical", "long_run")),
            row["rounds"],
        ]
        for row in _gaps.gap_rows(run)
    ]
    ratios = [
        [escape(f"{row['metric']} ratio, {row['column']}"), *(row[k] for k in _RATIO_CELLS)]
        for row in _gaps.ratio_rows(run)
    ]
    names = ["mean ratio", "all rounds", "of mean ceiling", "defined in judged rounds"]
    return [
        "Gaps between decision rates in percentage points, with 95 % intervals. The typical gap is"
        " how far apart two groups are within a task, with chance taken out. In the long-run gap,"
        " a mean of signed gaps, opposite gaps cancel. Rounds are those in which both have people.",
        table(header, gaps),
        "Ratios by round, averaged over the rounds in which they are defined:",
        table(names, ratios),
    ]


def _metric_cells(run: RunView, metric: str) -> list[str]:
    value, low, high, ceiling, share = (
        run.statistic("pooled", f"{metric}{end}")
        for end in ("", "_low", "_high", "_ceiling", "_of_ceiling")
    )
    return [rate(value), interval(low, high) or UNDEFINED, rate(ceiling), percent(share)]


def _constraints(run: RunView) -> list[str]:
    rows = [
        [escape(row["name"]), row["within"], row["largest"], row["multiplier"]]
        for row in _tables.constraint_totals(run)
    ]
    header = ["constraint", "rounds with gap ≤ ε", "largest gap − ε", "last λ"]
    return [table(header, rows)] if rows else []


def groups(run: RunView) -> list[str]:
    """Return one table for each protected column."""
    keys = ["selection_rate", "true_positive_rate", "false_positive_rate", "accuracy", "n"]
    keys += ["n_labelled", "n_label_1", "n_selected"]
    header = ["selection rate", "true positive rate", "false positive rate", "accuracy", "rows"]
    header += ["with a label", "favourable labels", "selected"]
    parts = ["## By group, all rounds pooled"]
    for group_table in _tables.group_tables(run):
        rows = [[escape(row["group"]), *(row[key] for key in keys)] for row in group_table["rows"]]
        parts.append(table([escape(group_table["column"]), *header], rows))
    return parts


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
    small = int(((judged > 0) & (judged < _tables.MIN_VALIDATION_ROWS)).sum())
    if small:
        few = f"fewer than {_tables.MIN_VALIDATION_ROWS} rows"
        found.append(
            f"{small} of {rounds} rounds were judged on {few}: one by one they say little."
        )
    unknown = [m.upper() for m in ("dp", "eo") if math.isnan(run.statistic("pooled", m))]
    if unknown:
        found.append(f"{listed(unknown)} of all rounds pooled.")
    if why := run.summary["answer"]["unmeasured"]:
        found.append(f"Whatever needs labels: {escape(why)}.")
    enough = f"at least {_tables.MIN_VALIDATION_ROWS} rows"
    nothing = f"Both ratios could be measured in every round, on {enough} each."
    return ["## What could not be measured", bullets(found) if found else nothing]
