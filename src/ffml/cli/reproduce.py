"""``ffml reproduce``: the paper's tables and figures by name."""

import shlex
import sys
import time
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ffml.base import FFMLError
from ffml.cli import _shared as shared
from ffml.cli._shared import OUTPUT, option

if TYPE_CHECKING:
    from ffml.research.reproduce import Reproduction, Setting

HOW = "How thoroughly (less than the paper's setting is said on every output)"


def reproduce(
    items: Annotated[
        list[str] | None,
        typer.Argument(
            help="Such as table2 or figure5; see --list. (default: all)",
            metavar="ITEM",
            show_default=False,
        ),
    ] = None,
    quick: Annotated[
        bool,
        option(HOW, "Few repeats, iterations and tasks: minutes instead of weeks.", "--quick"),
    ] = False,
    protocol: Annotated[
        str, option(HOW, "paper, or clean: no synthetic rows. (default: paper)")
    ] = "paper",
    seeds: Annotated[
        str | None, option(HOW, "Such as 0-4 or 0,1,2. (default: paper 0-9, clean 0-4, quick 0-1)")
    ] = None,
    iterations: Annotated[
        int | None, option(HOW, "Iterations a round, of all methods. (default: the preset's)")
    ] = None,
    tolerance: Annotated[
        float | None,
        option(
            HOW,
            "End a round of FFML or m-FTML once θ, λ and loss change by less than this part of "
            "themselves, such as 0.01. (default: never)",
        ),
    ] = None,
    rounds: Annotated[
        int | None, option(HOW, "The first so many tasks of a stream. (default: all)")
    ] = None,
    jobs: shared.Jobs = None,
    backend: shared.Backend = None,
    out: Annotated[
        Path, option(OUTPUT, "Folder for everything; finished runs are kept. (default: reproduce)")
    ] = Path("reproduce"),
    kept: Annotated[
        Path | None,
        option(
            OUTPUT,
            "Folder of finished runs as small text files, such as benchmarks/table2: they are "
            "taken from there, and new ones are added. (default: none)",
        ),
    ] = None,
    list_items: Annotated[
        bool, option(OUTPUT, "Name the items and the runs each needs, and stop.", "--list")
    ] = False,
    quiet: shared.Quiet = False,
    json_output: shared.Json = False,
) -> None:
    """Make the paper's tables and figures; a stopped reproduction goes on where it was.

    [bold]Example:[/bold] ffml reproduce table2 figure5 --quick
    """
    start = time.perf_counter()
    from rich.console import Console

    console = Console(stderr=json_output, quiet=quiet)
    console.print("[bold]ffml[/bold] · starting JAX and checking what to make …")
    from ffml.cli.comparing_view import watched
    from ffml.cli.values import parse_seeds
    from ffml.recipe.plain import to_json
    from ffml.research.reproduce import QUICK, Reproduction, Setting, duration
    from ffml.runtime import configure

    configure(devices=1)
    if jobs is not None and jobs < 1:
        raise FFMLError(f"--jobs must be >= 1, got {jobs}")
    given: dict[str, Any] = {
        "seeds": tuple(dict.fromkeys(parse_seeds(seeds))) if seeds is not None else None,
        "iterations": iterations,
        "tolerance": tolerance,
        "rounds": rounds,
    }
    given = {name: value for name, value in given.items() if value is not None}
    setting = replace(QUICK if quick else Setting(), protocol=protocol, **given)
    made = Reproduction(items or [], setting, out, kept)
    if list_items:
        _list(made, json_output)
        return
    made.compute(workers=jobs, backend=backend, watch=partial(watched, console))
    records = made.write(shlex.join(["ffml", *sys.argv[1:]]), time.perf_counter() - start)
    if json_output:
        typer.echo(to_json(records), nl=False)
    if setting.note:
        console.print(f"{setting.note[0].upper()}{setting.note[1:]}.", highlight=False)
    names = ", ".join(record["item"] for record in records)
    console.print(f"Made {names} in {duration(time.perf_counter() - start)}.", highlight=False)
    console.print(f"Page: [bold]{out / 'index.html'}[/bold]", soft_wrap=True)


def _list(made: "Reproduction", as_json: bool) -> None:
    """Print the items with the runs each needs."""
    from rich.console import Console
    from rich.table import Table

    from ffml.recipe.plain import to_json

    rows = [
        {"item": name, "what": item.title, "runs": len(item.cells(made.setting))}
        for name, item in made.items.items()
    ]
    if as_json:
        typer.echo(to_json(rows), nl=False)
        return
    table = Table(title="Items", title_justify="left", header_style="bold")
    for name in rows[0]:
        table.add_column(name, justify="right" if name == "runs" else "left")
    for row in rows:
        table.add_row(*(f"{v:,}" if isinstance(v, int) else str(v) for v in row.values()))
    console = Console()
    console.print(table)
    console.print(
        f"Items share runs: together they need {len(made.cells):,}. {_cost(made.setting)}",
        highlight=False,
        soft_wrap=True,
    )


def _cost(setting: "Setting") -> str:
    """Say what a run is."""
    steps = ", ".join(f"{k} {v:,}" for k, v in setting.document()["iterations"].items())
    return f"A run has so many iterations a round: {steps}."
