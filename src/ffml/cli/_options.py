"""``ffml run``: its options, and what they say together."""

import re
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from ffml.base import FFMLError
from ffml.cli import _shared as shared
from ffml.cli._shared import HOW, OUTPUT, option

WHAT = "What is wanted"


def run(
    context: typer.Context,
    data: Annotated[str | None, shared.data_argument()] = None,
    notion: Annotated[
        list[str] | None,
        option(
            WHAT,
            "What must not differ between groups (see `ffml notions`); give it again for "
            "several. (default: demographic-parity)",
            metavar="NAME",
        ),
    ] = None,
    max_gap: Annotated[
        list[str] | None,
        option(
            WHAT,
            "By how much it may differ: 0.05 is 5 points; none asks for no fairness. One for all "
            "notions, or one for each. (default: 0.05)",
            metavar="GAP",
        ),
    ] = None,
    min_ratio: Annotated[
        list[str] | None,
        option(
            WHAT,
            "In place of --max-gap: what share of the higher rate of favourable decisions the "
            "lower one is at least. 0.8 is the four-fifths rule.",
            metavar="RATIO",
        ),
    ] = None,
    decide_with_groups: Annotated[
        bool | None,
        option(
            WHAT,
            "People's groups are known when they are decided about, and each group has a threshold "
            "of its own. Not lawful everywhere; without, no decision looks at a group.",
        ),
    ] = None,
    approve: shared.Approve = None,
    cost: shared.Cost = None,
    threshold: shared.Threshold = None,
    label: shared.Label = None,
    positive: shared.Positive = None,
    sensitive: shared.Sensitive = None,
    task: shared.TaskColumn = None,
    time: shared.Time = None,
    by: shared.By = None,
    drop: shared.Drop = None,
    query: shared.Query = None,
    method: Annotated[
        str | None,
        option(
            HOW,
            "How to learn; see `ffml methods`. (default: ffml-exact; with --preset paper: ffml)",
            metavar="NAME",
        ),
    ] = None,
    wrappers: Annotated[
        list[str] | None,
        option(
            HOW,
            "Add a correction to the method, such as evened; give it again for several. `none` "
            "takes away those of the preset.",
            "--with",
            metavar="WRAPPER",
        ),
    ] = None,
    preset: Annotated[
        str | None,
        option(
            HOW,
            "Named settings: default, or paper (as published, slow). (default: default)",
            metavar="NAME",
        ),
    ] = None,
    settings: shared.Settings = None,
    plugin: shared.Plugin = None,
    out: Annotated[
        str | None,
        option(
            OUTPUT,
            "Folder of the run, or postgresql://user@host/database?run=name. (default: "
            "runs/DATA-METHOD-SEED)",
            metavar="DIR",
        ),
    ] = None,
    overwrite: Annotated[
        bool, option(OUTPUT, "Replace the run in that folder.", "--overwrite")
    ] = False,
    keep_features: Annotated[
        bool,
        option(
            OUTPUT, "Keep everybody's features in the ledger, not ids alone.", "--keep-features"
        ),
    ] = False,
    config: Annotated[
        Path | None,
        option(
            OUTPUT,
            "Settings from a .toml or .json file, or from a run's config.json.",
            metavar="FILE",
        ),
    ] = None,
    resume: Annotated[
        str | None,
        option(OUTPUT, "Go on with the run in this folder, with its settings.", metavar="DIR"),
    ] = None,
    quiet: shared.Quiet = False,
    json_output: shared.Json = False,
) -> None:
    """Learn from one population after another, and write a report about the gaps between groups.

    [bold]Examples:[/bold] ffml run adult --max-gap 0.02

    ffml run loans.csv --label approved --positive yes --sensitive sex --time date --by month
    """
    from ffml.cli._run import resume_stream, run_stream

    if resume is not None:
        _refuse_settings(context)
        resume_stream(resume, data=data, quiet=quiet, as_json=json_output)
        return
    from ffml.cli.values import parse_bounds
    from ffml.recipe.configfile import Written, read_config
    from ffml.recipe.policy import policy_of
    from ffml.recipe.sources import find_data

    plugins = _plugins(plugin) if plugin or config else {}
    written = read_config(config) if config else Written()
    given, options = shared.split_options(
        settings,
        label=label,
        positive=positive,
        sensitive=sensitive,
        task=task,
        time=time,
        by=by,
        drop=drop,
        query=query,
    )
    found = find_data(data or written.data, {**written.data_options, **options})
    policy = policy_of({"approve": approve, "cost": cost, "threshold": threshold})
    own: dict[str, Any] = {"notions": notion, "method": method, "policy": policy}
    own["decide_with_groups"] = decide_with_groups
    for name, value in own.items():
        if value not in (None, []):
            given[name] = tuple(value) if isinstance(value, list) else value
    if plugins:
        given["plugins"] = {**written.settings.get("plugins", {}), **plugins}
    if max_gap:
        given["max_gap"] = parse_bounds("--max-gap", max_gap, "0.05")
    if min_ratio:
        given["min_ratio"] = parse_bounds("--min-ratio", min_ratio, "0.8")
    run_stream(
        found,
        written.settings,
        given,
        wrappers=wrappers or (),
        preset=preset or (None if written.is_run else "default"),
        out=out,
        overwrite=overwrite,
        keep_features=keep_features,
        quiet=quiet,
        as_json=json_output,
        command=_command(sys.argv[1:]),
    )


def _plugins(files: list[Path] | None) -> dict[str, str]:
    """Load plug-ins, here or next from a file: JAX is set up before they can touch it."""
    from ffml.cli._together import is_distributed
    from ffml.recipe.plugins import load_plugins
    from ffml.runtime import configure

    if not is_distributed():
        configure()
    return load_plugins(files or ())


def _command(words: Sequence[str]) -> str:
    """Return the command as typed, but for what addresses keep secret.

    >>> _command(["run", "loans.csv", "--out=postgresql://ann:secret@db/credit?run=loans"])
    "ffml run loans.csv '--out=postgresql://db/credit?run=loans'"
    """
    from ffml.border import public_address

    parts = (re.fullmatch("(--[a-z-]+=)?(.*)", word, re.DOTALL) for word in words)
    public = [(part[1] or "") + public_address(part[2]) for part in parts if part]
    return shlex.join(["ffml", *public])


def _refuse_settings(context: typer.Context) -> None:
    """A resumed run has its settings already."""
    named = {"wrappers": "with", "settings": "set", "max_gap": "max-gap", "min_ratio": "min-ratio"}
    allowed = {"data", "resume", "quiet", "json_output"}
    for name in (name for name in context.params if name not in allowed):
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            raise FFMLError(
                f"--resume goes on with the run's own settings; leave out --{named.get(name, name)}"
            )
