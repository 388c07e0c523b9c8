"""What ends a run: the answer, then the means over rounds behind it."""

from collections.abc import Iterator
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from ffml.metrics.words import now_lines
from ffml.report.answer import rows, sentences
from ffml.report.notes import useless_warning

CAPTION = (
    "Rates and gaps of the people decided are facts. The rule: the largest difference between any "
    "two groups with its 95 % interval, if more people of the same kind came. Long-run gap: mean "
    "of signed gaps. Typical gap: how far apart within a task, chance taken out."
)
MEANS = {"balanced accuracy": "balanced_accuracy", "accuracy": "accuracy", "loss": "loss"}


def show_now(console: Console, summary: dict[str, Any], due: str = "") -> None:
    """Print what happened in the newest round, and the past in three lines."""
    for line in now_lines(summary["answer"], due):
        console.print(line, highlight=False, markup=False, soft_wrap=True)


def show_summary(console: Console, summary: dict[str, Any]) -> None:
    """Print the answer in words and as a table, and then what is behind it."""
    console.print()
    for sentence in sentences(summary):
        console.print(sentence, highlight=False, markup=False)
    table = Table(header_style="bold", caption=CAPTION, caption_justify="left")
    table.add_column("everybody decided about", overflow="fold")
    for name in ("so far", "now"):
        table.add_column(name, justify="right")
    for row in rows(summary):
        table.add_row(*map(escape, row))
    console.print(table)
    _show_means(console, summary)


def _show_means(console: Console, summary: dict[str, Any]) -> None:
    """Print ratios with ceilings and means with deviations, and in how many judged rounds."""
    table = Table(
        title="Means over the rounds that could be measured",
        title_justify="left",
        header_style="bold",
    )
    for name in ("", "all rounds", "rounds"):
        table.add_column(name, justify="right" if name else "left")
    for column, found in summary["by_column"].items():
        table.add_row(f"[bold]{escape(column)}[/bold]")
        for row in _ratio_rows(found):
            table.add_row(*row)
        table.add_section()
    for label, name in MEANS.items():
        entry = summary["all"][name]
        table.add_row(label, _mean(entry), f"{entry['defined']}/{summary['rounds']}")
    console.print(table)
    if warning := useless_warning(summary):
        console.print(f"warning: {warning}", style="yellow", highlight=False, soft_wrap=True)
    elif count := summary["collapsed_rounds"]:
        console.print(
            f"In {count} round{'s' if count > 1 else ''} everyone got the same decision: "
            "DP and EO are undefined there and left out.",
            highlight=False,
        )


def _ratio_rows(found: dict[str, Any]) -> Iterator[list[str]]:
    """Write the mean of DP and of EO, and what that is of the mean of their ceilings."""
    for name in ("dp", "eo"):
        entry = found[name]
        rounds, share = f"{entry['defined']}/{found['rounds']}", entry["of_ceiling"]
        yield [f"{name.upper()} ratio", _mean(entry), rounds]
        of_ceiling = "–" if share is None else f"{100 * share:.0f} %"
        yield [f"{name.upper()} of ceiling", of_ceiling, rounds]


def _mean(entry: dict[str, Any]) -> str:
    if entry["mean"] is None:
        return "–"
    spread = "" if entry["std"] is None else f" ± {entry['std']:.3f}"
    return f"{entry['mean']:.3f}{spread}"
