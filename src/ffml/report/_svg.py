"""The parts of charts: scales, axes, marks, and the frame with legend and table. SVG as text."""

import math
from collections.abc import Callable, Iterable, Sequence
from html import escape
from itertools import pairwise
from typing import NamedTuple

UNDEFINED = "–"
MOST_ROWS = 400  # of a chart's table; the files of a run have all
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 440, 260, 42, 8, 8, 48
SLANT = 24  # of BOTTOM, what only long names need
FOOT = 24  # below a chart of rows
_COLOURS = 7
_DASHES = ("", "6 3", "2 2.5", "8 3 2 3")
_MOST_NAMES, _LONGEST_NAME = 6, 14

Numbers = Sequence[float]  # NaN where nothing could be measured
Write = Callable[[float], str]


class Scale(NamedTuple):
    """From values to pixels."""

    first: float
    last: float
    low: float
    high: float
    left: int = LEFT
    height: int = HEIGHT

    def x(self, spot: float) -> float:
        """Place a spot along the horizontal axis, with half a step of room at both ends."""
        span = self.last - self.first
        share = (spot - self.first) / span if span else 0.5
        return self.left + 8 + share * (WIDTH - self.left - RIGHT - 16)

    def y(self, value: float) -> float:
        """Place a value on the vertical axis."""
        share = (value - self.low) / (self.high - self.low)
        share = min(max(share, 0.0), 1.0)
        return self.height - BOTTOM - share * (self.height - BOTTOM - TOP)

    def across(self, value: float) -> float:
        """Place a value on the horizontal axis of a chart of rows."""
        share = (value - self.low) / (self.high - self.low)
        return self.left + min(max(share, 0.0), 1.0) * (WIDTH - self.left - RIGHT)


def ticks(low: float, high: float, most: int = 6) -> list[float]:
    """Return round numbers between two ends.

    >>> ticks(0.0, 1.0), ticks(-3, 12)
    ([0.0, 0.2, 0.4, 0.6, 0.8, 1.0], [0.0, 5.0, 10.0])
    """
    raw = (high - low) / (most - 1) or 1.0
    size = 10.0 ** math.floor(math.log10(raw))
    step = next(size * m for m in (1, 2, 2.5, 5, 10) if size * m >= raw * (1 - 1e-9))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [round(i * step, 12) + 0.0 for i in range(first, last + 1)]


def ends_of(values: Sequence[float]) -> tuple[float, float]:
    """Return where an axis begins and ends, with some room."""
    low, high = min(values), max(values)
    room = 0.06 * (high - low) or 0.5 * max(1.0, abs(high))
    return low - room, high + room


def finite(values: Iterable[float | None]) -> list[float]:
    """Return the values that are known."""
    return [v for v in values if v is not None and math.isfinite(v)]


def with_interval(value: float, low: float, high: float, write: Write) -> str:
    """Write a value with its interval, as far as they are known."""
    if not math.isfinite(value):
        return UNDEFINED
    known = math.isfinite(low) and math.isfinite(high)
    return write(value) + (f" ({write(low)} to {write(high)})" if known else "")


def shortened(name: str, longest: int = _LONGEST_NAME) -> str:
    """Write a name so that it fits beside an axis.

    >>> shortened("2024-01"), shortened("a county with a long name"), shortened("\\x00")
    ('2024-01', 'a county with…', ' ')
    """
    name = "".join(c if c.isprintable() else " " for c in name)
    return name if len(name) <= longest else name[: longest - 1].rstrip() + "…"


# -- marks -----------------------------------------------------------------------------------


def text(x: float, y: float, words: str, look: str = "") -> str:
    """Write words; look is "end" or "mid", or nothing."""
    return f'<text class="{look}" x="{x:.1f}" y="{y:.1f}">{escape(words)}</text>'


def box(look: str, x: float, y: float, width: float, height: float) -> str:
    """Draw a rectangle."""
    return (
        f'<rect class="{look}" x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}"/>'
    )


def hit(x: float, y: float, width: float, height: float, tip: str) -> str:
    """Return a place that shows its numbers."""
    return box("hit", x, y, width, height)[:-2] + f' data-tip="{escape(tip)}"/>'


def hits(xs: Sequence[float], tips: Sequence[str]) -> list[str]:
    """Return one upright place for each x."""
    edges = [(a + b) / 2 for a, b in pairwise(xs)]
    starts, stops = [LEFT, *edges], [*edges, WIDTH - RIGHT]
    tall = HEIGHT - BOTTOM - TOP
    return [hit(a, TOP, b - a, tall, tip) for a, b, tip in zip(starts, stops, tips, strict=False)]


def look_of(place: int, muted: bool = False) -> tuple[str, str]:
    """Return colour and dashes of a line."""
    if muted:
        return "c0", _DASHES[1]
    return f"c{place % _COLOURS + 1}", _DASHES[place % len(_DASHES)]


def path(xs: Sequence[float], ys: Sequence[float]) -> str:
    """Join neighbours; a place that was not measured leaves a hole."""
    steps, pen = [], False
    for x, y in zip(xs, ys, strict=True):
        if math.isfinite(y):
            steps.append(f"{'L' if pen else 'M'}{x:.1f} {y:.1f}")
        pen = math.isfinite(y)
    return "".join(steps)


