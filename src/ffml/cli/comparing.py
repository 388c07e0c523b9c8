"""What ``ffml compare`` does and shows while it does it."""

import re
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console, JustifyMethod
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from ffml.base import FFMLError

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


def compare_methods(
    data: Sequence[str] | None,
    roles: dict[str, Any],
    seeds_of: dict[str, list[int]],
    wanted: dict[str, Any],
    *,
    jobs: int | None,
    backend: str | None,
    out: Path,
    quiet: bool,
    as_json: bool,
    command: str,
) -> None:
    """Compute what is missing and sum up. Nothing is written before everything is checked."""
    start = time.perf_counter()
    console = Console(stderr=as_json, quiet=quiet)
    console.print("[bold]ffml[/bold] · starting JAX and checking what to compare …")
    from ffml.recipe.plain import to_json
    from ffml.runs.ownership import check_results
    from ffml.runtime import available_cores, configure
    from ffml.studies.clusters import check_backend
    from ffml.studies.compare import (
        Store,
        check_cells,
        plan,
        run_cells,
        summarise_results,
        write_results,
    )
    from ffml.studies.compare import unfinished as unfinished_of

    configure(devices=1)
    check_backend(backend, jobs)
    cells = plan(**_with_data(data, roles, seeds_of), **wanted)
    store = Store(out / "cells")
    check_results(out, store.folder)
    unfinished = unfinished_of(cells, store)
    check_cells(unfinished)
    jobs = min(jobs or available_cores(), max(len(unfinished), 1))
    _announce(console, len(cells), len(unfinished), place_of_work(jobs, backend))
    try:
        with CellProgress(console, len(cells), len(cells) - len(unfinished)) as progress:
            run_cells(unfinished, store, workers=jobs, backend=backend, progress=progress.show)
    except KeyboardInterrupt:
        done = len(cells) - len(unfinished_of(cells, store))
        console.print(
            f"interrupted; {done} of {len(cells)} runs are finished and kept in {store.folder}. Go "
            "on with the same command.",
            soft_wrap=True,
        )
        raise typer.Exit(130) from None
    frame = store.load(cells)
    summary = summarise_results(frame)
    facts = {
        "command": command,
        "date": datetime.now(UTC).date().isoformat(),
        "jobs": jobs if backend is None else backend,
        "runs": len(cells),
        "computed": len(unfinished),
        "wall_seconds": time.perf_counter() - start,
        "cell_seconds": sum(store.seconds(cell) for cell in cells),
    }
    document = write_results(out, frame, summary, facts)
    if as_json:
        typer.echo(to_json(document), nl=False)
    show_tables(console, summary)
    console.print(document["measured"], highlight=False)
    console.print(
        f"Tables: [bold]{out / 'summary.md'}[/bold]   (all rounds: {out / 'results.csv'})",
        soft_wrap=True,
    )


def _with_data(
    data: Sequence[str] | None, roles: dict[str, Any], seeds_of: dict[str, list[int]]
) -> dict[str, Any]:
    """Find out what the data are, the roles of columns where they are tables, and their seeds."""
    from ffml.recipe.sources import as_given, find_table, is_table
    from ffml.tables import open_table

    tables = [name for name in data or () if is_table(name)]
    if roles and not tables:
        option = as_given(next(iter(roles)))
        raise FFMLError(f"{option} is for tables of your own; give one with --data")
    if data is None:
        return {"seeds_of": seeds_of}
    resolved = {name: find_table(name, roles if name in tables else {}) for name in data}
    found = {table.data: table.options for table in resolved.values()}
    return {
        "data": list(found),
        "data_options": found,
        "fingerprints": {name: open_table(name).fingerprint() for name in found if is_table(name)},
        "seeds_of": {
            resolved[name].data if name in resolved else name: seeds
            for name, seeds in seeds_of.items()
        },
    }


def _announce(console: Console, cells: int, unfinished: int, where: str) -> None:
    if not unfinished:
        console.print(f"all {cells} runs are finished already; nothing is computed again")
        return
    kept = f", {cells - unfinished} of them finished already" if cells > unfinished else ""
    console.print(f"{cells} runs{kept}; computing {unfinished} on {where}", highlight=False)


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
