"""``ffml compare``: methods × data sets × seeds, in parallel and resumable."""

import shlex
import sys
from functools import partial
from pathlib import Path
from typing import Any

import typer

from ffml.cli._options import Columns, Output, refuse_below_one


def compare(
    data: list[str] | None = None,
    method: list[str] | None = None,
    settings: list[str] | None = None,
    preset: str | None = None,
    tune: int | None = None,
    protocol: str = "clean",
    seeds: list[str] | None = None,
    validation: list[float] | None = None,
    rounds: int | None = None,
    *,
    columns: Columns,
    plugin: list[Path] | None = None,
    jobs: int | None = None,
    backend: str | None = None,
    out: Path = Path("compare"),
    output: Output,
) -> None:
    """Compare methods over data sets and seeds.

    A comparison that was stopped goes on where it was.

    [bold]Example:[/bold] ffml compare --data adult --method ffml --method fairlearn-dp --seeds 0-4

    What to compare:
        --data DATA: Data set or table; give it again for several. (default: adult, bank, crime)
        --method NAME: Method; give it again for several. Wrappers and settings of its own may
            follow: 'ffml with=corrected,evened max_gap=0.1'. (default: all, see `ffml methods`)
        --set NAME=VALUE: A setting for all methods that have it, such as num_outer_steps=20 or
            data.order=month; see `ffml methods NAME`.
        --preset NAME: Named settings: default or paper. (default: the protocol's)
        --tune N: Choose the settings of each method and data set first: the best of N, of which
            one is as given and the others are drawn, on seeds and rounds that are not reported;
            see `ffml tune`. (default: those given)

    How to measure:
        --protocol NAME: clean, or paper: rotated rows, 90 % and 30 % validation. (default: clean)
        --seeds SEEDS: Such as 0-4 or 0,1,2; again with crime=0-9 for other seeds there. (default:
            0-4; paper: 0-9)
        --validation SHARE: Part of a task that judges; again for several. (default: the protocol's)
        --rounds N: Stop after so many tasks. (default: all)

    Output:
        --out DIR: Folder for results; finished ones are kept. (default: compare)
    """
    refuse_below_one(jobs=jobs, tune=tune)
    console = output.console("checking what to compare")
    from ffml.cli._studies import show_comparison, watched
    from ffml.cli.values import parse_seeds_of_data, parse_variant
    from ffml.recipe.plain import to_json
    from ffml.recipe.plugins import load_plugins
    from ffml.runtime import configure
    from ffml.studies.budget import chosen_by_search
    from ffml.studies.compare import compare_methods, plan_on_tables
    from ffml.studies.jobs import check_backend

    configure(devices=1)
    plugins = load_plugins(plugin or ())
    given, roles = columns.split(settings)
    if rounds is not None:
        given["rounds"] = rounds
    for_all, for_some = parse_seeds_of_data(seeds or ())
    wanted: dict[str, Any] = {
        "protocol": protocol,
        "seeds": for_all,
        "validation": validation,
        "preset": preset,
        "settings": given,
        "methods": [parse_variant(text) for text in method] if method else None,
        "plugins": plugins,
    }
    wanted = {name: value for name, value in wanted.items() if value is not None}
    watch, command = partial(watched, console), shlex.join(["ffml", *sys.argv[1:]])
    if tune is not None:
        check_backend(backend, jobs)
        wanted["choose"] = chosen_by_search(
            tune, out, backend=backend, command=command, watch=watch
        )

    plan = plan_on_tables(data, roles, for_some, **wanted)
    compared = compare_methods(plan, out, jobs=jobs, backend=backend, command=command, watch=watch)
    if output.json_output:
        typer.echo(to_json(compared.document), nl=False)
    show_comparison(console, compared.summary)
    console.print(compared.document["measured"], highlight=False)
    console.print(
        f"Tables: [bold]{out / 'summary.md'}[/bold]   (all rounds: {out / 'results.csv'})",
        soft_wrap=True,
    )
