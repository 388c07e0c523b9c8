"""``ffml tune``: many settings at once, one chosen on rounds and seeds that are not reported."""

import shlex
import sys
from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from ffml.base import FFMLError
from ffml.cli import _shared as shared
from ffml.cli._shared import OUTPUT, option

WHAT, HOW = "What to try", "How to choose"


def tune(
    data: Annotated[str, shared.data_argument(databases=False)],
    method: Annotated[
        str,
        option(
            WHAT,
            "Whose settings to try, with wrappers and settings of its own: 'ffml with=evened'; see "
            "`ffml methods`. (default: ffml)",
        ),
    ] = "ffml",
    space: Annotated[
        str | None,
        option(
            WHAT,
            "Values by name: default (a modest grid), or paper (its ranges). (default: default, or "
            "none with --grid)",
        ),
    ] = None,
    grid: Annotated[
        list[str] | None,
        option(
            WHAT,
            "Values of one setting, such as inner.lr=0.03,0.1,0.3; again for several: all "
            "combinations are tried. + joins what belongs together: max_gap=0.02+0.05,0.1+0.1",
            metavar="NAME=V1,V2,…",
        ),
    ] = None,
    random: Annotated[
        int | None,
        option(
            WHAT,
            "Try so many draws between the smallest and the greatest values instead.",
            metavar="N",
        ),
    ] = None,
    settings: Annotated[
        list[str] | None,
        option(
            WHAT,
            "One value for all, such as num_outer_steps=20, data.order=month, or rounds=30: the "
            "length T of the stream, of which rounds T/3 to 2T/3 judge.",
            "--set",
            metavar="NAME=VALUE",
        ),
    ] = None,
    preset: Annotated[
        str | None,
        option(WHAT, "Where other settings come from: default or paper. (default: the space's)"),
    ] = None,
    target_dp: Annotated[
        float, option(HOW, "DP/ceiling that a setting should reach. (default: 0.99)")
    ] = 0.99,
    target_eo: Annotated[
        float, option(HOW, "EO/ceiling that a setting should reach. (default: 0.97)")
    ] = 0.97,
    seeds: Annotated[
        str | None, option(HOW, "Such as 100-104; not those of tables, 0-99. (default: 100-104)")
    ] = None,
    min_validation: Annotated[
        int | None,
        option(HOW, "Rounds judged on fewer rows do not count. (default: 50; crime: 10)"),
    ] = None,
    label: shared.Label = None,
    positive: shared.Positive = None,
    sensitive: shared.Sensitive = None,
    task: shared.TaskColumn = None,
    drop: shared.Drop = None,
    plugin: shared.Plugin = None,
    chunk: Annotated[
        int | None,
        option(OUTPUT, "Settings computed at a time. (default: as many as fit in 1 GiB, up to 64)"),
    ] = None,
    backend: shared.Backend = None,
    out: Annotated[
        Path | None,
        option(OUTPUT, "Folder for results; finished ones are kept. (default: tune/DATA)"),
    ] = None,
    quiet: shared.Quiet = False,
    json_output: shared.Json = False,
) -> None:
    """Try many settings and choose one, on seeds and rounds that no table reports.

    [bold]Example:[/bold] ffml tune adult --grid max_gap=0,0.02,0.05 --grid inner.lr=0.03,0.1,0.3
    """
    for name, target in (("target-dp", target_dp), ("target-eo", target_eo)):
        if not 0 < target <= 1.2:  # above 1: to be safe on unlucky seeds
            raise FFMLError(f"--{name} must be above 0 and at most 1.2, got {target:g}")
    for name, least in (("chunk", chunk), ("min-validation", min_validation), ("random", random)):
        if least is not None and least < 1:
            raise FFMLError(f"--{name} must be >= 1, got {least}")
    console = Console(stderr=json_output, quiet=quiet)
    console.print(
        f"[bold]ffml[/bold] · starting JAX and loading [bold]{shared.shown(str(data))}[/bold] …"
    )
    from ffml.cli.comparing_view import watched
    from ffml.cli.tuning_view import show_best, verdict
    from ffml.cli.values import parse_grid, parse_seeds, parse_variant
    from ffml.recipe.plain import to_json
    from ffml.recipe.plugins import load_plugins
    from ffml.recipe.sources import find_table
    from ffml.runtime import configure
    from ffml.studies.tuning import Rule, plan_space, tune_settings

    configure()  # before settings are checked, for which learners are built
    plugins = load_plugins(plugin or ())
    given, roles = shared.split_options(
        settings, label=label, positive=positive, sensitive=sensitive, task=task, drop=drop
    )
    table, variant, rule = (
        find_table(data, roles),
        parse_variant(method),
        Rule(target_dp, target_eo),
    )
    out = out or Path("tune") / Path(table.data).stem
    search = plan_space(
        table.data,
        method=variant.method,
        given=given | dict(variant.settings),
        space=space,
        grid=parse_grid(grid or ()),
        random=random,
        preset=preset,
        seeds=None if seeds is None else parse_seeds(seeds),
        min_validation=min_validation,
        data_options=table.options,
        plugins=plugins,
    )
    tuned = tune_settings(
        search,
        rule,
        out,
        chunk=chunk,
        backend=backend,
        command=shlex.join(["ffml", *sys.argv[1:]]),
        watch=partial(watched, console),
    )
    if json_output:
        typer.echo(to_json(tuned.document), nl=False)
    show_best(console, search, tuned.table)
    console.print(verdict(tuned.document), highlight=False, soft_wrap=True)
    console.print(f"Rule: {rule}", highlight=False, soft_wrap=True)
    console.print(
        f"All settings: {out / 'settings.csv'}   (trade-off: {out / 'trade-off.svg'})\n"
        f"Run the chosen one: [bold]ffml run --config {out / 'chosen.json'}[/bold]",
        soft_wrap=True,
    )
