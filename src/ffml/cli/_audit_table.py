"""What ``ffml audit`` prints."""

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from ffml.audit import REPORT, Audit
from ffml.base import SensitiveColumn
from ffml.cli._summary_table import say
from ffml.cli._table import table
from ffml.metrics import GapStatistics
from ffml.metrics.by_group import by_group
from ffml.metrics.phrases import decided, rate
from ffml.report.audit_page import what_was_read

RATES = {
    "true_positive_rate": "true pos.",
    "false_positive_rate": "false pos.",
    "accuracy": "accuracy",
}


def show_audit(audit: Audit, out: Path | None) -> None:
    """Print groups, gaps, and the answer to what was asked."""
    console = Console(highlight=False)
    say(console, what_was_read(audit))
    decisions, favour = audit.decisions, decided(audit.answer["favourable"])
    over_time = len(decisions.tasks) > 1
    for groups, column in zip(decisions.columns, audit.columns, strict=True):
        console.print(_group_table(groups, decisions.counts[groups.name], favour))
        for notion, gaps in column.gaps.items():
            named = f", {notion}" if len(column.gaps) > 1 else ""
            console.print(_gap_table(f"{groups.name}{named}", gaps, over_time))
    for finding in audit.findings:
        say(console, f"{finding.answer}: {finding.words}")
    if not audit.findings:
        console.print("Nothing was asked; give --max-gap for a verdict and an alarm.")
    if out is not None:
        console.print(f"Report: [bold]{escape(str(out / REPORT))}[/bold]", soft_wrap=True)


def _group_table(column: SensitiveColumn, counts: np.ndarray, favour: str) -> Table:
    """Write the groups as the page does, the lowest impact ratio first."""
    found = by_group(counts, column)
    shown = [name for name in RATES if any(math.isfinite(row[name]) for row in found)]
    rows = [
        {
            column.name: row["group"],
            "people": row["people"],
            favour: row["selected"],
            "of 100": f"{100 * row['rate']:.1f}",
            "impact ratio": rate(row["impact_ratio"]),
        }
        | {RATES[name]: rate(row[name]) for name in shown}
        for row in found
    ]
    return table(rows)


def _gap_table(name: str, gaps: Sequence[GapStatistics], over_time: bool) -> Table:
    rows = []
    for gap in gaps:
        pooled = _points(gap.pooled, gap.pooled_low, gap.pooled_high)
        row = {name: gap.comparison, "gap in points": pooled}
        if over_time:
            row["typical in a round"] = _points(gap.typical, gap.typical_low, gap.typical_high)
        rows.append(row)
    return table(rows)


def _points(value: float, low: float, high: float) -> str:
    if not math.isfinite(value):
        return "–"
    ends = f" ({100 * low:.1f} to {100 * high:.1f})" if math.isfinite(low + high) else ""
    return f"{100 * value:.1f}{ends}"
