"""What a person sees of a study: a line a run, a progress bar, and tables."""

import math
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.progress import TimeElapsedColumn

from ffml.cli._live import bar_on
from ffml.cli._table import table
from ffml.report.numbers import counted

if TYPE_CHECKING:
    import pandas as pd

    from ffml.studies.jobs import Tell
    from ffml.studies.play import Work
    from ffml.studies.tuning import Search

SHORT = {  # what fits a narrow terminal, and its headings there; summary.md has all
    "typical gap": "gap",
    "long-run gap": "long-run",
    "DP / ceiling": "DP/ceil",
    "EO / ceiling": "EO/ceil",
    "DP, EO defined": "defined",
    "balanced accuracy": "bal.acc",
}
JOBS_SHOWN = 3  # of those being computed
SETTINGS_SHOWN = 10


@contextmanager
def watched(console: Console, work: "Work") -> Iterator["Tell"]:
    """Print one line a finished job, above a progress bar; Ctrl-C keeps what is finished."""
    if work.words:
        console.print(work.words, highlight=False, markup=False, soft_wrap=True)
    total, finished = work.total, work.total - work.left()
    running: dict[str, str] = {}  # stem -> what is said of it
    progress = bar_on(console, "runs", TimeElapsedColumn())
    bar = progress.add_task("starting", total=total, completed=finished)

    def tell(kind: str, job: Any, *details: Any) -> None:
        """Say what happened, see `ffml.studies.jobs.run_jobs`."""
        nonlocal finished
        if kind in ("started", "said"):
            at = f" {details[0]}/{details[1] or '?'}" if details else ""
            running[job.stem] = f"{job.name}{at}"
        else:
            running.pop(job.stem, None)
            finished += len(job.cells) if kind == "finished" else 0
            words = f"failed: {details[0]}" if kind == "failed" else f"{details[0]:,.0f} s"
            line = f"{finished:>5}/{total}  {job.name}  {words}"
            console.print(line, highlight=False, markup=False, soft_wrap=True)
        names = list(running.values())
        more = [f"{len(names) - JOBS_SHOWN} more"] if len(names) > JOBS_SHOWN else []
        shown = "; ".join(names[:JOBS_SHOWN] + more)
        progress.update(bar, description=shown, completed=finished)

    try:
        with progress:
            yield tell
    except KeyboardInterrupt:
        console.print(
            f"interrupted; {total - work.left()} of {total} runs are finished and kept in "
            f"{work.folder}. Go on with the same command.",
            soft_wrap=True,
        )
        raise typer.Exit(130) from None


def show_comparison(console: Console, summary: "pd.DataFrame") -> None:
    """Print one table for each data set."""
    from ffml.studies.compare import data_tables

    for one in data_tables(summary):
        lines = [dict(zip(one.header, line, strict=True)) for line in one.lines]
        rows = [
            {"method": line["method"]} | {s: _narrow(line[n]) for n, s in SHORT.items()}
            for line in lines
        ]
        console.print(table(rows, one.title, box=SIMPLE_HEAD, padding=0))


def _narrow(cell: str) -> str:
    """Write a cell in as few characters as can be read.

    >>> _narrow("0.912 ± 0.034"), _narrow("0.4 (0.0 to 2.1)"), _narrow("89, 31 of 89")
    ('.912±.034', '0.4 (0.0–2.1)', '89,31/89')
    """
    for wide, narrow in ((" ± ", "±"), (" to ", "–"), (", ", ","), (" of ", "/")):
        cell = cell.replace(wide, narrow)
    return re.sub(r"\b0(\.\d{3})", r"\1", cell)


def show_best(console: Console, search: "Search", tried: "pd.DataFrame") -> None:
    """Print the best settings in the rule's order; an empty line follows those that are as fair."""
    several = [n for n in search.names if len({str(s.get(n)) for s in search.settings}) > 1]
    names = several or search.names
    rows = []
    for number, row in tried.head(SETTINGS_SHOWN).iterrows():
        setting = search.settings[int(str(number)) - 1]
        gap = row["typical_gap"]
        rows.append(
            {name.replace("_", "_\n"): _word(setting.get(name)) for name in names}
            | {
                "gap": "–" if math.isnan(gap) else f"{100 * gap:.1f}",
                "DP/ceil": _mean(row, "dp_of_ceiling"),
                "EO/ceil": _mean(row, "eo_of_ceiling"),
                "defined": f"{row['dp_rounds']:.0f},{row['eo_rounds']:.0f}/{row['rounds']:.0f}",
                "bal.acc": _mean(row, "balanced_accuracy"),
                "collapsed": f"{100 * row['collapsed']:.1f} %",
            }
        )
    title = (
        f"\nBest {len(rows)} of {counted(len(tried), 'setting')} (mean ± standard error over "
        "seeds; gap: typical gap in points; defined: in how many judged rounds DP and EO were)"
    )
    as_fair = int(tried["as_fair"].sum())  # they come first
    caption = None
    if as_fair < len(rows):
        reached = tried["shortfall"].iloc[0] <= 0
        what = "those that reach both targets" if reached else "as fair as the fairest"
        caption = f"before the empty line: {what}"
    look = {"box": SIMPLE_HEAD, "padding": (0, 1, 0, 0), "caption_justify": "left"}
    ends = [as_fair - 1]
    console.print(table(rows, title, left=len(names), end_after=ends, caption=caption, **look))


def _word(value: Any) -> str:
    if isinstance(value, tuple):
        return "+".join(map(_word, value))
    return f"{value:g}" if isinstance(value, float) else str(value)


def _mean(row: "pd.Series", metric: str) -> str:
    mean, error = row[metric], row[f"{metric}_se"]
    if math.isnan(mean):
        return "–"
    return f"{mean:.3f}" + ("" if math.isnan(error) else f"±{error:.3f}".replace("±0.", "±."))


def choice_in_words(document: dict[str, Any]) -> str:
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