def area(xs: Sequence[float], low: Numbers, high: Numbers, scale: Scale) -> str:
    """Fill between two lines, wherever both are known."""
    steps: list[str] = []
    run: list[tuple[float, float, float]] = []
    for x, a, b in [*zip(xs, low, high, strict=True), (0.0, math.nan, math.nan)]:
        if math.isfinite(a) and math.isfinite(b):
            run.append((x, scale.y(a), scale.y(b)))
        elif run:
            if len(run) == 1:  # alone: a narrow bar
                run = [(run[0][0] - 3, *run[0][1:]), (run[0][0] + 3, *run[0][1:])]
            there = (f"{x:.1f} {top:.1f}" for x, _, top in run)
            back = (f"{x:.1f} {bottom:.1f}" for x, bottom, _ in reversed(run))
            steps.append(f"M{'L'.join([*there, *back])}Z")
            run = []
    return "".join(steps)


# -- axes ------------------------------------------------------------------------------------


def grid(scale: Scale, write: Write) -> str:
    """Draw lines across, with their values on the left."""
    parts = []
    for value in ticks(scale.low, scale.high):
        y = scale.y(value)
        parts.append(f'<path class="grid" d="M{scale.left} {y:.1f}H{WIDTH - RIGHT}"/>')
        parts.append(text(scale.left - 5, y + 4, write(value), "end"))
    return "".join(parts)


def upright_grid(scale: Scale, write: Write) -> str:
    """Draw upright lines, with their values below."""
    parts, bottom = [], scale.height - FOOT
    for value in ticks(scale.low, scale.high, 7):
        x, look = scale.across(value), "axis" if value == 0 else "grid"
        parts.append(f'<path class="{look}" d="M{x:.1f} {TOP}V{bottom}"/>')
        parts.append(text(x, scale.height - 8, write(value), "mid"))
    return "".join(parts)


def limit_line(limit: float, scale: Scale) -> str:
    """Draw a level, and shade what is above it."""
    y, width = scale.y(limit), WIDTH - RIGHT - LEFT
    return (
        box("broken", LEFT, TOP, width, y - TOP)
        + f'<path class="axis" d="M{LEFT} {y:.1f}h{width}"/>'
    )


def place_names(xs: Sequence[float], places: Sequence[str]) -> str:
    """Write names along the axis: as many as fit, at even steps from the first on."""
    last = max(len(places) - 1, 1)
    step = next((last // k for k in (5, 4, 6, 3) if last % k == 0), -(-last // (_MOST_NAMES - 1)))
    shown = range(0, len(places), step)
    y = HEIGHT - BOTTOM + 16
    if fit_flat(places):
        return "".join(text(xs[i], y, places[i], "mid") for i in shown)
    return "".join(
        f'<text class="end" transform="translate({xs[i] + 4:.1f} {y}) rotate(-25)">'
        f"{escape(shortened(places[i], 10 if i == 0 else _LONGEST_NAME))}</text>"
        for i in shown
    )


def fit_flat(places: Sequence[str]) -> bool:
    """Tell whether names along the axis are short enough to stand side by side."""
    return all(len(name) <= 8 for name in places)


def row_name(name: str, y: float, left: int) -> str:
    """Write the name of a row on its left."""
    return text(left - 6, y, shortened(name, 18), "end")


# -- the frame -------------------------------------------------------------------------------


def sample(look: tuple[str, str]) -> str:
    """Return a line for a legend."""
    colour, dash = look
    return f'<path class="line {colour}" stroke-dasharray="{dash or "none"}" d="M0 6H26"/>'


def patch(look: str) -> str:
    """Return an area for a legend."""
    return f'<rect class="{look}" width="26" height="12"/>'


def figure(
    key: str,
    title: str,
    caption: str,
    parts: Sequence[str],
    label: str,
    legend: Sequence[tuple[str, str]],
    head: Sequence[str],
    rows: Sequence[Sequence[str]],
    height: int = HEIGHT,
) -> str:
    """Put title, sentence, picture, legend and table together.

    Args:
        key: the figure's id is ``chart-{key}``.
        title: what it shows.
        caption: a sentence on how to read it.
        parts: of the picture.
        label: the picture for those who listen.
        legend: samples with what they are.
        head: of the table.
        rows: of the table.
        height: of the picture.
    """
    samples = "".join(
        f'<li><svg viewBox="0 0 26 12" aria-hidden="true">{one}</svg>{escape(name)}</li>'
        for one, name in legend
    )
    listed = f'<ul class="legend">{samples}</ul>' if samples else ""
    left_out = f"<p>The last {MOST_ROWS} of {len(rows):,}.</p>" if len(rows) > MOST_ROWS else ""
    return (
        f'<figure class="chart" id="chart-{escape(key)}"><figcaption><h3>{escape(title)}</h3>'
        f"<span>{escape(caption)}</span></figcaption>"
        f'<svg class="plot" role="img" tabindex="0" viewBox="0 0 {WIDTH} {height}"'
        f' aria-label="{escape(label)}">{"".join(parts)}</svg>{listed}'
        f"<details><summary>Numbers</summary>{left_out}"
        f"{table_html(head, rows[-MOST_ROWS:], title)}</details></figure>"
    )


def table_html(head: Sequence[str], rows: Iterable[Sequence[str]], label: str) -> str:
    """Return a table that scrolls by itself where it is wider than the page."""
    heads = "".join(f'<th scope="col">{escape(name)}</th>' for name in head)
    body = "".join(
        f'<tr><th scope="row">{escape(name)}</th>'
        + "".join(f"<td>{escape(cell)}</td>" for cell in cells)
        + "</tr>"
        for name, *cells in rows
    )
    return (
        f'<div class="scroll" role="region" tabindex="0" aria-label="{escape(label)}"><table>'
        f"<thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table></div>"
    )
