"""What a person sees of ``ffml tune`` in the end: the best settings, and the choice in words."""

import math
from typing import TYPE_CHECKING, Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from ffml.report.numbers import counted

if TYPE_CHECKING:
    import pandas as pd

    from ffml.studies.tuning import Search

SHOWN = 10  # settings in the printed table


def show_best(console: Console, search: "Search", table: "pd.DataFrame") -> None:
    """Print the best settings in the rule's order; an empty line follows those that are as fair."""
    shown = Table(
        title=f"\nBest {min(SHOWN, len(table))} of {counted(len(table), 'setting')} (mean ± "
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
