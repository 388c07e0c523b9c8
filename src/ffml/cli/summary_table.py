"""What ends a run: the answer, then the means over rounds behind it."""

import math
from collections.abc import Iterator
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from ffml.metrics import largest_gap
from ffml.report._answer import rows, sentences
from ffml.report._warnings import useless_warning
from ffml.runs.by_column import gaps_by_column, largest_long_run

PARTS = {"all": "all rounds", "last_third": "last third"}
GAPS = {
    "demographic-parity": ("typical gap", "long-run gap"),
    "equalized-odds": ("typical, by label", "long-run, by label"),
}
CAPTION = (
    "Gaps in points (95 % interval). Long-run gap: the mean of signed gaps, where opposite ones "
    "cancel. Typical gap: how far apart groups are within a task, chance taken out."
)
MEANS = {"balanced accuracy": "balanced_accuracy", "accuracy": "accuracy", "loss": "loss"}


def show_summary(console: Console, summary: dict[str, Any]) -> None:
    """Print the answer in words and as a table, and then what is behind it."""
    console.print()
    for sentence in sentences(summary):
        console.print(sentence, highlight=False, markup=False)
    table = Table(header_style="bold", caption=CAPTION, caption_justify="left")
    table.add_column("over the judged people", overflow="fold")
    for name in ("last third", "all rounds"):
        table.add_column(name, justify="right")
    for row in rows(summary):
        table.add_row(*map(escape, row))
    console.print(table)
    _show_means(console, summary)


def _show_means(console: Console, summary: dict[str, Any]) -> None:
    """Print ratios with ceilings and means with deviations, and in how many judged rounds."""
    title = "Means over the rounds that could be measured; gaps in points [95 % interval]"
    table = Table(title=title, title_justify="left", header_style="bold")
    table.add_column("")
    for name in PARTS.values():
        table.add_column(name, justify="right")
        table.add_column("rounds", justify="right")
    for column, parts in summary["by_column"].items():
        table.add_row(f"[bold]{escape(column)}[/bold]")
        for row in (*_gap_rows(summary, column), *_ratio_rows(parts)):
            table.add_row(*row)
        table.add_section()
    for row in _mean_rows(summary):
        table.add_row(*row)
    console.print(table)
    if warning := useless_warning(summary):
        console.print(f"warning: {warning}", style="yellow", highlight=False, soft_wrap=True)
    elif count := summary["collapsed_rounds"]:
        console.print(
            f"In {count} round{'s' if count > 1 else ''} everyone got the same decision: "
            "DP and EO are undefined there and left out.",
            highlight=False,
        )


def _gap_rows(summary: dict[str, Any], column: str) -> Iterator[list[str]]:
    """Write the largest gaps of a protected column that the answer does not have."""
    answered = {one["notion"] for one in summary["answer"]["all"]["notions"]}
    for notion, names in GAPS.items():
        if notion in answered:
            continue
        typical, long_run = ([name] for name in names)
        for part in PARTS:
            found = gaps_by_column(summary, part, notion)[column]
            judged = summary["by_column"][column][part]["rounds"]
            worst = largest_gap(found)
            numbers = (worst.typical, worst.typical_low, worst.typical_high)
            typical += [_points(*numbers), f"{worst.rounds}/{judged}"]
            worst = largest_long_run(found)
            numbers = (worst.long_run, worst.long_run_low, worst.long_run_high)
            long_run += [_points(*numbers), f"{worst.rounds}/{judged}"]
        yield typical
        yield long_run


def _ratio_rows(parts: dict[str, Any]) -> Iterator[list[str]]:
    """Write the mean of DP and of EO, and what that is of the mean of their ceilings."""
    for name in ("dp", "eo"):
        mean, share = [f"{name.upper()} ratio"], [f"{name.upper()} of ceiling"]
        for part in PARTS:
            entry = parts[part][name]
            rounds, of_ceiling = f"{entry['defined']}/{parts[part]['rounds']}", entry["of_ceiling"]
            mean += [_mean(entry), rounds]
            share += ["–" if of_ceiling is None else f"{100 * of_ceiling:.0f} %", rounds]
        yield mean
        yield share


def _mean_rows(summary: dict[str, Any]) -> Iterator[list[str]]:
    for label, name in MEANS.items():
        row = [label]
        for part in PARTS:
            judged = summary[part]["accuracy"]["defined"]
            row += [_mean(summary[part][name]), f"{summary[part][name]['defined']}/{judged}"]
        yield row


def _points(value: float, low: float, high: float) -> str:
    """Write a gap in percentage points.

    >>> _points(0.071, -0.02, 0.1), _points(float("nan"), 0.0, 0.0)
    ('7.1 [−2.0, 10.0]', '–')
    """
    if math.isnan(value):
        return "–"
    return f"{100 * value:.1f} [{100 * low:.1f}, {100 * high:.1f}]".replace("-", "−")


def _mean(entry: dict[str, Any]) -> str:
    if entry["mean"] is None:
        return "–"
    spread = "" if entry["std"] is None else f" ± {entry['std']:.3f}"
    return f"{entry['mean']:.3f}{spread}"
