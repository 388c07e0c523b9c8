"""``ffml tune``: many settings at once, one chosen on rounds and seeds that are not reported."""

import shlex
import sys
from functools import partial
from pathlib import Path

import typer

from ffml.base import FFMLError
from ffml.cli._options import Columns, Output, refuse_below_one


def tune(
    data: str,
    method: str = "ffml",
    space: str | None = None,
    grid: list[str] | None = None,
    random: int | None = None,
    settings: list[str] | None = None,
    preset: str | None = None,
    target_dp: float = 0.99,
    target_eo: float = 0.97,
    seeds: str | None = None,
    min_validation: int | None = None,
    *,
    columns: Columns,
    plugin: list[Path] | None = None,
    chunk: int | None = None,
    backend: str | None = None,
    out: Path | None = None,
    output: Output,
) -> None:
    """Try many settings, and choose one.

    They are tried on seeds and rounds that no table reports.

    [bold]Example:[/bold] ffml tune adult --grid max_gap=0,0.02,0.05 --grid inner.lr=0.03,0.1,0.3

    Arguments:
        data: A data set (see `ffml datasets`), a table (.csv, .parquet, a folder of them).

    What to try:
        --method NAME: Whose settings to try, with wrappers and settings of its own: 'ffml
            with=evened'; see `ffml methods`. (default: ffml)
        --space NAME: Values by name: default (a modest grid), or paper (its ranges). (default:
            default, or none with --grid)
        --grid NAME=V1,V2,…: Values of one setting, such as inner.lr=0.03,0.1,0.3; again for
            several: all combinations are tried. + joins what belongs together:
            max_gap=0.02+0.05,0.1+0.1
        --random N: Try so many draws between the smallest and the greatest values instead.
        --set NAME=VALUE: One value for all, such as num_outer_steps=20, data.order=month, or
            rounds=30: the length T of the stream, of which rounds T/3 to 2T/3 judge.
        --preset NAME: Where other settings come from: default or paper. (default: the space's)

    How to choose:
        --target-dp NUMBER: DP/ceiling that a setting should reach. (default: 0.99)
        --target-eo NUMBER: EO/ceiling that a setting should reach. (default: 0.97)
        --seeds SEEDS: Such as 100-104; not those of tables, 0-99. (default: 100-104)
        --min-validation N: Rounds judged on fewer rows do not count. (default: 50; crime: 10)

    Output:
        --chunk N: Settings computed at a time. (default: as many as fit in 1 GiB, up to 64)
        --out DIR: Folder for results; finished ones are kept. (default: tune/DATA)
    """
    for name, target in (("target-dp", target_dp), ("target-eo", target_eo)):
        if not 0 < target <= 1.2:  # above 1: to be safe on unlucky seeds
            raise FFMLError(f"--{name} must be above 0 and at most 1.2, got {target:g}")
    refuse_below_one(chunk=chunk, min_validation=min_validation, random=random)
    console = output.console("loading", data)
    from ffml.cli._studies import choice_in_words, show_best, watched
    from ffml.cli.values import parse_grid, parse_seeds, parse_variant
    from ffml.recipe.plain import to_json
    from ffml.recipe.plugins import load_plugins
    from ffml.recipe.sources import find_table
    from ffml.runtime import configure
    from ffml.studies.tuning import Rule, plan_space, tune_settings

    configure()  # before settings are checked, for which learners are built
    plugins = load_plugins(plugin or ())
    given, roles = columns.split(settings)
    table, variant = find_table(data, roles), parse_variant(method)
    rule = Rule(target_dp, target_eo)
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
    if output.json_output:
        typer.echo(to_json(tuned.document), nl=False)
    show_best(console, search, tuned.table)
    console.print(choice_in_words(tuned.document), highlight=False, soft_wrap=True)
    console.print(f"Rule: {rule}", highlight=False, soft_wrap=True)
    console.print(
        f"All settings: {out / 'settings.csv'}   (trade-off: {out / 'trade-off.svg'})\n"
        f"Run the chosen one: [bold]ffml run --config {out / 'chosen.json'}[/bold]",
        soft_wrap=True,
    )
