"""What ``ffml audit`` prints."""

import math
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from ffml.audit import REPORT, Audit, ColumnAudit
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
    table = Table(
        title=f"\n{escape(column.name)}: {'; '.join(ratios)}",
        title_justify="left",
        header_style="bold",
    )
    rates = [name for name in RATES if name in column.groups[0]]
    table.add_column("group")
    for title in ("rows", "favourable", *(RATES[name] for name in rates)):
        table.add_column(title, justify="right")
    for row in column.groups:
        shown = [_number(row[name]) for name in rates]
        table.add_row(escape(row["group"]), f"{row['n']:,}", f"{row['n_selected']:,}", *shown)
    return table


def _gap_table(audit: Audit) -> Table:
    over_time = len(audit.decisions.tasks) > 1
    table = Table(
        title="\nGaps in points \\[95 % interval]", title_justify="left", header_style="bold"
    )
    table.add_column("compared")
    for title in ("all people", "typical gap", "long-run gap", "rounds") if over_time else ("gap",):
        table.add_column(title, justify="right")
    for column in audit.columns:
        for found in (found for gaps in column.gaps.values() for found in gaps):
            typical = _points(found.typical, found.typical_low, found.typical_high)
            long_run = _points(found.long_run, found.long_run_low, found.long_run_high)
            pooled = _points(found.pooled, found.pooled_low, found.pooled_high)
            cells = (pooled, typical, long_run, str(found.rounds)) if over_time else (pooled,)
            table.add_row(escape(f"{column.name}: {found.comparison}"), *cells)
    return table


def _points(value: float, low: float, high: float) -> str:
    if not math.isfinite(value):
        return "–"
    ends = f" \\[{100 * low:.1f}, {100 * high:.1f}]" if math.isfinite(low + high) else ""
    return f"{100 * value:.1f}{ends}"


def _interval(numbers: tuple[float, float, float]) -> str:
    value, low, high = numbers
    if not math.isfinite(value):
        return "–"
    return f"{value:.3f}" + (f" \\[{low:.3f}, {high:.3f}]" if math.isfinite(low + high) else "")


def _number(value: float) -> str:
    return f"{value:.3f}" if math.isfinite(value) else "–"
