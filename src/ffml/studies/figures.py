"""How figures of studies look: panels under one heading, with one legend below them."""

import textwrap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ffml.studies.pictures import figure_style, isolated

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito's palette, which colour-blind people can tell apart; shapes help the others.
RED, BLUE, GREEN, ORANGE, SKY = "#d55e00", "#0072b2", "#009e73", "#e69f00", "#56b4e9"
PURPLE, DARK, GREY = "#b0558a", "#5b5f66", "#9a9a9a"
DOTTED, DASHED, DASH_DOTTED = (1.5, 1.5), (5.0, 2.0), (6.0, 2.0, 1.5, 2.0)
_WARNING = "#a3320b"


class Look(NamedTuple):
    """How a line or a dot is drawn."""

    colour: str
    dash: tuple[float, ...] = ()
    width: float = 1.3
    shape: str = "o"


OURS = Look(RED, width=2.2, shape="*")
_OTHERS = tuple(
    Look(colour, shape=shape)
    for colour, shape in zip(
        (BLUE, DARK, GREEN, PURPLE, ORANGE, SKY, "#000000", "#8a5a00"), "os^vDPXh", strict=True
    )
)


def looks(names: Sequence[str], ours: str = "ffml") -> dict[str, Look]:
    """Give every name a colour and a shape; ``ours`` always has the same.

    >>> looks(["twp", "ffml"])["ffml"] == OURS
    True
    """
    others = [name for name in names if name != ours]
    return {name: _OTHERS[i % len(_OTHERS)] for i, name in enumerate(others)} | {ours: OURS}


@contextmanager
def panels(
    rows: int, columns: int, size: tuple[float, float], title: str = "", note: str = "", **more: Any
) -> Iterator[tuple["Figure", Any]]:
    """Draw panels in the package's style; ``size`` is in inches, without the heading.

    The heading is a title and a warning below it. ``more`` is for matplotlib's ``subplots``.
    """
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    lines = textwrap.wrap(note, 130)
    heading = (0.4 if title else 0.0) + 0.19 * len(lines)
    width, height = size[0], size[1] + heading
    with figure_style():
        layout = ConstrainedLayoutEngine(rect=(0, 0, 1, 1 - heading / height))
        figure = Figure(figsize=(width, height), layout=layout)
        top: dict[str, Any] = {"va": "top", "x": 0.01}
        figure.text(y=1 - 0.08 / height, s=title, fontsize=12, weight="bold", **top)
        figure.text(y=1 - 0.33 / height, s="\n".join(lines), fontsize=9, color=_WARNING, **top)
        yield figure, figure.subplots(rows, columns, squeeze=False, **more)


def draw_line(
    axes: "Axes", places: np.ndarray, mean: np.ndarray, error: np.ndarray, look: Look, name: str
) -> None:
    """Draw a line with a band to both sides; a value without neighbours is a dot."""
    above = 3 if look.width > 2 else 2
    axes.fill_between(
        places, mean - error, mean + error, color=look.colour, alpha=0.15, lw=0, zorder=1
    )
    style: Any = (0, look.dash) if look.dash else "-"
    axes.plot(places, mean, color=look.colour, ls=style, lw=look.width, zorder=above, label=name)
    alone = isolated(mean)
    axes.plot(places[alone], mean[alone], "o", color=look.colour, ms=3.5, mew=0, zorder=above)


def legend(figure: "Figure", columns: int | None = None) -> None:
    """Name all lines and dots below the panels, each once."""
    handles: dict[str, Any] = {}
    for axes in figure.axes:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            handles.setdefault(label, handle)
    figure.legend(
        handles=list(handles.values()),
        labels=list(handles),
        loc="outside lower center",
        ncols=columns or len(handles),
        fontsize=9,
    )
