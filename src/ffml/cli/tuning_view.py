"""What a person sees of ``ffml tune``: a line a chunk, a progress bar, and the best settings."""

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

if TYPE_CHECKING:
    import pandas as pd

    from ffml.studies.tuning import Chunk, Search, Span

SHOWN = 10  # settings in the printed table


@contextmanager
def watched(
    console: Console, search: "Search", out: Path, span: "Span", chunks: list["Chunk"]
) -> Iterator[Callable[..., None]]:
    """Show how chunks are computed; Ctrl-C keeps what is finished."""
    announce(console, search, span, chunks)
    try:
        with ChunkProgress(console, chunks, span.last) as progress:
            yield progress.show
    except KeyboardInterrupt:
        console.print(
            f"interrupted; finished chunks are in {out / 'chunks'}. Go on with the same command.",
            soft_wrap=True,
        )
        raise typer.Exit(130) from None


def announce(console: Console, search: "Search", span: "Span", chunks: list["Chunk"]) -> None:
    """Say what is tried, how it is judged, and what is left to compute."""
    runs = len(search.settings) * len(search.seeds)
    left = sum(len(chunk.cells) for chunk in chunks)
    programs = len({chunk.program for chunk in chunks})
    kept = f", {runs - left} of {runs} runs finished already" if left < runs else ""
    console.print(
        f"{_count(len(search.settings), 'setting')} of [bold]{search.method}[/bold] "
        f"({', '.join(search.names)}) × {_count(len(search.seeds), 'seed')}{kept}; to compute: "
        f"{_count(len(chunks), 'chunk')} of {_count(programs, 'program')}\n"
        f"judged in rounds {span.first} to {span.last} of {span.rounds} with at least "
        f"{search.min_validation} validation rows, seeds {search.seed_words}; "
        "tables report later rounds and other seeds (of the same tasks)",
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
        if kind == "round":
            before = self.done * self.rounds
            self.progress.update(self.bar, completed=before + at - 1, description=chunk.name)
            return
        self.done += 1
        seconds, self.started = time.perf_counter() - self.started, time.perf_counter()
        self.console.print(
            f"{self.done:>5}/{self.total}  {chunk.name}  {seconds:,.0f} s",
            highlight=False,
            soft_wrap=True,
        )


def show_best(console: Console, search: "Search", table: "pd.DataFrame") -> None:
    """Print the best settings in the rule's order; an empty line follows those that are as fair."""
    shown = Table(
        title=f"\nBest {min(SHOWN, len(table))} of {_count(len(table), 'setting')} (mean ± "
        "standard error over seeds; gap: typical gap in points; defined: in how many judged rounds "
        "DP and EO were)",
        title_justify="left",
        title_style="bold",
        box=SIMPLE_HEAD,
        caption_justify="left",
        padding=(0, 1, 0, 0),
    )
    several = [n for n in search.names if len({str(s.get(n)) for s in search.settings}) > 1]
    for name in several or search.names:
        shown.add_column(name.replace("_", "_\n"), justify="right", overflow="fold")
    for name in ("gap", "DP/ceil", "EO/ceil", "defined", "bal.acc", "collapsed"):
        shown.add_column(name, justify="right", no_wrap=True)
    as_fair = int(table["as_fair"].sum())  # they come first
    for position, (number, row) in enumerate(table.head(SHOWN).iterrows(), 1):
        setting = search.settings[int(str(number)) - 1]
        shown.add_row(
            *(_word(setting.get(name)) for name in several or search.names),
            "–" if math.isnan(row["typical_gap"]) else f"{100 * row['typical_gap']:.1f}",
            *(_mean(row, metric) for metric in ("dp_of_ceiling", "eo_of_ceiling")),
            f"{row['dp_rounds']:.0f},{row['eo_rounds']:.0f}/{row['rounds']:.0f}",
            _mean(row, "balanced_accuracy"),
            f"{100 * row['collapsed']:.1f} %",
            end_section=position == as_fair,
        )
    if as_fair < min(SHOWN, len(table)):
        reached = table["shortfall"].iloc[0] <= 0
        what = "those that reach both targets" if reached else "as fair as the fairest"
        shown.caption = f"before the empty line: {what}"
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


def verdict(document: dict[str, Any]) -> str:
    """Say in words what was chosen, and whether it reaches the targets."""
    how = document["how"]
    chosen = ", ".join(f"{name} {_word(value)}" for name, value in document["settings"].items())
    reached, tried = how["settings_that_reach_the_targets"], how["settings_tried"]
    reach = f"{reached} of {tried}" if reached else f"None of the {tried}"
    as_fair = how["settings_as_fair_as_the_fairest"]
    why = f"the most accurate of {as_fair} that are as fair" if as_fair > 1 else "the fairest"
    return (
        f"Chosen: {chosen}. {reach} settings reach DP/ceiling "
        f"{how['targets']['dp_of_ceiling']:g} and EO/ceiling {how['targets']['eo_of_ceiling']:g}; "
        f"this is {why}."
    )
