"""Charts for a page: data in, HTML out, with neither matplotlib nor JAX.

Each function returns a ``<figure>``: a title, a sentence, an inline SVG, its legend and its table.
A page that shows one has `STYLE` in its head and `SCRIPT` at its end. Colours are CSS variables, so
that a chart follows the page's light or dark scheme; they are Okabe and Ito's, and lines have
dashes too. The pointer, or the arrow keys on a focused chart, show the numbers of a place.
"""

import math
from collections.abc import Sequence
from importlib import resources
from typing import NamedTuple

from ffml.report import _svg
from ffml.report._svg import (
    BOTTOM,
    FOOT,
    HEIGHT,
    LEFT,
    TOP,
    UNDEFINED,
    WIDTH,
    Numbers,
    Scale,
    Write,
)
from ffml.report._svg import table_html as table_html

MOST_PLACES = 300  # of more places than this, neighbours are drawn as their mean
MOST_BARS = 24  # rows of a forest plot
_NAMES = 112  # pixels for the names of rows

STYLE = resources.files("ffml.report").joinpath("charts.css").read_text(encoding="utf-8")
SCRIPT = resources.files("ffml.report").joinpath("charts.js").read_text(encoding="utf-8")


class Line(NamedTuple):
    """Values by place, with their intervals where there are some."""

    name: str
    values: Numbers
    low: Numbers | None = None
    high: Numbers | None = None
    muted: bool = False  # something to compare with: grey and dashed


class Span(NamedTuple):
    """A value with its interval, and how far chance alone would reach to either side of 0."""

    name: str
    value: float
    low: float
    high: float
    chance: float


class Point(NamedTuple):
    """A place on two axes."""

    name: str
    x: float
    y: float


class Bars(NamedTuple):
    """Two numbers of one thing, from 0 on."""

    name: str
    first: float
    second: float
    of: str = ""  # said behind the name where there is room


def line_figure(
    key: str,
    title: str,
    caption: str,
    places: Sequence[str],
    lines: Sequence[Line],
    write: Write,
    *,
    at: Numbers | None = None,
    band: tuple[Numbers, Numbers] | None = None,
    limit: float | None = None,
    ends: tuple[float, float] | None = None,
    axis: str = "task",
) -> str:
    """Draw lines by place, such as the rates of groups by task.

    Args:
        key: the figure's id is ``chart-{key}``.
        title: what it shows.
        caption: a sentence on how to read it.
        places: names along the axis.
        lines: each with as many values as there are places.
        write: how a value is written on the axis, in the tip and in the table.
        at: where the places are, if not one after another.
        band: between which values all is as allowed, by place.
        limit: a level above which something was broken.
        ends: of the vertical axis; None: what the values need.
        axis: what a place is.

    >>> rates = [Line("F", [0.4, 0.5]), Line("M", [0.6, float("nan")])]
    >>> html = line_figure("rates", "Rates", "By month.", ["May", "June"], rates, "{:.0%}".format)
    >>> html.count('class="dot'), "<td>60%</td>" in html, 'data-tip="June: F 50%, M –"' in html
    (2, True, True)
    """
    table = [[name, *(_cell(line, i, write) for line in lines)] for i, name in enumerate(places)]
    if len(places) > MOST_PLACES:
        caption += " Neighbours are drawn as their mean."
        places, lines, band = _condensed(places, lines, band)
    known = _svg.finite(value for line in lines for value in line.values)
    reach = known + _svg.finite(v for line in lines for part in line[2:4] if part for v in part)
    low, high = ends or _svg.ends_of(reach + _svg.finite([limit]) or [0.0, 1.0])
    spots = list(at or range(len(places)))
    scale = Scale(min(spots, default=0), max(spots, default=1), low, high)
    xs = [scale.x(spot) for spot in spots]
    parts = [_svg.grid(scale, write), _svg.place_names(xs, places)]
    if band:
        parts.append(f'<path class="allowed" d="{_svg.area(xs, *band, scale)}"/>')
    if limit is not None:
        parts.append(_svg.limit_line(limit, scale))
    looks = [_svg.look_of(i, line.muted) for i, line in enumerate(lines)]
    parts += [_line(line, xs, scale, look) for line, look in zip(lines, looks, strict=True)]
    tips = [
        f"{name}: " + ", ".join(f"{line.name} {_cell(line, i, write)}" for line in lines)
        for i, name in enumerate(places)
    ]
    parts += _svg.hits(xs, tips)
    if not known:
        parts.append(_svg.text(WIDTH / 2, HEIGHT / 2, "nothing measured", "mid"))
    legend = [(_svg.sample(look), line.name) for line, look in zip(lines, looks, strict=True)]
    if any(line.low is not None for line in lines):
        legend.append((_svg.patch("band c0"), "95 % interval"))
    if band:
        legend.append((_svg.patch("allowed"), "allowed"))
    head = [axis.capitalize(), *(line.name for line in lines)]
    label = f"{title}, by {axis}. {_ends_in_words(lines, places, write)}"
    height = HEIGHT - _svg.SLANT if _svg.fit_flat(places) else HEIGHT
    return _svg.figure(key, title, caption, parts, label, legend, head, table, height)


