"""What ends a run: the answer, and the rates by group."""

from typing import Any

from rich.console import Console
from rich.table import Table

from ffml.cli._table import table
from ffml.metrics.phrases import UNDEFINED, decided, known
from ffml.metrics.words import now_lines
from ffml.report.answer import sentences
from ffml.report.notes import learning_warning


def show_now(console: Console, summary: dict[str, Any], due: str = "") -> None:
    """Print what happened in the newest round, and the past in three lines."""
    for line in now_lines(summary["answer"], due):
        say(console, line)
    _warn(console, summary)


def show_summary(console: Console, summary: dict[str, Any]) -> None:
    """Print the answer in words, and the rates by group as a table."""
    console.print()
    for sentence in sentences(summary):
        console.print(sentence, highlight=False, markup=False)
    favour = decided(summary["answer"]["favourable"])
    for column in summary["answer"]["notions"][0]["columns"]:
        for fact in column["facts"]:
            console.print(_rates(fact, favour))
    _warn(console, summary)


def _warn(console: Console, summary: dict[str, Any]) -> None:
    if warning := learning_warning(summary):
        say(console, f"warning: {warning}", style="yellow")


def say(console: Console, text: str, style: str | None = None) -> None:
    """Print a sentence: between words at a terminal, as one line into a pipe."""
    console.print(
        text, style=style, highlight=False, markup=False, soft_wrap=not console.is_terminal
    )


def _rates(fact: dict[str, Any], favour: str) -> Table:
    """Write people, rate and impact ratio of each group, the lowest first."""
    groups = sorted(fact["groups"], key=lambda one: one["rate"] if known(one["rate"]) else 2.0)
    highest = max((one["rate"] for one in groups if known(one["rate"])), default=0.0)
    rows = []
    for one in groups:
        rated = known(one["rate"])
        rows.append(
            {
                fact["column"]: one["group"],
                "people": one["people"],
                favour: one["positives"],
                "of 100": f"{100 * one['rate']:.1f}" if rated else UNDEFINED,
                "impact ratio": f"{one['rate'] / highest:.3f}" if highest and rated else UNDEFINED,
            }
        )
    return table(rows)
