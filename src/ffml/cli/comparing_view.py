"""What a person sees of a study: a line a run, a progress bar, and the tables."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

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

SHOWN = 3  # of the jobs being computed

if TYPE_CHECKING:
    import pandas as pd

    from ffml.studies.jobs import Tell
    from ffml.studies.play import Work


@contextmanager
def watched(console: Console, work: "Work") -> Iterator["Tell"]:
    """Show how runs are computed; Ctrl-C keeps what is finished."""
    if work.words:
        console.print(work.words, highlight=False, markup=False, soft_wrap=True)
    try:
        with JobProgress(console, work.total, work.total - work.left()) as progress:
            yield progress.show
    except KeyboardInterrupt:
        console.print(
            f"interrupted; {work.total - work.left()} of {work.total} runs are finished and kept "
            f"in {work.folder}. Go on with the same command.",
            soft_wrap=True,
        )
        raise typer.Exit(130) from None


class JobProgress:
    """Prints one line a finished job above a progress bar; on a pipe, the lines alone."""

    def __init__(self, console: Console, total: int, finished: int) -> None:
        self.console = console
        self.total, self.finished = total, finished
        self.running: dict[str, str] = {}  # stem -> what is said of it
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

    def __enter__(self) -> "JobProgress":
        self.progress.start()
        self.bar = self.progress.add_task("starting", total=self.total, completed=self.finished)
        return self

    def __exit__(self, *error: object) -> None:
        self.progress.stop()

    def show(self, kind: str, job: Any, *details: Any) -> None:
        """Say what happened, see `ffml.studies.jobs.run_jobs`."""
        if kind in ("started", "said"):
            at = f" {details[0]}/{details[1] or '?'}" if details else ""
            self.running[job.stem] = f"{job.name}{at}"
        else:
            self.running.pop(job.stem, None)
            self._line(kind, job, details[0])
        names = list(self.running.values())
        more = [f"{len(names) - SHOWN} more"] if len(names) > SHOWN else []
        self.progress.update(self.bar, description="; ".join(names[:SHOWN] + more))

    def _line(self, kind: str, job: Any, what: Any) -> None:
        if kind == "finished":
            self.finished += len(job.cells)
            self.progress.update(self.bar, completed=self.finished)
        words = f"failed: {what}" if kind == "failed" else f"{what:,.0f} s"
        self.console.print(
            f"{self.finished:>5}/{self.total}  {job.name}  {words}",
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
