"""What ``ffml audit`` prints."""

import math
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from ffml.audit import REPORT, Audit, ColumnAudit
from ffml.cli._table import table
from ffml.report.audit_page import what_was_read

RATES = {
    "selection_rate": "rate",
    "true_positive_rate": "true pos.",
    "false_positive_rate": "false pos.",
    "accuracy": "accuracy",
}


def show_audit(audit: Audit, out: Path | None) -> None:
    """Print groups, gaps, and the answer to what was asked."""
    console = Console(highlight=False)
    console.print(escape(what_was_read(audit)), soft_wrap=True)
    for column in audit.columns:
        console.print(_group_table(column))
    console.print(_gap_table(audit))
    for finding in audit.findings:
        console.print(escape(f"{finding.answer}: {finding.words}"), soft_wrap=True)
    if not audit.findings:
        console.print("Nothing was asked; give --max-gap for a verdict and an alarm.")
    if out is not None:
        console.print(f"Report: [bold]{escape(str(out / REPORT))}[/bold]", soft_wrap=True)


def _group_table(column: ColumnAudit) -> Table:
    ratios = [
        f"{metric.upper()} ratio {_interval(values)}" for metric, values in column.ratios.items()
    ]
    rows = [
        {"group": row["group"], "rows": row["n"], "favourable": row["n_selected"]}
        | {title: _number(row[name]) for name, title in RATES.items() if name in row}
        for row in column.groups
    ]
    return table(rows, f"\n{column.name}: {'; '.join(ratios)}")


def _gap_table(audit: Audit) -> Table:
    over_time = len(audit.decisions.tasks) > 1
    rows = []
    for column in audit.columns:
        for gap in (gap for gaps in column.gaps.values() for gap in gaps):
            row: dict[str, Any] = {"compared": f"{column.name}: {gap.comparison}"}
            row["all people" if over_time else "gap"] = _points(
                gap.pooled, gap.pooled_low, gap.pooled_high
            )
            if over_time:
                row |= {
                    "typical gap": _points(gap.typical, gap.typical_low, gap.typical_high),
                    "long-run gap": _points(gap.long_run, gap.long_run_low, gap.long_run_high),
                    "rounds": gap.rounds,
                }
            rows.append(row)
    return table(rows, "\nGaps in points [95 % interval]")


def _points(value: float, low: float, high: float) -> str:
    if not math.isfinite(value):
        return "–"
    ends = f" [{100 * low:.1f}, {100 * high:.1f}]" if math.isfinite(low + high) else ""
    return f"{100 * value:.1f}{ends}"


def _interval(numbers: tuple[float, float, float]) -> str:
    value, low, high = numbers
    if not math.isfinite(value):
        return "–"
    return f"{value:.3f}" + (f" [{low:.3f}, {high:.3f}]" if math.isfinite(low + high) else "")


def _number(value: float) -> str:
    return f"{value:.3f}" if math.isfinite(value) else "–"
