"""How figures look: panels of lines by round with bands, one legend, one colour a method."""

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pandas as pd

from ffml.report.pictures import isolated

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


class Look(NamedTuple):
    """How a line is drawn."""

    colour: str  # Okabe and Ito's palette, which most colour-blind people can tell apart
    dash: tuple[float, ...] = ()
    width: float = 1.3


LOOKS = {
    "FFML": Look("#d55e00", width=2.2),
    "m-FTML": Look("#0072b2"),
    "TWP": Look("#5b5f66", (1.5, 1.5)),
    "OGDLC": Look("#009e73", (5, 2)),
    "AdpOLC": Look("#b0558a", (6, 2, 1.5, 2)),
    "GenOLC": Look("#e69f00"),
    "without inner constraints": Look("#0072b2"),
    "without augmented term": Look("#009e73", (5, 2)),
    "without augmented term and outer constraints": Look("#5b5f66", (1.5, 1.5)),
    "|U| = 4": Look("#56b4e9", (1.5, 1.5)),
    "|U| = 8": Look("#009e73", (5, 2)),
    "|U| = 16": Look("#0072b2"),
    "|U| = 32": Look("#d55e00", width=2.2),
}
WARNING = "#a3320b"
_STYLE = {
    "font.size": 10,
    "svg.fonttype": "path",
    "svg.hashsalt": "ffml",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "#858b93",
    "axes.grid": True,
    "axes.grid.axis": "y",
    "axes.axisbelow": True,
    "grid.color": "#e9e7e1",
    "xtick.color": "#565d66",
    "ytick.color": "#565d66",
    "axes.titlesize": 11,
}


class Panel(NamedTuple):
    """Lines to draw: ``label``, ``round``, ``mean`` and ``standard_error``."""

    title: str
    ylabel: str
    lines: pd.DataFrame
    limits: tuple[float, float] | None = (0.0, 1.05)


def new_figure(
    rows: int, columns: int, title: str, note: str, height: float = 2.6
) -> tuple["Figure", np.ndarray]:
    """Start a figure whose title says what it is and, below, what was reduced."""
    import matplotlib.style
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    with matplotlib.style.context(["default", _STYLE]):
        said = "\n".join(textwrap.wrap(note, 130))
        heading = 0.4 + 0.19 * (said.count("\n") + 1 if said else 0)
        inch = 1 / (height * rows + heading + 0.3)
        layout = ConstrainedLayoutEngine(rect=(0, 0, 1, 1 - heading * inch))
        figure = Figure(figsize=(9.6, 1 / inch), layout=layout)
        axes = figure.subplots(rows, columns, squeeze=False)
        figure.text(0.01, 1 - 0.08 * inch, title, va="top", fontsize=12, weight="bold")
        figure.text(0.01, 1 - 0.33 * inch, said, va="top", fontsize=9, color=WARNING)
    return figure, axes


def draw_panels(panels: Sequence[Panel], columns: int, title: str, note: str) -> "Figure":
    """Draw panels row by row, with one legend for all."""
    import matplotlib.style

    rows = -(-len(panels) // columns)
    figure, axes = new_figure(rows, columns, title, note)
    with matplotlib.style.context(["default", _STYLE]):
        for i, (ax, panel) in enumerate(zip(axes.flat, panels, strict=True)):
            draw_lines(ax, panel)
            if i >= len(panels) - columns:
                ax.set_xlabel("round")
        legend(figure, [str(label) for label in panels[0].lines["label"].unique()])
    return figure


def draw_lines(ax: "Axes", panel: Panel) -> None:
    """Draw each label's mean with a band of one standard error to both sides."""
    from matplotlib.ticker import MaxNLocator

    for label, line in panel.lines.groupby("label", sort=False):
        look = LOOKS[str(label)]
        rounds, mean = line["round"].to_numpy(), line["mean"].to_numpy()
        error = line["standard_error"].to_numpy()
        above = 3 if label in ("FFML", "|U| = 32") else 2
        ax.fill_between(
            rounds, mean - error, mean + error, color=look.colour, alpha=0.15, lw=0, zorder=1
        )
        style = (0, look.dash) if look.dash else "-"
        ax.plot(rounds, mean, color=look.colour, ls=style, lw=look.width, zorder=above)
        alone = isolated(mean)
        ax.plot(rounds[alone], mean[alone], "o", color=look.colour, ms=3.5, mew=0, zorder=above)
    ax.set_title(panel.title, loc="left")
    ax.set_ylabel(panel.ylabel)
    if panel.limits:
        ax.set_ylim(*panel.limits)
    if panel.lines["mean"].isna().all():
        ax.text(0.5, 0.5, "undefined in every round", transform=ax.transAxes, ha="center")
    ax.xaxis.set_major_locator(MaxNLocator(8, integer=True, min_n_ticks=1, steps=[1, 2, 5, 10]))


def legend(figure: "Figure", labels: Sequence[str]) -> None:
    """Put the names of all lines below the panels."""
    from matplotlib.lines import Line2D

    handles = [
        Line2D([], [], color=look.colour, ls=(0, look.dash) if look.dash else "-", lw=look.width)
        for look in (LOOKS[label] for label in labels)
    ]
    figure.legend(
        handles, labels, loc="outside lower center", ncols=len(labels), frameon=False, fontsize=9.5
    )
