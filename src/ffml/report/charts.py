"""Charts for a page: data in, HTML out, with neither matplotlib nor JAX.

Each function returns a ``<figure>``: a title, a sentence, an inline SVG, its legend and its table.
A page that shows one has `STYLE` in its head and `SCRIPT` at its end. Colours are CSS variables, so
that a chart follows the page's light or dark scheme; they are Okabe and Ito's, and lines have
dashes too. The pointer, or the arrow keys on a focused chart, show the numbers of a place.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from html import escape
from importlib import resources
from itertools import pairwise
from typing import NamedTuple

UNDEFINED = "–"
MOST_PLACES = 300  # of more places than this, neighbours are drawn as their mean
MOST_ROWS = 400  # of a chart's table; the files of a run have all
MOST_BARS = 40  # rows of a forest plot
_COLOURS = 7
_DASHES = ("", "6 3", "2 2.5", "8 3 2 3")
_WIDTH, _HEIGHT, _LEFT, _RIGHT, _TOP, _BOTTOM = 520, 270, 46, 8, 8, 48
_MOST_NAMES, _LONGEST_NAME = 6, 14

STYLE = resources.files("ffml.report").joinpath("charts.css").read_text(encoding="utf-8")
SCRIPT = resources.files("ffml.report").joinpath("charts.js").read_text(encoding="utf-8")

Numbers = Sequence[float]  # NaN where nothing could be measured
Write = Callable[[float], str]


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


class Moved(NamedTuple):
    """How many of a group were moved towards the favourable decision, and how many away."""

    name: str
    towards: int
    away: int
    people: int


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
    known = _finite(value for line in lines for value in line.values)
    reach = known + _finite(v for line in lines for part in line[2:4] if part for v in part)
    low, high = ends or _range(reach + _finite([limit]) or [0.0, 1.0])
    spots = list(at or range(len(places)))
    scale = _Scale(min(spots, default=0), max(spots, default=1), low, high)
    xs = [scale.x(spot) for spot in spots]
    parts = [_grid(scale, write), _names(xs, places)]
    if band:
        parts.append(f'<path class="allowed" d="{_area(xs, *band, scale)}"/>')
    if limit is not None:
        parts.append(_limit(limit, scale))
    for i, line in enumerate(lines):
        parts.append(_line(line, xs, scale, _look(i, line.muted)))
    tips = [
        f"{name}: " + ", ".join(f"{line.name} {_cell(line, i, write)}" for line in lines)
        for i, name in enumerate(places)
    ]
    parts += _columns(xs, tips)
    if not known:
        parts.append(
            f'<text x="{_WIDTH / 2}" y="{_HEIGHT / 2}" class="mid">nothing measured</text>'
        )
    legend = [(_sample(_look(i, line.muted)), line.name) for i, line in enumerate(lines)]
    if any(line.low is not None for line in lines):
        legend.append((_patch("band c0"), "95 % interval"))
    if band:
        legend.append((_patch("allowed"), "allowed"))
    head = [axis.capitalize(), *(line.name for line in lines)]
    svg = _svg(parts, f"{title}, by {axis}. {_ends_in_words(lines, places, write)}")
    return _figure(key, title, caption, svg, legend, head, table)


def forest_figure(
    key: str,
    title: str,
    caption: str,
    spans: Sequence[Span],
    write: Write,
    *,
    allowed: float | None = None,
    head: str = "Task",
) -> str:
    """Draw a value with its interval in each row, chance shaded around 0.

    Of more than 40 rows those furthest beyond chance are drawn; the table has all.

    >>> html = forest_figure("gaps", "Gaps", "", [Span("May", 0.1, 0.0, 0.2, 0.1)], "{:.2f}".format)
    >>> "<td>0.10 (0.00 to 0.20)</td>" in html
    True
    """
    table = [[s.name, _with_interval(s.value, s.low, s.high, write)] for s in spans]
    shown = [i for i, span in enumerate(spans) if math.isfinite(span.value)]
    if len(shown) > MOST_BARS:
        beyond = sorted(shown, key=lambda i: spans[i].chance - abs(spans[i].value))
        shown = sorted(beyond[:MOST_BARS])
        caption += f" Drawn are the {MOST_BARS} that stand out most; the table has all."
    drawn = [spans[i] for i in shown]
    left, row, height = 118, 17, _TOP + 17 * len(drawn) + 26
    ends = _finite(v for s in drawn for v in (s.low, s.high, s.value, s.chance, -s.chance))
    low, high = _range(ends + _finite([allowed, allowed and -allowed, 0.0]))
    scale = _Scale(0, 1, low, high, left, height)
    parts = [_upright_grid(scale, write, height)]
    if allowed:
        a, b = scale.across(-allowed), scale.across(allowed)
        parts.append(
            f'<rect class="allowed" x="{a:.1f}" y="{_TOP}" width="{b - a:.1f}"'
            f' height="{height - _TOP - 24}"/>'
        )
    for i, span in enumerate(drawn):
        parts.append(_forest_row(span, _TOP + row * i, row, left, scale, write))
    legend = [(_patch("chance"), "chance alone, 95 %")]
    legend += [(_patch("allowed"), "allowed")] if allowed else []
    far = max(drawn, key=lambda s: abs(s.value), default=None)
    words = f" Furthest: {far.name}, {write(far.value)}." if far else " Nothing measured."
    svg = _svg(parts, f"{title}, {len(drawn)} rows.{words}", height)
    return _figure(key, title, caption, svg, legend, [head, title], table)


def moved_figure(
    key: str, title: str, caption: str, rows: Sequence[Moved], towards: str, away: str
) -> str:
    """Draw by group how many decisions were moved, in both directions.

    >>> html = moved_figure("m", "Who changed", "", [Moved("F", 9, 1, 50)], "approved", "refused")
    >>> "9 of 50 now approved, 1 now refused" in html
    True
    """
    left, row, height = 118, 26, _TOP + 26 * len(rows) + 26
    most = max([part for one in rows for part in (one.towards, one.away)], default=0) or 1
    scale = _Scale(0, 1, -1.15 * most, 1.15 * most, left, height)
    parts, zero = [_upright_grid(scale, lambda v: f"{abs(v):,.0f}", height)], scale.across(0)
    for i, one in enumerate(rows):
        y = _TOP + row * i
        tip = (
            f"{one.name}: {one.towards:,} of {one.people:,} now {towards}, {one.away:,} now {away}"
        )
        for count, look, sign in ((one.towards, "c1", 1), (one.away, "c2", -1)):
            end = scale.across(sign * count)
            x, width = min(zero, end), abs(end - zero)
            parts.append(
                f'<rect class="fill {look}" x="{x:.1f}" y="{y + 4}" width="{width:.1f}"'
                f' height="{row - 8}"/>'
            )
            side = "start" if sign > 0 else "end"
            parts.append(
                f'<text class="{side}" x="{end + 4 * sign:.1f}" y="{y + 17}">{count:,}</text>'
            )
        parts.append(_row_name(one.name, y + 17, left))
        parts.append(_hit(0, y, _WIDTH, row, tip))
    legend = [(_patch("fill c1"), f"now {towards}"), (_patch("fill c2"), f"now {away}")]
    table = [[r.name, f"{r.people:,}", f"{r.towards:,}", f"{r.away:,}"] for r in rows]
    said = "; ".join(f"{r.name}: {r.towards:,} now {towards}, {r.away:,} now {away}" for r in rows)
    head = ["Group", "People", f"Now {towards}", f"Now {away}"]
    return _figure(
        key, title, caption, _svg(parts, f"{title}. {said}.", height), legend, head, table
    )


class _Scale(NamedTuple):
    """From values to pixels."""

    first: float
    last: float
    low: float
    high: float
    left: int = _LEFT
    height: int = _HEIGHT

    def x(self, spot: float) -> float:
        """Place a spot along the horizontal axis, with half a step of room at both ends."""
        span = self.last - self.first
        share = (spot - self.first) / span if span else 0.5
        return self.left + 8 + share * (_WIDTH - self.left - _RIGHT - 16)

    def y(self, value: float) -> float:
        """Place a value on the vertical axis."""
        share = (value - self.low) / (self.high - self.low)
        share = min(max(share, 0.0), 1.0)
        return self.height - _BOTTOM - share * (self.height - _BOTTOM - _TOP)

    def across(self, value: float) -> float:
        """Place a value on the horizontal axis of a chart of rows."""
        share = (value - self.low) / (self.high - self.low)
        return self.left + min(max(share, 0.0), 1.0) * (_WIDTH - self.left - _RIGHT)


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


def _range(values: Sequence[float]) -> tuple[float, float]:
    low, high = min(values), max(values)
    room = 0.06 * (high - low) or 0.5 * max(1.0, abs(high))
    return low - room, high + room


def _finite(values: Iterable[float | None]) -> list[float]:
    return [v for v in values if v is not None and math.isfinite(v)]


def _condensed(
    places: Sequence[str], lines: Sequence[Line], band: tuple[Numbers, Numbers] | None
) -> tuple[list[str], list[Line], tuple[Numbers, Numbers] | None]:
    """Put neighbours together where there are too many to be told apart."""
    starts = [len(places) * i // MOST_PLACES for i in range(MOST_PLACES)]

    def mean(values: Numbers | None) -> Numbers | None:
        if values is None:
            return None
        parts = (
            _finite(values[a:b]) for a, b in zip(starts, [*starts[1:], len(places)], strict=True)
        )
        return [sum(part) / len(part) if part else math.nan for part in parts]

    shorter = [Line(n, mean(v) or [], mean(a), mean(b), m) for n, v, a, b, m in lines]
    both = (mean(band[0]) or [], mean(band[1]) or []) if band else None
    return [places[i] for i in starts], shorter, both


def _cell(line: Line, place: int, write: Write) -> str:
    ends = (math.nan, math.nan)
    if line.low is not None and line.high is not None:
        ends = (line.low[place], line.high[place])
    return _with_interval(line.values[place], *ends, write)


def _with_interval(value: float, low: float, high: float, write: Write) -> str:
    if not math.isfinite(value):
        return UNDEFINED
    known = math.isfinite(low) and math.isfinite(high)
    return write(value) + (f" ({write(low)} to {write(high)})" if known else "")


def _look(place: int, muted: bool) -> tuple[str, str]:
    if muted:
        return "c0", _DASHES[1]
    return f"c{place % _COLOURS + 1}", _DASHES[place % len(_DASHES)]


def _line(line: Line, xs: Sequence[float], scale: _Scale, look: tuple[str, str]) -> str:
    colour, dash = look
    ys = [scale.y(v) if math.isfinite(v) else math.nan for v in line.values]
    parts = []
    if line.low is not None and line.high is not None:
        parts.append(f'<path class="band {colour}" d="{_area(xs, line.low, line.high, scale)}"/>')
    parts.append(
        f'<path class="line {colour}" stroke-dasharray="{dash or "none"}" d="{_path(xs, ys)}"/>'
    )
    if len(xs) <= 60 and not line.muted:
        dots = (f"M{x:.1f} {y:.1f}h0" for x, y in zip(xs, ys, strict=True) if math.isfinite(y))
        parts.append(f'<path class="dot {colour}" d="{"".join(dots)}"/>')
    return "".join(parts)


def _path(xs: Sequence[float], ys: Sequence[float]) -> str:
    """Join neighbours; a place that was not measured leaves a hole."""
    text, pen = [], False
    for x, y in zip(xs, ys, strict=True):
        if math.isfinite(y):
            text.append(f"{'L' if pen else 'M'}{x:.1f} {y:.1f}")
        pen = math.isfinite(y)
    return "".join(text)


def _area(xs: Sequence[float], low: Numbers, high: Numbers, scale: _Scale) -> str:
    """Fill between two lines, wherever both are known."""
    text, run = [], []  # type: ignore[var-annotated]
    for x, a, b in [*zip(xs, low, high, strict=True), (0.0, math.nan, math.nan)]:
        if math.isfinite(a) and math.isfinite(b):
            run.append((x, scale.y(a), scale.y(b)))
        elif run:
            if len(run) == 1:  # alone: a narrow bar
                run = [(run[0][0] - 3, *run[0][1:]), (run[0][0] + 3, *run[0][1:])]
            there = (f"{x:.1f} {top:.1f}" for x, _, top in run)
            back = (f"{x:.1f} {bottom:.1f}" for x, bottom, _ in reversed(run))
            text.append(f"M{'L'.join([*there, *back])}Z")
            run = []
    return "".join(text)


def _grid(scale: _Scale, write: Write) -> str:
    parts = []
    for value in ticks(scale.low, scale.high):
        y = scale.y(value)
        parts.append(f'<path class="grid" d="M{_LEFT} {y:.1f}H{_WIDTH - _RIGHT}"/>')
        parts.append(
            f'<text class="end" x="{_LEFT - 5}" y="{y + 4:.1f}">{escape(write(value))}</text>'
        )
    return "".join(parts)


def _upright_grid(scale: _Scale, write: Write, height: int) -> str:
    parts = []
    for value in ticks(scale.low, scale.high, 8):
        x, look = scale.across(value), "axis" if value == 0 else "grid"
        parts.append(f'<path class="{look}" d="M{x:.1f} {_TOP}V{height - 24}"/>')
        parts.append(
            f'<text class="mid" x="{x:.1f}" y="{height - 8}">{escape(write(value))}</text>'
        )
    return "".join(parts)


def _limit(limit: float, scale: _Scale) -> str:
    y = scale.y(limit)
    width = _WIDTH - _RIGHT - _LEFT
    return (
        f'<rect class="broken" x="{_LEFT}" y="{_TOP}" width="{width}" height="{y - _TOP:.1f}"/>'
        f'<path class="axis" d="M{_LEFT} {y:.1f}h{width}"/>'
    )


def _names(xs: Sequence[float], places: Sequence[str]) -> str:
    """Write names along the axis: as many as fit, the first and the last among them."""
    count = min(_MOST_NAMES, len(places))
    shown = sorted({round(i * (len(places) - 1) / max(count - 1, 1)) for i in range(count)})
    y = _HEIGHT - _BOTTOM + 14
    return "".join(
        f'<text class="end" transform="translate({xs[i] + 4:.1f} {y}) rotate(-25)">'
        f"{escape(shortened(places[i]))}</text>"
        for i in shown
    )


def shortened(name: str, longest: int = _LONGEST_NAME) -> str:
    """Write a name so that it fits beside an axis.

    >>> shortened("2024-01"), shortened("a county with a long name"), shortened("\\x00")
    ('2024-01', 'a county with…', ' ')
    """
    name = "".join(c if c.isprintable() else " " for c in name)
    return name if len(name) <= longest else name[: longest - 1].rstrip() + "…"


def _row_name(name: str, y: float, left: int) -> str:
    return f'<text class="end" x="{left - 6}" y="{y}">{escape(shortened(name, 18))}</text>'


def _forest_row(span: Span, y: int, row: int, left: int, scale: _Scale, write: Write) -> str:
    middle, x = y + row / 2, scale.across(span.value)
    parts = [_row_name(span.name, middle + 4, left)]
    if math.isfinite(span.chance):
        a, b = scale.across(-span.chance), scale.across(span.chance)
        parts.append(
            f'<rect class="chance" x="{a:.1f}" y="{y + 2}" width="{b - a:.1f}" height="{row - 4}"/>'
        )
    if math.isfinite(span.low) and math.isfinite(span.high):
        a, b = scale.across(span.low), scale.across(span.high)
        parts.append(f'<path class="line c1" d="M{a:.1f} {middle}H{b:.1f}"/>')
    parts.append(f'<circle class="fill c1" cx="{x:.1f}" cy="{middle}" r="3.4"/>')
    tip = f"{span.name}: {_with_interval(span.value, span.low, span.high, write)}"
    return "".join([*parts, _hit(0, y, _WIDTH, row, tip)])


def _columns(xs: Sequence[float], tips: Sequence[str]) -> list[str]:
    """Return one area a place that shows its numbers."""
    edges = [(a + b) / 2 for a, b in pairwise(xs)]
    starts, stops = [_LEFT, *edges], [*edges, _WIDTH - _RIGHT]
    tall = _HEIGHT - _BOTTOM - _TOP
    return [_hit(a, _TOP, b - a, tall, tip) for a, b, tip in zip(starts, stops, tips, strict=False)]


def _hit(x: float, y: float, width: float, height: float, tip: str) -> str:
    return (
        f'<rect class="hit" x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}"'
        f' data-tip="{escape(tip)}"/>'
    )


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


def _svg(parts: Sequence[str], label: str, height: int = _HEIGHT) -> str:
    return (
        f'<svg class="plot" role="img" tabindex="0" viewBox="0 0 {_WIDTH} {height}"'
        f' aria-label="{escape(label)}">{"".join(parts)}</svg>'
    )


def _sample(look: tuple[str, str]) -> str:
    colour, dash = look
    return f'<path class="line {colour}" stroke-dasharray="{dash or "none"}" d="M0 6H26"/>'


def _patch(look: str) -> str:
    return f'<rect class="{look}" width="26" height="12"/>'


def _figure(
    key: str,
    title: str,
    caption: str,
    svg: str,
    legend: Sequence[tuple[str, str]],
    head: Sequence[str],
    rows: Sequence[Sequence[str]],
) -> str:
    samples = "".join(
        f'<li><svg viewBox="0 0 26 12" aria-hidden="true">{sample}</svg>{escape(name)}</li>'
        for sample, name in legend
    )
    left_out = f"<p>The last {MOST_ROWS} of {len(rows):,}.</p>" if len(rows) > MOST_ROWS else ""
    table = table_html(head, rows[-MOST_ROWS:], title)
    return (
        f'<figure class="chart" id="chart-{escape(key)}"><figcaption><h3>{escape(title)}</h3>'
        f"<span>{escape(caption)}</span></figcaption>{svg}"
        f'<ul class="legend">{samples}</ul><details><summary>Numbers</summary>{left_out}{table}'
        "</details></figure>"
    )


def table_html(head: Sequence[str], rows: Iterable[Sequence[str]], label: str) -> str:
    """Return a table that scrolls by itself where it is wider than the page.

    >>> table_html(["Group", "Rate"], [["F", "0.5"]], "Rates").count("<th scope")
    3
    """
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
