"""``ffml run``: its options, and what they say together."""

import re
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import typer

from ffml.base import FFMLError
from ffml.cli._options import Columns, Output, Policy

_BOUNDS = {"max_gap", "min_ratio"}  # one is asked for, not both


def run(
    context: typer.Context,
    data: str | None = None,
    notion: list[str] | None = None,
    max_gap: list[str] | None = None,
    min_ratio: list[str] | None = None,
    aim: list[str] | None = None,
    decide_with_groups: bool = False,
    *,
    policy: Policy,
    columns: Columns,
    query: str | None = None,
    method: str | None = None,
    wrappers: list[str] | None = None,
    preset: str | None = None,
    settings: list[str] | None = None,
    plugin: list[Path] | None = None,
    out: str | None = None,
    overwrite: bool = False,
    keep_features: bool = False,
    config: Path | None = None,
    resume: str | None = None,
    output: Output,
) -> None:
    """Learn from one population after another, within a bound on the gaps.

    A population may be a month, a town or a branch. A report about the gaps between groups is
    written when all of them have come.

    [bold]Examples:[/bold] ffml run adult --max-gap 0.02

    ffml run loans.csv --label approved --positive yes --sensitive sex --time date --by month

    What is asked:
        --notion NAME: What must not differ between groups (see `ffml notions`); give it again for
            several. (default: demographic-parity)
        --max-gap GAP: By how much it may differ: 0.05 is 5 points; none asks for no fairness. One
            for all notions, or one for each. (default: 0.05)
        --min-ratio RATIO: In place of --max-gap: what share of the higher rate of favourable
            decisions the lower one is at least. 0.8 is the four-fifths rule.
        --aim GAP: What to learn for, a little stricter than what is to be kept: 0.03 for a
            --max-gap of 0.05 (0.88 for a --min-ratio of 0.8), so that chance does not break it.
            (default: the bound itself)
        --decide-with-groups: People's groups are known when they are decided about, and each group
            has a threshold of its own. Not lawful everywhere; without, no decision looks at a
            group.

    How to learn:
        --method NAME: How to learn; see `ffml methods`. (default: ffml-exact; with --preset
            paper: ffml)
        --with WRAPPER: Add a correction to the method, such as evened; give it again for several.
            `none` takes away those of the preset.
        --preset NAME: Named settings: default, or paper (as published, slow). (default: default)
        --set NAME=VALUE: Any other setting, such as rounds=10, seed=1, model=mlp or
            data.order=month; give it again for several. `ffml methods NAME` lists them.

    Output:
        --out DIR: Folder of the run, or postgresql://user@host/database?run=name. (default:
            runs/DATA-METHOD-SEED)
        --overwrite: Replace the run in that folder.
        --keep-features: Keep everybody's features in the ledger, not ids alone.
        --config FILE: Settings from a .toml or .json file, or from a run's config.json.
        --resume DIR: Go on with the run in this folder, with its settings.
    """
    from ffml.cli._play import begin, resume_stream, run_stream

    if resume is not None:
        _refuse_settings(context)
        resume_stream(resume, data, output)
        return
    from ffml.cli.values import parse_bounds
    from ffml.recipe.configfile import Written, read_config
    from ffml.recipe.sources import find_data

    plugins = _plugins(plugin) if plugin or config else {}
    written = read_config(config) if config else Written()
    given, options = columns.split(settings, query)
    found = find_data(data or written.data, {**written.data_options, **options})
    own: dict[str, Any] = {
        "notions": tuple(notion or ()),
        "method": method,
        "policy": policy.asked(),
        "decide_with_groups": decide_with_groups,
        "plugins": plugins and {**written.settings.get("plugins", {}), **plugins},
    }
    given |= {name: value for name, value in own.items() if value}
    if max_gap:
        given["max_gap"] = parse_bounds("--max-gap", max_gap, "0.05")
    if min_ratio:
        given["min_ratio"] = parse_bounds("--min-ratio", min_ratio, "0.8")
    if aim:
        given["aim"] = parse_bounds("--aim", aim, "0.03")
    preset = preset or (None if written.is_run else "default")
    console, leads = begin(output, "loading", found.data)
    run_stream(
        console,
        leads,
        found,
        merged_settings(written.settings, given, wrappers or (), preset, found.data),
        preset,
        as_json=output.json_output,
        out=out,
        overwrite=overwrite,
        keep_features=keep_features,
        command=_command(sys.argv[1:]),
    )


def merged_settings(
    written: Mapping[str, Any],
    given: Mapping[str, Any],
    wrappers: Sequence[str],
    preset_name: str | None,
    data: str,
) -> dict[str, Any]:
    """Put a file's settings and those given together, and add wrappers.

    What a file says of parts and wrappers that are exchanged for others is left out.

    >>> file = {"inner": "primal-dual", "inner.lr": 0.1, "seed": 3}
    >>> merged_settings(file, {"inner": "gradient"}, ["evened"], None, "adult")
    {'seed': 3, 'inner': 'gradient', 'wrappers': ('evened',)}
    >>> file = {"max_gap": (0.05,), "aim": (0.02,)}
    >>> merged_settings(file, {"max_gap": (0.1,)}, [], None, "adult")
    {'max_gap': (0.1,)}
    """
    from ffml.cli.values import chosen_wrappers
    from ffml.recipe.presets import default_method, preset

    method = given.get("method", written.get("method", default_method(preset_name)))
    chosen = preset(preset_name, data, method) if preset_name else {}
    before = written.get("wrappers", chosen.get("wrappers", ()))
    now = chosen_wrappers(before, wrappers)
    gone = {part for part in written if given.get(part, written[part]) != written[part]}
    gone |= set(before) - set(now)
    gone |= {"policy"} & set(written) if "evened" in gone else set()
    gone |= (_BOUNDS | {"aim"}) - set(given) if _BOUNDS & set(given) else set()
    kept = {name: v for name, v in written.items() if not {name, name.partition(".")[0]} & gone}
    return kept | dict(given) | ({"wrappers": now} if now or before else {})


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
