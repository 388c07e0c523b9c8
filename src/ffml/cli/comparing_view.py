"""What a person sees of ``ffml compare``: a line a run, a progress bar, and the tables."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console, JustifyMethod
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

SHORT = {  # what fits a narrow terminal, and its headings there; summary.md has all
    "method": "method",
    "typical gap": "gap",
    "long-run gap": "long-run",
    "DP / ceiling": "DP/ceil",
    "EO / ceiling": "EO/ceil",
    "DP, EO defined": "defined",
    "balanced accuracy": "bal.acc",
}

SHOWN = 3  # of the runs being computed

if TYPE_CHECKING:
    import pandas as pd

    from ffml.studies.compare import Event


@contextmanager
def watched(
    console: Console, total: int, left: Callable[[], int], where: str, folder: Path
) -> Iterator[Callable[["Event"], None]]:
    """Show how runs are computed; Ctrl-C keeps what is finished.

    Args:
        console: where to.
        total: how many runs there are.
        left: counts those that are not finished.
        where: they are computed, see `place_of_work`.
        folder: they are kept in.
    """
    missing = left()
    kept = f", {total - missing} of them finished already" if total > missing else ""
    if missing:
        console.print(f"{total} runs{kept}; computing {missing} on {where}", highlight=False)
    elif total:
        console.print(f"all {total} runs are finished already; nothing is computed again")
    try:
        with CellProgress(console, total, total - missing) as progress:
            yield progress.show
    except KeyboardInterrupt:
        console.print(
            f"interrupted; {total - left()} of {total} runs are finished and kept in {folder}. Go "
            "on with the same command.",
            soft_wrap=True,
        )
        raise typer.Exit(130) from None


def place_of_work(jobs: int, backend: str | None) -> str:
    """Say where runs are computed.

    >>> place_of_work(2, None), place_of_work(2, "ray")
    ('2 processes', 'ray')
    """
    return backend or f"{jobs} process{'es' if jobs > 1 else ''}"


class CellProgress:
    """Prints one line a finished run above a progress bar; on a pipe, the lines alone."""

    def __init__(self, console: Console, total: int, finished: int) -> None:
        self.console = console
        self.total, self.finished = total, finished
        self.running: dict[str, str] = {}  # key -> what is said of it
        self.progress = Progress(
            BarColumn(bar_width=20),
            MofNCompleteColumn(),
            TextColumn("runs ·"),
            TimeElapsedColumn(),
            TextColumn("· {task.description}", markup=False),
            console=console,
            transient=True,
            disable=console.quiet or not console.is_terminal,
        )

    def __enter__(self) -> "CellProgress":
        self.progress.start()
        self.bar = self.progress.add_task("starting", total=self.total, completed=self.finished)
        return self

    def __exit__(self, *error: object) -> None:
        self.progress.stop()

    def show(self, event: "Event") -> None:
        """Say what happened."""
        cell, key = event.cell, event.cell.key
        if event.kind in ("started", "round"):
            at = f" {event.round}/{event.rounds or '?'}" if event.round else ""
            self.running[key] = f"{cell.name}{at}"
        else:
            self.running.pop(key, None)
            self._line(event)
        names = list(self.running.values())
        more = [f"{len(names) - SHOWN} more"] if len(names) > SHOWN else []
        self.progress.update(self.bar, description="; ".join(names[:SHOWN] + more))

    def _line(self, event: "Event") -> None:
        if event.kind == "finished":
            self.finished += 1
            self.progress.update(self.bar, completed=self.finished)
        said = f"failed: {event.reason}" if event.kind == "failed" else f"{event.seconds:,.0f} s"
        self.console.print(
            f"{self.finished:>5}/{self.total}  {event.cell.name}  {said}",
            highlight=False,
            markup=False,
            soft_wrap=True,
        )


def show_tables(console: Console, summary: "pd.DataFrame") -> None:
    """Print one table for each data set."""
    from ffml.studies.compare import data_tables

    for found in data_tables(summary):
        table = Table(
            title=found.title, title_justify="left", title_style="bold", box=SIMPLE_HEAD, padding=0
        )
        for i, name in enumerate(SHORT.values()):
            justify: JustifyMethod = "right" if i else "left"
            table.add_column(name, justify=justify, no_wrap=i > 0, overflow="fold")
        for line in found.lines:
            method, *cells = (dict(zip(found.header, line, strict=True))[name] for name in SHORT)
            table.add_row(method, *map(_narrow, cells))
        console.print(table)


def _narrow(cell: str) -> str:
    """Write a cell in as few characters as can be read.

    >>> _narrow("0.912 ± 0.034"), _narrow("0.4 (0.0 to 2.1)"), _narrow("89, 31 of 89")
    ('.912±.034', '0.4 (0.0–2.1)', '89,31/89')
    """
    for wide, narrow in ((" ± ", "±"), (" to ", "–"), (", ", ","), (" of ", "/")):
        cell = cell.replace(wide, narrow)
    return re.sub(r"\b0(\.\d{3})", r"\1", cell)
