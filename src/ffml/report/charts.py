"""Draw one chart as inline SVG.

Colours are drawn with place-holders that become CSS variables, so that a chart follows the
page's light or dark scheme. Of the user's texts, the names of tasks enter a chart, shortened; those
of lines stand in the HTML legend.
"""

import re
import warnings
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ffml.report.pictures import STYLE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

NUM_COLOURS = 7  # Okabe and Ito's palette without its yellow; the values are in the style sheet
DASHES = ((), (5, 2), (1.5, 1.5), (6, 2, 1.5, 2))
_MOST_NAMES, _LONGEST_NAME = 7, 14  # on the axis
_MAX_ROOMY = 120  # more rounds than this: thinner lines, and no dots that would hide them
_SIZE = (5.0, 2.7)  # in inches
MOST_PLACES = 400  # of more rounds than this, neighbours are drawn as their mean

# Hexadecimal place-holders that no style of matplotlib uses.
_COLOURS = {f"c{i + 1}": f"#0102{i + 1:02x}" for i in range(NUM_COLOURS)} | {
    "ink": "#010280",
    "muted": "#010281",
    "grid": "#010282",
    "missing": "#010283",
}
_VARIABLES = {colour: f"var(--{name})" for name, colour in _COLOURS.items()}
_STYLE = STYLE | {
    "font.size": 11,
    "axes.linewidth": 0.8,
    "axes.edgecolor": _COLOURS["muted"],
    "axes.labelcolor": _COLOURS["ink"],
    "axes.unicode_minus": True,
    "axes.grid.axis": "y",
    "grid.color": _COLOURS["grid"],
    "grid.linewidth": 0.7,
    "text.color": _COLOURS["ink"],
    "xtick.color": _COLOURS["muted"],
    "ytick.color": _COLOURS["muted"],
    "xtick.labelcolor": _COLOURS["ink"],
    "ytick.labelcolor": _COLOURS["ink"],
}


@dataclass(frozen=True)
class Series:
    """A line by round, with its interval where there is one."""

    label: str
    values: np.ndarray
    low: np.ndarray | None = None
    high: np.ndarray | None = None
    colour: str = "c1"
    dash: tuple[float, ...] = ()
    dots: bool = True


@dataclass(frozen=True)
class Chart:
    """What to draw. Places that are ``undefined`` get a cross at the bottom.

    ``places`` are rounds, whose tasks ``names`` stand on the axis, or probabilities.
    """

    key: str
    title: str
    caption: str
    places: np.ndarray
    series: list[Series]
    undefined: np.ndarray
    axis: str = "round"  # what the places are
    names: tuple[str, ...] = ()  # of the places; without, their numbers are shown
    unit_interval: bool = False  # a ratio or a rate: the axis runs from 0 to 1
    infeasible_above: float | None = None


def draw(chart: Chart) -> str:
    """Return the chart as an ``<svg>`` element without its label."""
    chart = condensed(chart)
    import io

    import matplotlib.style
    from matplotlib.figure import Figure

    salt = {"svg.hashsalt": chart.key}  # fixed, and different per chart: ids stay unique
    buffer = io.StringIO()
    # The default style first: a user's own matplotlibrc must not change the page.
    with matplotlib.style.context(["default", _STYLE | salt]), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of scripts that its own font lacks: the page has another
        figure = Figure(figsize=_SIZE)
        axes = figure.add_subplot()
        for series in chart.series:
            _draw_series(axes, chart.places, series)
        _draw_frame(axes, chart)
        _draw_marks(axes, chart)
        _leave_room(figure, axes)
        nothing = dict.fromkeys(("Creator", "Date", "Format", "Type"))
        figure.savefig(buffer, format="svg", transparent=True, metadata=nothing)
    return _clean(buffer.getvalue(), chart.key)


def condensed(chart: Chart) -> Chart:
    """Put neighbouring rounds together where there are too many to be told apart."""
    if len(chart.places) <= MOST_PLACES:
        return chart
    starts = np.linspace(0, len(chart.places), MOST_PLACES, endpoint=False).astype(int)

    def mean(values: np.ndarray) -> np.ndarray:
        known = np.isfinite(values)
        counts = np.add.reduceat(known.astype(float), starts)
        sums = np.add.reduceat(np.where(known, values, 0.0), starts)
        return np.divide(sums, counts, out=np.full(len(starts), np.nan), where=counts > 0)

    def line(series: Series) -> Series:
        ends = (None if end is None else mean(end) for end in (series.low, series.high))
        low, high = ends
        return replace(series, values=mean(series.values), low=low, high=high)

    return replace(
        chart,
        places=chart.places[starts],
        names=tuple(chart.names[i] for i in starts) if chart.names else (),
        series=[line(series) for series in chart.series],
        undefined=np.logical_or.reduceat(chart.undefined, starts),
    )


def isolated(values: np.ndarray) -> np.ndarray:
    """Mark the defined values without a defined neighbour: a line would not show them.

    >>> isolated(np.array([1.0, np.nan, 2.0, 3.0]))
    array([ True, False, False, False])
    """
    defined = np.isfinite(values)
    padded = np.concatenate([[False], defined, [False]])
    return defined & ~padded[:-2] & ~padded[2:]


