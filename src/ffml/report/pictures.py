"""Pictures of decisions, of a run or of anybody, from counts by task, group, label and decision."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ffml import metrics
from ffml.audit.record import RunRecord
from ffml.base import SensitiveColumn
from ffml.metrics.alarm import Asked, column_alarms
from ffml.metrics.phrases import asked_words, decided, in_points, were_decided
from ffml.metrics.rates import Z, difference_ends, divide, wilson
from ffml.report.charts import (
    Bars,
    Line,
    Span,
    bars_figure,
    forest_figure,
    line_figure,
)

MOST_INTERVALS = 3  # groups; the intervals of more would hide each other
Tables = Mapping[str, np.ndarray]  # column -> (T, k, 3, 2)


def decision_pictures(record: RunRecord, shown: slice = slice(None)) -> Sequence[str]:
    """Draw what was decided about whom, as the report does; of some tasks, without who changed."""
    said = (record.tables, record.columns, record.tasks, record.asked)
    moved = record.moved if shown == slice(None) else {}
    return [
        *rate_pictures(*said, record.favourable, shown=shown),
        *evidence_pictures(*said, shown),
        *moved_pictures(moved, record.favourable),
    ]


def headline_first(
    columns: Sequence[SensitiveColumn], answer: Mapping[str, Any]
) -> list[SensitiveColumn]:
    """Put the column first that the answer names: the first picture is of what was said."""
    fact = answer["notions"][0]["fact"] if answer["notions"] else None
    return sorted(columns, key=lambda one: fact is not None and one.name != fact["column"])


def rate_pictures(
    tables: Tables,
    columns: Sequence[SensitiveColumn],
    tasks: Sequence[str],
    asked: Asked,
    favourable: str,
    ends: tuple[float, float] | None = None,
    title: str = "",
    shown: slice = slice(None),
) -> list[str]:
    """Draw rates by group and gaps by task, or of the tasks ``shown``; none where there is one."""
    tables, tasks = {name: counts[shown] for name, counts in tables.items()}, tasks[shown]
    if len(tasks) < 2:
        return []
    ends = ends or rate_ends(*tables.values())
    most = gap_asked(asked)
    return [
        picture
        for i, column in enumerate(columns)
        for picture in (
            rates_picture(
                f"rates-{i}", tables[column.name], column, tasks, most, favourable, ends, title
            ),
            _gaps(f"gaps-{i}", tables[column.name], column, tasks, most),
        )
    ]


def gap_asked(asked: Asked) -> float | None:
    """Return the largest gap of demographic parity that was asked for."""
    gaps = (most for notion, most in asked if notion == "demographic-parity")
    return next((most for most in gaps if isinstance(most, float)), None)


def evidence_pictures(
    tables: Tables,
    columns: Sequence[SensitiveColumn],
    tasks: Sequence[str],
    asked: Asked,
    shown: slice = slice(None),
) -> list[str]:
    """Draw what the alarm rests on, for each notion and column; none where there is one task.

    Of a part, ``shown``, the evidence is still that of all tasks up to then: an alarm stands.
    """
    drawn, places = [], tasks[shown]
    by_column = column_alarms(tables, columns, asked) if len(places) > 1 else {}
    for i, ((notion, bound, name), alarms) in enumerate(by_column.items()):
        logs = [(one.comparison, one.log_wealth[shown] / np.log(10)) for one in alarms]
        lines = [Line(whom, log.tolist()) for whom, log in logs]
        if lines:
            drawn.append(
                line_figure(
                    f"evidence-{i}",
                    f"Evidence against {asked_words(notion, bound)}, by {name}",
                    "0 is no evidence, 1 is ten to one, 2 is a hundred to one. At the line the"
                    " alarm is raised, and it stands, however often one looks.",
                    places,
                    lines,
                    lambda value: f"{value:.1f}".replace("-", "−"),
                    limit=alarms[0].log_needed / np.log(10),
                )
            )
    return drawn


def rates_picture(
    key: str,
    counts: np.ndarray,
    column: SensitiveColumn,
    tasks: Sequence[str],
    most: float | None,
    favourable: str,
    ends: tuple[float, float],
    title: str = "",
) -> str:
    """Draw each group's rate by task; the band is as wide as what is allowed."""
    chosen, people = counts[..., 1].sum(-1), counts.sum((-2, -1))
    low, high = wilson(chosen, people)
    rates = metrics.selection_rates(counts)
    few = len(column.groups) <= MOST_INTERVALS
    lines = [
        Line(
            name,
            rates[:, i].tolist(),
            low[:, i].tolist() if few else None,
            high[:, i].tolist() if few else None,
        )
        for i, name in enumerate(column.groups)
    ]
    band: Any = None
    caption = f"How many of 100 {were_decided(favourable)} in each task."
    if most is not None:
        middle = divide(chosen.sum(1), people.sum(1))
        band = tuple(np.clip(middle + end, 0, 1).tolist() for end in (-most / 2, most / 2))
        caption += f" Rates within a band of {100 * most:g} points keep what was asked."
    rates_by = f"rates by {column.name}"
    title = f"{title}: {rates_by}" if title else rates_by
    title = f"{title[0].upper()}{title[1:]}"
    return line_figure(key, title, caption, tasks, lines, whole_points, band=band, ends=ends)