def forest_figure(
    key: str,
    title: str,
    caption: str,
    spans: Sequence[Span],
    write: Write,
    *,
    allowed: float | None = None,
) -> str:
    """Draw a value with its interval in each row, chance shaded around 0.

    Of more than 24 rows those furthest beyond chance are drawn; the table has all.

    >>> html = forest_figure("gaps", "Gaps", "", [Span("May", 0.1, 0.0, 0.2, 0.1)], "{:.2f}".format)
    >>> "<td>0.10 (0.00 to 0.20)</td>" in html
    True
    """
    table = [[s.name, _svg.with_interval(s.value, s.low, s.high, write)] for s in spans]
    shown = [i for i, span in enumerate(spans) if math.isfinite(span.value)]
    if len(shown) > MOST_BARS:
        beyond = sorted(shown, key=lambda i: spans[i].chance - abs(spans[i].value))
        shown = sorted(beyond[:MOST_BARS])
        caption += f" Drawn are the {MOST_BARS} that stand out most; the table has all."
    drawn = [spans[i] for i in shown]
    row, height = 15, TOP + 15 * len(drawn) + FOOT + 2
    ends = _svg.finite(v for s in drawn for v in (s.low, s.high, s.value, s.chance, -s.chance))
    low, high = _svg.ends_of(ends + _svg.finite([allowed, allowed and -allowed, 0.0]))
    scale = Scale(0, 1, low, high, _NAMES, height)
    parts = [_svg.upright_grid(scale, write)]
    if allowed:
        a, b = scale.across(-allowed), scale.across(allowed)
        parts.append(_svg.box("allowed", a, TOP, b - a, height - TOP - FOOT))
    for i, span in enumerate(drawn):
        parts.append(_forest_row(span, TOP + row * i, row, scale, write))
    legend = [(_svg.patch("chance"), "chance alone, 95 %")]
    legend += [(_svg.patch("allowed"), "allowed")] if allowed else []
    far = max(drawn, key=lambda s: abs(s.value), default=None)
    words = f" Furthest: {far.name}, {write(far.value)}." if far else " Nothing measured."
    label = f"{title}, {len(drawn)} rows.{words}"
    return _svg.figure(key, title, caption, parts, label, legend, ["Task", title], table, height)


