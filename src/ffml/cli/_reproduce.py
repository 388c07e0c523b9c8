"""``ffml reproduce``: the paper's tables and figures by name."""

import shlex
import sys
import time
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from ffml.cli._options import Output, refuse_below_one

if TYPE_CHECKING:
    from ffml.research.reproduce import Reproduction, Setting


def reproduce(
    items: list[str] | None = None,
    quick: bool = False,
    protocol: str = "paper",
    seeds: str | None = None,
    iterations: int | None = None,
    tolerance: float | None = None,
    rounds: int | None = None,
    jobs: int | None = None,
    backend: str | None = None,
    out: Path = Path("reproduce"),
    kept: Path | None = None,
    finished: bool = False,
    list_items: bool = False,
    *,
    output: Output,
) -> None:
    """Make the paper's tables and figures.

    What was stopped goes on where it was.

    [bold]Example:[/bold] ffml reproduce table2 figure5 --quick

    Arguments:
        items ITEM: Such as table2 or figure5; see --list. (default: all)

    How thoroughly (every output says what is less than in the paper):
        --quick: Few repeats, iterations and tasks: minutes instead of weeks.
        --protocol NAME: paper, or clean: no synthetic rows. (default: paper)
        --seeds SEEDS: Such as 0-4 or 0,1,2. (default: paper 0-9, clean 0-4, quick 0-1)
        --iterations N: Iterations a round, of all methods. (default: the preset's)
        --tolerance NUMBER: End a round of FFML or m-FTML once θ, λ and loss change by less than
            this part of themselves, such as 0.01. (default: never)
        --rounds N: The first so many tasks of a stream. (default: all)

    Output:
        --out DIR: Folder for everything; finished runs are kept. (default: reproduce)
        --kept DIR: Folder of finished runs as small text files, such as benchmarks/table2: they
            are taken from there, and new ones are added. (default: none)
        --finished: Compute nothing; show the runs that are finished, and say which are missing.
        --list: Name the items and the runs each needs, and stop.
    """
    start = time.perf_counter()
    refuse_below_one(jobs=jobs)
    console = output.console("checking what to make")
    from ffml.cli._studies import watched
    from ffml.cli.values import parse_seeds
    from ffml.recipe.plain import to_json
    from ffml.research.reproduce import QUICK, Reproduction, Setting, duration
    from ffml.runtime import configure

    configure(devices=1)
    given: dict[str, Any] = {
        "seeds": tuple(dict.fromkeys(parse_seeds(seeds))) if seeds is not None else None,
        "iterations": iterations,
        "tolerance": tolerance,
        "rounds": rounds,
    }
    given = {name: value for name, value in given.items() if value is not None}
    setting = replace(QUICK if quick else Setting(), protocol=protocol, **given)
    made = Reproduction(items or [], setting, out, kept, finished=finished)
    if list_items:
        _list(made, output.json_output)
        return
    made.compute(workers=jobs, backend=backend, watch=partial(watched, console))
    records = made.write(shlex.join(["ffml", *sys.argv[1:]]), time.perf_counter() - start)
    if output.json_output:
        typer.echo(to_json(records), nl=False)
    if setting.note:
        console.print(f"{setting.note[0].upper()}{setting.note[1:]}.", highlight=False)
    names = ", ".join(record["item"] for record in records)
    console.print(f"Made {names} in {duration(time.perf_counter() - start)}.", highlight=False)
    console.print(f"Page: [bold]{out / 'index.html'}[/bold]", soft_wrap=True)


def _list(made: "Reproduction", as_json: bool) -> None:
    """Print the items with the runs each needs."""
    from rich.console import Console

    from ffml.cli._table import table
    from ffml.recipe.plain import to_json

    rows = [
        {"item": name, "what": item.title, "runs": len(item.cells(made.setting))}
        for name, item in made.items.items()
    ]
    if as_json:
        typer.echo(to_json(rows), nl=False)
        return
    console = Console()
    console.print(table(rows, "Items", left=2))
    console.print(
        f"Items share runs: together they need {len(made.cells):,}. {_cost(made.setting)}",
        highlight=False,
        soft_wrap=True,
    )


def _cost(setting: "Setting") -> str:
    """Say what a run is."""
    steps = ", ".join(f"{k} {v:,}" for k, v in setting.document()["iterations"].items())
    return f"A run has so many iterations a round: {steps}."
