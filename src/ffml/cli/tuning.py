"""What ``ffml tune`` does and shows while it does it."""

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import typer
from rich.console import Console

from ffml.base import FFMLError
from ffml.cli.tuning_view import ChunkProgress, announce, show_best, verdict
from ffml.cli.values import parse_settings, parse_variant

if TYPE_CHECKING:
    from ffml.studies.tuning import Search

LISTS = ("notions", "max_gap", "model.hidden")  # whose values have parts, joined by +


class TuneOptions(NamedTuple):
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
    options: TuneOptions,
    *,
    chunk: int | None,
    backend: str | None,
    out: Path,
    quiet: bool,
    as_json: bool,
    command: str,
) -> None:
    """Compute what is missing and choose. Nothing is written before everything is checked."""
    console = Console(stderr=as_json, quiet=quiet)
    console.print(f"[bold]ffml[/bold] · starting JAX and loading [bold]{options.data}[/bold] …")
    from ffml.recipe.plain import to_json
    from ffml.runs.ownership import check_results
    from ffml.runtime import configure
    from ffml.studies.clusters import check_backend
    from ffml.studies.tuning import (
        ChunkStore,
        Rule,
        check_search,
        ranked,
        run_chunks,
        unfinished_chunks,
        write_search,
    )

    configure()  # before settings are checked, for which learners are built
    check_backend(backend)
    search = _search(options)
    store = ChunkStore(out / "chunks")
    check_results(out, store.folder)
    span = check_search(search)
    devices = None if backend is None else 1
    chunks = unfinished_chunks(search, store, span.schema, chunk, devices)
    announce(console, search, span, chunks)
    try:
        with ChunkProgress(console, chunks, span.last) as progress:
            run_chunks(chunks, store, backend=backend, progress=progress.show)
    except KeyboardInterrupt:
        console.print(
            f"interrupted; finished chunks are in {store.folder}. Go on with the same command.",
            soft_wrap=True,
        )
        raise typer.Exit(130) from None
    rule = Rule(*options.targets)
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

    >>> parse_grid(("inner.lr=0.1,1e+0", "max_gap=0.02,0.02+0.05", "dual_lr=null,1"))
    {'inner.lr': (0.1, 1.0), 'max_gap': ((0.02,), (0.02, 0.05)), 'dual_lr': (None, 1.0)}
    """
    axes: dict[str, tuple[Any, ...]] = {}
    for text in texts:
        name, equals, values = text.partition("=")
        name = name.strip().replace("-", "_")
        if not (equals and name and all(part.strip() for part in values.split(","))):
            raise FFMLError(f"--grid takes NAME=V1,V2,… such as inner.lr=0.1,0.3, got '{text}'")
        if name in axes:
            raise FFMLError(f"--grid has '{name}' twice; give all its values at once")
        parts = [part.strip() for part in values.split(",")]
        if name in LISTS:
            parts = [re.sub(r"(?<![eE])\+", ",", part) for part in parts]
        axes[name] = tuple(parse_settings([f"{name}={part}"])[name] for part in parts)
    return axes


def _search(options: TuneOptions) -> "Search":
    """Say what to try; refuses what cannot be tried."""
    from ffml.border import one_of
    from ffml.methods import METHODS
    from ffml.recipe.sources import is_table
    from ffml.studies.compare import known_kinds
    from ffml.studies.tuning import (
        SEEDS,
        SPACES,
        draw_settings,
        grid_settings,
        plan_search,
        space_axes,
    )
    from ffml.tables import open_table

    _, method, own = parse_variant(options.method)
    one_of("method", method, METHODS)
    common = options.given | dict(own)
    tried_by_hand = parse_grid(options.grid)
    named = options.space or (None if tried_by_hand else "default")
    preset = options.preset or (SPACES[named].preset if named in SPACES else "default")
    kinds = known_kinds(options.data, common | {"method": method}, preset)
    axes: dict[str, Any] = dict(space_axes(named, kinds)) if named else {}
    axes = {name: values for name, values in axes.items() if name not in common} | tried_by_hand
    draws = options.random or (SPACES[named].draws if named else None)
    return plan_search(
        options.data,
        draw_settings(axes, draws, kinds) if draws else grid_settings(axes),
        method=method,
        given=common,
        preset=preset,
        seeds=SEEDS if options.seeds is None else options.seeds,
        min_validation=options.min_validation,
        data_options=options.data_options,
        fingerprint=open_table(options.data).fingerprint() if is_table(options.data) else "",
    )