def bars_figure(
    key: str,
    title: str,
    caption: str,
    head: str,
    rows: Sequence[Bars],
    names: tuple[str, str],
    write: Write,
    mirrored: bool = False,
) -> str:
    """Draw two bars for each row, such as what tells the group and what the model goes by.

    Args:
        key: the figure's id is ``chart-{key}``.
        title: what it shows.
        caption: a sentence on how to read it.
        head: what a row is.
        rows: each with two numbers, from 0 on.
        names: of the two.
        write: how a value is written.
        mirrored: the first bar to the right, the second to the left; else one below the other.

    >>> rows = [Bars("hours", 0.6, 0.1)]
    >>> html = bars_figure("p", "Inputs", "", "Input", rows, ("tells", "goes by"), "{:.0%}".format)
    >>> 'data-tip="hours: tells 60%, goes by 10%"' in html
    True
    """
    row, height = 28, TOP + 28 * len(rows) + FOOT + 2
    most = max([value for one in rows for value in one[1:3]], default=0.0) or 1.0
    low, high = (-1.3 * most, 1.3 * most) if mirrored else (0.0, 1.08 * most)
    scale, looks = (
        Scale(0, 1, low, high, _NAMES, height),
        ("c1", "c2") if mirrored else ("c2", "c1"),
    )
    parts, said = [_svg.upright_grid(scale, lambda value: write(abs(value)))], []
    for i, one in enumerate(rows):
        y = TOP + row * i
        for lane, (value, look) in enumerate(zip(one[1:3], looks, strict=True)):
            sign, lower = (1 - 2 * lane, 0) if mirrored else (1, 12 * lane)
            parts.append(_bar(f"fill {look}", 0, sign * value, y + 3 + lower, 10, scale))
            if mirrored:
                x, side = scale.across(sign * value) + 4 * sign, "end" if lane else ""
                parts.append(_svg.text(x, y + 12, write(value), side))
        parts.append(_svg.row_name(one.name, y + (12 if mirrored else 17), _NAMES))
        each = (f"{n} {write(v)}" for n, v in zip(names, one[1:3], strict=True))
        said.append(f"{one.name}{one.of}: {', '.join(each)}")
        parts.append(_svg.hit(0, y, WIDTH, row, said[-1]))
    legend = [(_svg.patch(f"fill {c}"), name) for c, name in zip(looks, names, strict=True)]
    table = [[one.name + one.of, *map(write, one[1:3])] for one in rows]
    label = f"{title}. {'; '.join(said)}."
    return _svg.figure(key, title, caption, parts, label, legend, [head, *names], table, height)


def points_figure(
    key: str,
    title: str,
    caption: str,
    points: Sequence[Point],
    axes: tuple[str, str],
    writes: tuple[Write, Write],
    *,
    allowed: float | None = None,
) -> str:
    """Draw named points on two axes, such as accuracy against gap; the first is the one chosen.

    >>> points = [Point("this run", 0.02, 0.8), Point("without", 0.3, 0.9)]
    >>> write = ("{:.2f}".format, "{:.1f}".format)
    >>> html = points_figure("p", "Price", "", points, ("gap", "accuracy"), write, allowed=0.05)
    >>> 'data-tip="this run: gap 0.02, accuracy 0.8"' in html
    True
    """
    drawn = [one for one in points if math.isfinite(one.x) and math.isfinite(one.y)]
    right = max([one.x for one in drawn] + _svg.finite([allowed]), default=1.0)
    low, high = _svg.ends_of([one.y for one in drawn] or [0.0, 1.0])
    height = HEIGHT - 10
    across = Scale(0, 1, -0.04 * right, 1.1 * right or 1.0, LEFT, height)
    up = Scale(0, 1, low, high, LEFT, height + BOTTOM - FOOT)
    parts = [_svg.upright_grid(across, writes[0]), _svg.grid(up, writes[1])]
    if allowed is not None:
        a, b = across.across(0.0), across.across(allowed)
        parts.append(_svg.box("allowed", a, TOP, max(b - a, 1.0), height - TOP - FOOT))
    lowest = 0.0  # where the last name was written, from above
    for i, one in sorted(enumerate(drawn), key=lambda pair: -pair[1].y):
        x, y = across.across(one.x), up.y(one.y)
        lowest = max(y + 4, lowest + 14)
        side, shift = ("end", -10) if x > 0.6 * WIDTH else ("", 10)
        parts.append(f'<path class="{_MARKS[min(i, 1)]} c{i % 7 + 1}" d="M{x:.1f} {y:.1f}h0"/>')
        parts.append(_svg.text(x + shift, lowest, _svg.shortened(one.name, 30), side))
        said = ", ".join(f"{n} {w(v)}" for n, w, v in zip(axes, writes, one[1:], strict=True))
        parts.append(_svg.hit(x - 11, y - 11, 22, 22, f"{one.name}: {said}"))
    legend = [(_svg.patch("allowed"), "allowed")] if allowed is not None else []
    table = [
        [one.name]
        + [w(v) if math.isfinite(v) else UNDEFINED for w, v in zip(writes, one[1:], strict=True)]
        for one in points
    ]
    said = "; ".join(f"{n}: {axes[0]} {a}, {axes[1]} {b}" for n, a, b in table)
    head = ["Of", *map(str.capitalize, axes)]
    return _svg.figure(key, title, caption, parts, f"{title}. {said}.", legend, head, table, height)


