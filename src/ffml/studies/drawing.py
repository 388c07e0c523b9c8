"""How all figures of studies look: panels under one heading, and the bytes of their files."""

import io
import textwrap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

STYLE: dict[str, Any] = {
    "font.size": 10,
    "svg.fonttype": "none",
    "svg.hashsalt": "ffml",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#e6e6e6",
    "legend.frameon": False,
}
# Okabe and Ito's palette, which colour-blind people can tell apart; shapes help the others.
RED, BLUE, GREEN, ORANGE, SKY = "#d55e00", "#0072b2", "#009e73", "#e69f00", "#56b4e9"
PURPLE, DARK, GREY = "#b0558a", "#5b5f66", "#9a9a9a"
_WARNING = "#a3320b"


class Look(NamedTuple):
    """How a line or a dot is drawn."""

    colour: str
    dash: str = "-"
    width: float = 1.3
    shape: str = "o"


OURS = Look(RED, width=2.2, shape="*")
_COLOURS = (BLUE, DARK, GREEN, PURPLE, ORANGE, SKY, "#000000", "#8a5a00")
_OTHERS = [Look(c, shape=shape) for c, shape in zip(_COLOURS, "os^vDPXh", strict=True)]


def looks(names: Sequence[str], ours: str = "ffml") -> dict[str, Look]:
    """Give every name a colour and a shape; ``ours`` always has the same.

    >>> looks(["twp", "ffml"])["ffml"] == OURS
    True
    """
    others = [name for name in names if name != ours]
    return {name: _OTHERS[i % len(_OTHERS)] for i, name in enumerate(others)} | {ours: OURS}


@contextmanager
def figure_style() -> Iterator[None]:
    """Draw in the package's style, whatever a user's own matplotlibrc says."""
    import matplotlib.style

    with matplotlib.style.context(["default", STYLE]):
        yield


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
    line: Any = {"color": look.colour, "zorder": above}
    axes.plot(places, mean, ls=look.dash, lw=look.width, label=name, **line)
    known = np.isfinite(np.concatenate([[np.nan], mean, [np.nan]]))
    alone = known[1:-1] & ~known[:-2] & ~known[2:]
    axes.plot(places[alone], mean[alone], "o", ms=3.5, mew=0, **line)


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


def picture_bytes(figure: "Figure", title: str = "", description: str = "") -> dict[str, bytes]:
    """Return a figure's bytes as SVG and PNG; equal figures give equal bytes.

    The title and the description are kept in the files' metadata.
    """
    texts = {"Title": title, "Description": description}
    about: Any = {name: text for name, text in texts.items() if text}
    pictures = {}
    for kind, date in (("svg", {"Date": None}), ("png", {})):
        buffer = io.BytesIO()
        figure.savefig(buffer, format=kind, dpi=150, metadata=about | date)
        pictures[kind] = buffer.getvalue()
    return pictures
