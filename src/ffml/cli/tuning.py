"""What ``ffml tune`` does and shows while it does it."""

import math
import re
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from ffml.base import FFMLError
from ffml.cli.values import parse_settings

if TYPE_CHECKING:
    import pandas as pd

    from ffml.tuning import Chunk, Search, Span

SHOWN = 10  # settings in the printed table
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
    start = time.perf_counter()
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
        summarise_settings,
        unfinished_chunks,
        write_search,
    )

    search = _search(wanted)
    check_writable(out, overwrite=True)
    configure()
    span = check_search(search, data_home)
    store = ChunkStore(out / "chunks")
    chunks = unfinished_chunks(search, store, span.schema, chunk)
    _announce(console, search, span, chunks)
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
    table = ranked(summarise_settings(store.load(search.cells)), rule)
    facts = {"command": command, "seconds": time.perf_counter() - start}
    document = write_search(out, search, span, table, rule, facts)
    if as_json:
        typer.echo(to_json(document), nl=False)
    _show(console, search, table)
    console.print(_verdict(document), highlight=False, soft_wrap=True)
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


def _announce(console: Console, search: "Search", span: "Span", chunks: list["Chunk"]) -> None:
    runs = len(search.settings) * len(search.seeds)
    left = sum(len(chunk.cells) for chunk in chunks)
    programs = len({chunk.program for chunk in chunks})
    kept = f", {runs - left} of {runs} runs finished already" if left < runs else ""
    console.print(
        f"{_count(len(search.settings), 'setting')} of [bold]{search.method}[/bold] "
        f"({', '.join(search.names)}) × {_count(len(search.seeds), 'seed')}{kept}; to compute: "
        f"{_count(len(chunks), 'chunk')} of {_count(programs, 'program')}\n"
        f"judged in rounds {span.first} to {span.last} of {span.rounds} with at least "
        f"{search.min_validation} validation rows, seeds "
        f"{', '.join(map(str, search.seeds))}; tables report later rounds and other seeds",
        highlight=False,
        soft_wrap=True,
    )


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


class ChunkProgress:
    """Prints one line a finished chunk above a progress bar; on a pipe, the lines alone."""

    def __init__(self, console: Console, chunks: list["Chunk"], rounds: int) -> None:
        self.console = console
        self.total, self.rounds = len(chunks), rounds
        self.done = 0
        self.started = time.perf_counter()
        self.progress = Progress(
            BarColumn(bar_width=20),
            MofNCompleteColumn(),
            TextColumn("rounds · {task.description} ·"),
            TimeRemainingColumn(),
            TextColumn("left"),
            console=console,
            transient=True,
            disable=console.quiet or not console.is_terminal or not chunks,
        )

    def __enter__(self) -> "ChunkProgress":
        self.progress.start()
        self.bar = self.progress.add_task("compiling", total=self.total * self.rounds)
        return self

    def __exit__(self, *error: object) -> None:
        self.progress.stop()

    def show(self, kind: str, chunk: "Chunk", at: int) -> None:
        """Say what happened."""
        of_chunk = f"seed {chunk.seed}, {_count(len(chunk.cells), 'setting')} at once"
        if kind == "round":
            before = self.done * self.rounds
            self.progress.update(self.bar, completed=before + at - 1, description=of_chunk)
            return
        self.done += 1
        seconds, self.started = time.perf_counter() - self.started, time.perf_counter()
        self.console.print(
            f"{self.done:>5}/{self.total}  {of_chunk}  {seconds:,.0f} s",
            highlight=False,
            soft_wrap=True,
        )


def _show(console: Console, search: "Search", table: "pd.DataFrame") -> None:
    """Print the best settings, in the rule's order."""
    shown = Table(
        title=f"\nBest {min(SHOWN, len(table))} of {_count(len(table), 'setting')} (mean ± "
        "standard error over seeds)",
        title_justify="left",
        title_style="bold",
        box=SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
    )
    several = [n for n in search.names if len({str(s.get(n)) for s in search.settings}) > 1]
    for name in several or search.names:
        shown.add_column(name, justify="right", overflow="fold")
    for name in ("DP/ceil", "EO/ceil", "bal.acc", "collapsed"):
        shown.add_column(name, justify="right", no_wrap=True)
    for number, row in table.head(SHOWN).iterrows():
        setting = search.settings[int(str(number)) - 1]
        shown.add_row(
            *(_word(setting.get(name)) for name in several or search.names),
            *(_mean(row, m) for m in ("dp_of_ceiling", "eo_of_ceiling", "balanced_accuracy")),
            f"{100 * row['collapsed']:.1f} %",
        )
    console.print(shown)


def _word(value: Any) -> str:
    if isinstance(value, tuple):
        return "+".join(map(_word, value))
    return f"{value:g}" if isinstance(value, float) else str(value)


def _mean(row: "pd.Series", metric: str) -> str:
    mean, error = row[metric], row[f"{metric}_se"]
    if math.isnan(mean):
        return "–"
    return f"{mean:.3f}" + ("" if math.isnan(error) else f"±{error:.3f}".replace("±0.", "±."))


def _verdict(document: dict[str, Any]) -> str:
    how = document["how"]
    chosen = ", ".join(f"{name} {_word(value)}" for name, value in document["settings"].items())
    reached, tried = how["settings_that_reach_the_targets"], how["settings_tried"]
    reach = f"{reached} of {tried}" if reached else f"None of the {tried}"
    return (
        f"Chosen: {chosen}. {reach} settings reach DP/ceiling "
        f"{how['targets']['dp_of_ceiling']:g} and EO/ceiling {how['targets']['eo_of_ceiling']:g}."
    )