_MARKS = ("chosen", "dot")


def _bar(look: str, start: float, end: float, y: float, tall: float, scale: Scale) -> str:
    a, b = sorted((scale.across(start), scale.across(end)))
    return _svg.box(look, a, y, b - a, tall)


def _condensed(
    places: Sequence[str], lines: Sequence[Line], band: tuple[Numbers, Numbers] | None
) -> tuple[list[str], list[Line], tuple[Numbers, Numbers] | None]:
    """Put neighbours together where there are too many to be told apart."""
    starts = [len(places) * i // MOST_PLACES for i in range(MOST_PLACES)]
    stops = [*starts[1:], len(places)]

    def mean(values: Numbers | None) -> Numbers | None:
        if values is None:
            return None
        parts = (_svg.finite(values[a:b]) for a, b in zip(starts, stops, strict=True))
        return [sum(part) / len(part) if part else math.nan for part in parts]

    shorter = [Line(n, mean(v) or [], mean(a), mean(b), m) for n, v, a, b, m in lines]
    both = (mean(band[0]) or [], mean(band[1]) or []) if band else None
    return [places[i] for i in starts], shorter, both


def _cell(line: Line, place: int, write: Write) -> str:
    ends = (math.nan, math.nan)
    if line.low is not None and line.high is not None:
        ends = (line.low[place], line.high[place])
    return _svg.with_interval(line.values[place], *ends, write)


def _line(line: Line, xs: Sequence[float], scale: Scale, look: tuple[str, str]) -> str:
    colour, dash = look
    ys = [scale.y(v) if math.isfinite(v) else math.nan for v in line.values]
    parts = []
    if line.low is not None and line.high is not None:
        inside = _svg.area(xs, line.low, line.high, scale)
        parts.append(f'<path class="band {colour}" d="{inside}"/>')
    dashes = f'stroke-dasharray="{dash or "none"}"'
    parts.append(f'<path class="line {colour}" {dashes} d="{_svg.path(xs, ys)}"/>')
    if len(xs) <= 60 and not line.muted:
        dots = (f"M{x:.1f} {y:.1f}h0" for x, y in zip(xs, ys, strict=True) if math.isfinite(y))
        parts.append(f'<path class="dot {colour}" d="{"".join(dots)}"/>')
    return "".join(parts)


def _forest_row(span: Span, y: int, row: int, scale: Scale, write: Write) -> str:
    middle, x = y + row / 2, scale.across(span.value)
    parts = [_svg.row_name(span.name, middle + 4, scale.left)]
    if math.isfinite(span.chance):
        parts.append(_bar("chance", -span.chance, span.chance, y + 2, row - 4, scale))
    if math.isfinite(span.low) and math.isfinite(span.high):
        a, b = scale.across(span.low), scale.across(span.high)
        parts.append(f'<path class="line c1" d="M{a:.1f} {middle}H{b:.1f}"/>')
    parts.append(f'<circle class="fill c1" cx="{x:.1f}" cy="{middle}" r="3.4"/>')
    tip = f"{span.name}: {_svg.with_interval(span.value, span.low, span.high, write)}"
    return "".join([*parts, _svg.hit(0, y, WIDTH, row, tip)])


def _ends_in_words(lines: Sequence[Line], places: Sequence[str], write: Write) -> str:
    """Say first and last value of each line, for those who listen."""
    said = []
    for line in lines:
        known = [i for i, value in enumerate(line.values) if math.isfinite(value)]
        if not known:
            said.append(f"{line.name}: nothing measured.")
            continue
        ends = (f"{write(line.values[i])} ({places[i]})" for i in (known[0], known[-1]))
        said.append(f"{line.name}: from {' to '.join(ends)}.")
    return " ".join(said)
