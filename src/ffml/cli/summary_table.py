"""What ends a run: the answer, in words and as a table."""

from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from ffml.metrics.words import now_lines
from ffml.report.answer import rows, sentences
from ffml.report.notes import useless_warning
from ffml.report.numbers import counted

CAPTION = (
    "Rates and gaps of the people decided are facts. The rule: the largest difference between any "
    "two groups with its 95 % interval, if more people of the same kind came. Long-run gap: mean "
    "of signed gaps. Typical gap: how far apart within a task, chance taken out."
)


def show_now(console: Console, summary: dict[str, Any], due: str = "") -> None:
    """Print what happened in the newest round, and the past in three lines."""
    for line in now_lines(summary["answer"], due):
        console.print(line, highlight=False, markup=False, soft_wrap=True)


def show_summary(console: Console, summary: dict[str, Any]) -> None:
    """Print the answer in words and as a table."""
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
    if warning := useless_warning(summary):
        console.print(f"warning: {warning}", style="yellow", highlight=False, soft_wrap=True)
    elif count := summary["collapsed_rounds"]:
        console.print(
            f"In {counted(count, 'round')} everyone got the same decision: DP and EO are undefined "
            "there and left out.",
            highlight=False,
        )