def _draw_series(axes: "Axes", rounds: np.ndarray, series: Series) -> None:
    colour = _COLOURS[series.colour]
    if series.low is not None and series.high is not None:
        axes.fill_between(rounds, series.low, series.high, color=colour, alpha=0.16, linewidth=0)
        alone = isolated(series.low + series.high)
        axes.vlines(
            rounds[alone], series.low[alone], series.high[alone], color=colour, alpha=0.3, lw=3
        )
    style: Any = (0, series.dash) if series.dash else "-"
    crowded = len(rounds) > _MAX_ROOMY
    axes.plot(rounds, series.values, color=colour, linestyle=style, lw=0.9 if crowded else 1.5)
    alone = isolated(series.values)
    dots = np.isfinite(series.values) & ~alone & (series.dots and not crowded)
    for chosen, size in ((dots, 2.6), (alone, 5)):
        if chosen.any():
            axes.plot(rounds[chosen], series.values[chosen], "o", color=colour, ms=size, mew=0)


def _draw_frame(axes: "Axes", chart: Chart) -> None:
    from matplotlib.ticker import MaxNLocator

    _draw_places(axes, chart)
    if chart.unit_interval:
        axes.set_ylim(-0.09, 1.05)
        axes.set_yticks(np.linspace(0, 1, 6))
        return
    values = np.concatenate([series.values for series in chart.series] or [np.zeros(0)])
    values = np.append(values[np.isfinite(values)], chart.infeasible_above or 0.0)
    low, high = values.min(), values.max()
    span = (high - low) or 1.0
    axes.set_ylim(low - 0.14 * span, high + 0.08 * span)
    axes.yaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 2.5, 5, 10]))
    if chart.infeasible_above is not None:
        axes.axhline(chart.infeasible_above, color=_COLOURS["ink"], linewidth=1)
        top = axes.get_ylim()[1]
        axes.axhspan(chart.infeasible_above, top, color=_COLOURS["c2"], alpha=0.08, linewidth=0)


def _draw_places(axes: "Axes", chart: Chart) -> None:
    """Put names of tasks along the axis: as many as fit, the first and the last among them."""
    if not chart.names:
        axes.set_xlim(-0.03, 1.03)
        axes.set_xlabel(chart.axis)
        return
    first, last = chart.places[0], chart.places[-1]
    pad = max(0.5, 0.02 * (last - first))
    axes.set_xlim(first - pad, last + pad)
    count = min(_MOST_NAMES, len(chart.names))
    shown = np.unique(np.linspace(0, len(chart.names) - 1, count).round().astype(int))
    axes.set_xticks(chart.places[shown], [shortened(chart.names[i]) for i in shown])
    for label in axes.get_xticklabels():
        label.set(rotation=35, ha="right", rotation_mode="anchor", fontsize=9, parse_math=False)


def _leave_room(figure: "Figure", axes: "Axes") -> None:
    """Set the margins by the lengths of the labels: to measure them takes as long as to draw."""
    ticks = axes.yaxis.get_major_formatter().format_ticks(axes.get_yticks().tolist())
    names = [label.get_text() for label in axes.get_xticklabels()]
    width, height = (72 * inches for inches in _SIZE)
    turned = names and axes.get_xlabel() == ""
    below = 2.8 * max(map(len, names)) + 16 if turned else 38
    beside = max(6.6 * max(map(len, ticks)) + 9, 4 * len(names[0]) - 2 if turned else 0)
    figure.subplots_adjust(
        left=beside / width, right=1 - 6 / width, bottom=below / height, top=1 - 6 / height
    )


def shortened(name: str) -> str:
    """Write a task's name so that it fits below an axis.

    >>> shortened("2024-01"), shortened("a county with a long name"), shortened("\\x00")
    ('2024-01', 'a county with…', ' ')
    """
    name = "".join(c if c.isprintable() else " " for c in name)
    return name if len(name) <= _LONGEST_NAME else name[: _LONGEST_NAME - 1].rstrip() + "…"


def _draw_marks(axes: "Axes", chart: Chart) -> None:
    crosses = chart.places[chart.undefined]
    if len(crosses):
        axes.plot(
            crosses,
            np.full(len(crosses), 0.035),
            transform=axes.get_xaxis_transform(),  # x in rounds, y as a share of the axis
            color=_COLOURS["missing"],
            linestyle="",
            marker="x",
            markersize=4,
            markeredgewidth=1.2,
            clip_on=False,
        )
    if not any(np.isfinite(series.values).any() for series in chart.series):
        axes.text(0.5, 0.5, "undefined in every round", transform=axes.transAxes, ha="center")


def _clean(svg: str, key: str) -> str:
    """Keep the element alone, without a size of its own, global styles or ids that may clash."""
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<style.*?</style>|<metadata>.*?</metadata>|<!--.*?-->", "", svg, flags=re.S)
    svg = re.sub(r'<svg [^>]*viewBox="([^"]*)"[^>]*>', r'<svg viewBox="\1">', svg, count=1)
    svg = svg.replace("xlink:href", "href")
    svg = re.sub(r"font-family: [^;\"]*;? ?", "", svg)  # the page's own font
    used = set(re.findall(r"#([\w.-]+)", svg))
    svg = re.sub(r' id="([^"]*)"', lambda m: f' id="{key}-{m[1]}"' if m[1] in used else "", svg)
    svg = re.sub(r'(href="#|url\(#)', rf"\g<1>{key}-", svg)
    for colour, variable in _VARIABLES.items():
        svg = svg.replace(colour, variable)
    return re.sub(r"\s*\n\s*", "\n", svg).strip()
