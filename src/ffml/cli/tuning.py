"""What ``ffml tune`` does and shows while it does it."""

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import typer
from rich.console import Console

from ffml.base import FFMLError
from ffml.cli.tuning_view import ChunkProgress, announce, show_best, verdict
from ffml.cli.values import parse_settings

if TYPE_CHECKING:
    from ffml.tuning import Search

LISTS = ("constraints", "bounds", "hidden")  # whose values have parts, joined by +


class Wanted(NamedTuple):
    """What the options say together."""

    data: str
    data_options: dict[str, Any]
    method: str
    space: str | None
    grid: tuple[str, ...]
    random: int | None
    given: dict[str, Any]
    preset: str | None
    targets: tuple[float, float]
    seeds: list[int] | None
    min_validation: int | None


def tune_settings(
    wanted: Wanted,
    *,
    chunk: int | None,
    out: Path,
    data_home: Path | None,
    quiet: bool,
    as_json: bool,
    command: str,
) -> None:
    """Compute what is missing and choose. Nothing is written before everything is checked."""
    console = Console(stderr=as_json, quiet=quiet)
    console.print(f"[bold]ffml[/bold] · starting JAX and loading [bold]{wanted.data}[/bold] …")
    from ffml.runs.directory import check_writable
    from ffml.runs.files import to_json
    from ffml.runtime import configure
    from ffml.tuning import (
        ChunkStore,
        Rule,
        check_search,
        ranked,
        run_chunks,
        unfinished_chunks,
        write_search,
    )

    configure()  # before settings are checked, for which learners are built
    search = _search(wanted)
    check_writable(out, overwrite=True)
    span = check_search(search, data_home)
    store = ChunkStore(out / "chunks")
    chunks = unfinished_chunks(search, store, span.schema, chunk)
    announce(console, search, span, chunks)
    try:
        with ChunkProgress(console, chunks, span.last) as progress:
            run_chunks(chunks, store, data_home=data_home, progress=progress.show)
    except KeyboardInterrupt:
        console.print(
            f"interrupted; finished chunks are in {store.folder}. Go on with the same command.",
            soft_wrap=True,
        )
        raise typer.Exit(130) from None
    rule = Rule(*wanted.targets)
    table = ranked(store.load(search.cells), rule)
    facts = {"command": command, "seconds": store.seconds(search.cells)}
    document = write_search(out, search, span, table, rule, facts)
    if as_json:
        typer.echo(to_json(document), nl=False)
    show_best(console, search, table)
    console.print(verdict(document), highlight=False, soft_wrap=True)
    console.print(f"Rule: {rule}", highlight=False, soft_wrap=True)
    console.print(
        f"All settings: {out / 'settings.csv'}   (trade-off: {out / 'trade-off.svg'})\n"
        f"Run the chosen one: [bold]ffml run --config {out / 'chosen.json'}[/bold]",
        soft_wrap=True,
    )


def parse_grid(texts: tuple[str, ...]) -> dict[str, tuple[Any, ...]]:
    """Read ``name=v1,v2,…``; parts of one value are joined by +.

    >>> parse_grid(("inner_lr=0.1,1e+0", "bounds=0.02,0.02+0.05", "dual_lr=null,1"))
    {'inner_lr': (0.1, 1.0), 'bounds': ((0.02,), (0.02, 0.05)), 'dual_lr': (None, 1.0)}
    """
    axes: dict[str, tuple[Any, ...]] = {}
    for text in texts:
        name, equals, values = text.partition("=")
        name = name.strip().replace("-", "_")
        if not (equals and name and all(part.strip() for part in values.split(","))):
            raise FFMLError(f"--grid takes NAME=V1,V2,… such as inner_lr=0.1,0.3, got '{text}'")
        if name in axes:
            raise FFMLError(f"--grid has '{name}' twice; give all its values at once")
        parts = [part.strip() for part in values.split(",")]
        if name in LISTS:
            parts = [re.sub(r"(?<![eE])\+", ",", part) for part in parts]
        axes[name] = tuple(parse_settings([f"{name}={part}"])[name] for part in parts)
    return axes


def _search(wanted: Wanted) -> "Search":
    """Say what to try; refuses what cannot be tried."""
    from ffml.checks import one_of
    from ffml.methods import METHODS
    from ffml.sources import is_table
    from ffml.tables import open_table
    from ffml.tuning import SEEDS, SPACES, draw_settings, grid_settings, plan_search, space_axes

    one_of("method", wanted.method, METHODS)
    given = parse_grid(wanted.grid)
    named = wanted.space or (None if given else "default")
    axes: dict[str, Any] = dict(space_axes(named, wanted.method)) if named else {}
    axes = {name: values for name, values in axes.items() if name not in wanted.given} | given
    draws = wanted.random or (SPACES[named].draws if named else None)
    tried = (
        draw_settings(axes, draws, wanted.method) if draws else grid_settings(axes, wanted.method)
    )
    return plan_search(
        wanted.data,
        tried,
        method=wanted.method,
        given=wanted.given,
        preset=wanted.preset or (SPACES[named].preset if named else "default"),
        seeds=SEEDS if wanted.seeds is None else wanted.seeds,
        min_validation=wanted.min_validation,
        data_options=wanted.data_options,
        fingerprint=open_table(wanted.data).fingerprint() if is_table(wanted.data) else "",
    )