def rate_ends(*counts: np.ndarray) -> tuple[float, float]:
    """Return the ends of an axis of rates, in tenths, with room for intervals that are drawn.

    It is one scale for all that is compared.
    """
    rates = np.concatenate([metrics.selection_rates(one).ravel() for one in counts])
    rates = rates[np.isfinite(rates)]
    if not len(rates):
        return 0.0, 1.0
    reach = [rates - 0.05, rates + 0.05]
    for one in counts:
        if one.shape[1] <= MOST_INTERVALS:
            low, high = wilson(one[..., 1].sum(-1), one.sum((-2, -1)))
            reach += [low[np.isfinite(low)], high[np.isfinite(high)]]
    ends = np.concatenate(reach)
    low, high = np.floor(10 * ends.min()) / 10, np.ceil(10 * ends.max()) / 10
    return float(np.clip(low, 0, 0.9)), float(np.clip(high, 0.1, 1))


def whole_points(value: float) -> str:
    """Write points: on an axis without a decimal that says nothing."""
    return in_points(value).removesuffix(".0")


def _gaps(
    key: str, counts: np.ndarray, column: SensitiveColumn, tasks: Sequence[str], most: float | None
) -> str:
    """Draw each task's gap between the two groups that are furthest apart over all tasks."""
    pooled = metrics.gap_statistics(counts, column.groups, by_task=False)
    place = int(np.argmax(np.abs(np.nan_to_num([one.pooled for one in pooled]))))
    gaps = metrics.round_gaps(counts)
    gap = gaps.gap[:, place]
    chosen, people = (part[..., place] for part in metrics.side_counts(counts))  # (2, T)
    low, high = difference_ends(divide(chosen, people), *wilson(chosen, people))
    rate = float(counts[..., 1].sum() / max(counts.sum(), 1))
    even = Z * np.sqrt(rate * (1 - rate) / np.where(gaps.rows > 0, gaps.rows, np.nan))[:, place]
    spans = [
        Span(task, float(g), float(a), float(b), float(e))
        for task, g, a, b, e in zip(tasks, gap, low, high, even, strict=True)
    ]
    first = pooled[place].comparison.partition(" against ")[0]
    return forest_figure(
        key,
        f"Gap by task, {column.name}: {pooled[place].comparison}",
        f"Points between the two rates in each task. To the right of 0, that of {first} is the"
        " higher one. Grey: what chance alone makes of equal rates.",
        spans,
        whole_points,
        allowed=most,
    )


def moved_pictures(moved: Mapping[str, Sequence[Mapping[str, Any]]], favourable: str) -> list[str]:
    """Draw by group how many decisions fairness moved, and in which direction."""
    towards = decided(favourable)
    return [
        bars_figure(
            f"moved-{i}",
            f"Who changed, by {column}",
            "Decisions that are other than those of the same learner without fairness.",
            "Group",
            [Bars(g["group"], g["towards"], g["away"], f" ({g['people']:,})") for g in groups],
            (f"now {towards}", f"now not {towards}"),
            lambda count: f"{count:,.0f}",
            mirrored=True,
        )
        for i, (column, groups) in enumerate(moved.items())
    ]
