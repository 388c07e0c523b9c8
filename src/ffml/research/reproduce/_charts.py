"""Panels of lines by round, in the colours of the paper's methods and variants."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import pandas as pd

from ffml.studies.figures import (
    BLUE,
    DARK,
    DASH_DOTTED,
    DASHED,
    DOTTED,
    GREEN,
    ORANGE,
    OURS,
    PURPLE,
    SKY,
    Look,
    draw_line,
    legend,
    panels,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH, HEIGHT = 9.6, 2.6  # of a figure, and of one of its rows, in inches
LOOKS = {
    "FFML": OURS,
    "m-FTML": Look(BLUE),
    "TWP": Look(DARK, DOTTED),
    "OGDLC": Look(GREEN, DASHED),
    "AdpOLC": Look(PURPLE, DASH_DOTTED),
    "GenOLC": Look(ORANGE),
    "without inner constraints": Look(BLUE),
    "without augmented term": Look(GREEN, DASHED),
    "without augmented term and outer constraints": Look(DARK, DOTTED),
    "|U| = 4": Look(SKY, DOTTED),
    "|U| = 8": Look(GREEN, DASHED),
    "|U| = 16": Look(BLUE),
    "|U| = 32": OURS,
}


class Panel(NamedTuple):
    """Lines to draw: ``label``, ``round``, ``mean`` and ``standard_error``."""

    title: str
    ylabel: str
    lines: pd.DataFrame
    limits: tuple[float, float] = (0.0, 1.05)


def draw_panels(given: Sequence[Panel], columns: int, title: str, note: str) -> "Figure":
    """Draw panels row by row, with one legend for all."""
    rows = -(-len(given) // columns)
    with panels(rows, columns, (WIDTH, HEIGHT * rows + 0.3), title, note) as (figure, axes):
        for panel, one in zip(given, axes.flat, strict=True):
            draw_panel(one, panel)
        for one in axes[-1]:
            one.set_xlabel("round")
        legend(figure)
        return figure


def draw_panel(axes: "Axes", panel: Panel) -> None:
    """Draw each label's mean with a band of one standard error to both sides."""
    from matplotlib.ticker import MaxNLocator

    for label, line in panel.lines.groupby("label", sort=False):
        rounds, mean, error = line[["round", "mean", "standard_error"]].to_numpy(float).T
        draw_line(axes, rounds, mean, error, LOOKS[str(label)], str(label))
    axes.set_title(panel.title, loc="left")
    axes.set_ylabel(panel.ylabel)
    axes.set_ylim(*panel.limits)
    if panel.lines["mean"].isna().all():
        axes.text(0.5, 0.5, "undefined in every round", transform=axes.transAxes, ha="center")
    axes.xaxis.set_major_locator(MaxNLocator(8, integer=True, min_n_ticks=1, steps=[1, 2, 5, 10]))
