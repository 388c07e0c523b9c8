"""The pictures of a run and of an audit, all from counts by task, group, label and decision."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ffml import metrics
from ffml.base import SensitiveColumn
from ffml.metrics.alarm import Asked, column_alarms
from ffml.metrics.phrases import asked_words, in_points, were_decided
from ffml.metrics.rates import Z, wilson
from ffml.report._view import RunView
from ffml.report.charts import Line, Moved, Span, forest_figure, line_figure, moved_figure
from ffml.report.numbers import number, points

Tables = Mapping[str, np.ndarray]  # column -> (T, k, 3, 2)


def group_pictures(
    tables: Tables,
    columns: Sequence[SensitiveColumn],
    tasks: Sequence[str],
    asked: Asked,
    favourable: str,
    shown: slice = slice(None),
) -> list[str]:
    """Draw rates by group, gaps by task and the alarm's evidence; none where there is one task.

    Of a part, ``shown``, the evidence is still that of all tasks up to then: an alarm stands.
    """
    drawn_tasks = tasks[shown]
    if len(drawn_tasks) < 2:
        return []
    bounds = dict(asked)
    most = bounds.get("demographic-parity")
    most = most if isinstance(most, float) else None
    drawn = []
    for i, column in enumerate(columns):
        counts = tables[column.name][shown]
        drawn.append(_rates(f"rates-{i}", counts, column, drawn_tasks, most, favourable))
        drawn.append(_gaps(f"gaps-{i}", counts, column, drawn_tasks, most))
    for i, ((notion, name), alarms) in enumerate(column_alarms(tables, columns, asked).items()):
        lines = [
            Line(one.comparison, (one.log_wealth[shown] / np.log(10)).tolist()) for one in alarms
        ]
        if lines:
            drawn.append(
                line_figure(
                    f"evidence-{i}",
                    f"Evidence against {asked_words(notion, bounds[notion])}, by {name}",
                    "Zeros of what bets on a broken bound have turned 1 into (2: 100). At the line"
                    " the alarm comes, and it stands, however often one looks.",
                    drawn_tasks,
                    lines,
                    lambda value: f"{value:.1f}".replace("-", "−"),
                    limit=alarms[0].log_needed / math.log(10),
                )
            )
    return drawn


def _rates(
    key: str,
    counts: np.ndarray,
    column: SensitiveColumn,
    tasks: Sequence[str],
    most: float | None,
    favourable: str,
) -> str:
    """Draw each group's rate by task; the band is as wide as what is allowed."""
    chosen, people = counts[..., 1].sum(-1), counts.sum((-2, -1))
    low, high = wilson(chosen, people)
    rates = metrics.selection_rates(counts)
    few = len(column.groups) <= 3  # the intervals of many would hide each other
    lines = [
        Line(
            name,
            rates[:, i].tolist(),
            low[:, i].tolist() if few else None,
            high[:, i].tolist() if few else None,
        )
        for i, name in enumerate(column.groups)
    ]
    band = None
    caption = f"How many of 100 {were_decided(favourable)} in each task."
    if most is not None:
        middle = metrics.rates.divide(chosen.sum(1), people.sum(1))
        ends = (np.clip(middle - most / 2, 0, 1), np.clip(middle + most / 2, 0, 1))
        band = (ends[0].tolist(), ends[1].tolist())
        caption += f" Rates within a band of {100 * most:g} points keep what was asked."
    title = f"Rates by {column.name}"
    return line_figure(key, title, caption, tasks, lines, in_points, band=band, ends=(0.0, 1.0))


def _gaps(
    key: str, counts: np.ndarray, column: SensitiveColumn, tasks: Sequence[str], most: float | None
) -> str:
    """Draw each task's gap between the two groups that are furthest apart over all tasks."""
    pooled = metrics.gap_statistics(counts, column.groups, by_task=False)
    place = int(np.argmax(np.abs(np.nan_to_num([one.pooled for one in pooled]))))
    gaps = metrics.round_gaps(counts)
    gap, chance = gaps.gap[:, place], np.sqrt(np.maximum(gaps.gap**2 - gaps.square, 0))[:, place]
    rate = float(counts[..., 1].sum() / max(counts.sum(), 1))
    even = Z * np.sqrt(rate * (1 - rate) / np.where(gaps.rows > 0, gaps.rows, np.nan))[:, place]
    spans = [
        Span(task, float(g), float(g - Z * c), float(g + Z * c), float(e))
        for task, g, c, e in zip(tasks, gap, chance, even, strict=True)
    ]
    whom = pooled[place].comparison
    return forest_figure(
        key,
        f"Gap by task, {column.name}: {whom}",
        "Points between the two rates in each task: above 0, the first is decided favourably more"
        " often. Grey: what chance alone makes of equal rates.",
        spans,
        points,
        allowed=most,
    )


def moved_pictures(moved: Mapping[str, Sequence[Mapping[str, Any]]], favourable: str) -> list[str]:
    """Draw by group how many decisions fairness moved, and in which direction."""
    towards = were_decided(favourable).removeprefix("were ")
    return [
        moved_figure(
            f"moved-{i}",
            f"Who changed, by {column}",
            "Decisions that are other than those of the same learner without fairness.",
            [Moved(g["group"], g["towards"], g["away"], g["people"]) for g in groups],
            towards,
            f"not {towards}",
        )
        for i, (column, groups) in enumerate(moved.items())
    ]


def reliability_picture(run: RunView) -> str:
    """Draw how often the favourable label came by probability; empty where nobody counted."""
    bins = (run.summary.get("reliability") or {}).get("bins")
    if not bins:
        return ""
    said, came = ([one[key] for one in bins] for key in ("probability", "label_share"))
    return line_figure(
        "reliability",
        "What probabilities mean",
        "How often the favourable label came among people who were given about the same"
        " probability.",
        [f"{p:.2f}, {one['people']:,} people" for p, one in zip(said, bins, strict=True)],
        [Line("Came", came), Line("As often as was said", said, muted=True)],
        lambda value: f"{value:.2f}",
        at=said,
        ends=(0.0, 1.0),
        axis="probability",
    )


def research_pictures(run: RunView) -> list[str]:
    """Draw ratios with their ceilings, loss, constraints and multipliers by round."""
    tasks, rounds = run.rounds.text("task"), run.rounds

    def line(name: str, column: str, muted: bool = False) -> Line:
        values, low, high = (rounds.numbers(column + end).tolist() for end in ("", "_low", "_high"))
        known = f"{column}_low" in rounds.columns
        return Line(name, values, low if known else None, high if known else None, muted)

    def ratio(key: str, title: str) -> str:
        lines = [line(key.upper(), key), line("Noise ceiling", f"{key}_ceiling", muted=True)]
        caption = "1 means equal rates; the ceiling is what chance alone leaves of that."
        return line_figure(key, title, caption, tasks, lines, number, ends=(0.0, 1.0))

    drawn = [
        ratio("dp", "Demographic parity (DP)"),
        ratio("eo", "Equalized odds (EO)"),
        line_figure(
            "accuracy",
            "Accuracy",
            "Share of right decisions; balanced: the mean of both labels’ shares.",
            tasks,
            [line("Balanced accuracy", "balanced_accuracy"), line("Accuracy", "accuracy")],
            number,
            ends=(0.0, 1.0),
        ),
        line_figure("loss", "Loss", "Mean cross-entropy.", tasks, [line("Loss", "loss")], number),
    ]
    for kind, title, caption, limit in _CONSTRAINTS if run.constraints else ():
        lines = [line(name, f"{kind}:{name}") for name in run.constraints]
        if kind != "multiplier" or any(np.nan_to_num(one.values).any() for one in lines):
            key = kind.replace("_", "-")
            drawn.append(line_figure(key, title, caption, tasks, lines, number, limit=limit))
    return drawn


_CONSTRAINTS = (
    ("constraint", "Constraint values g", "The gap minus what is allowed.", 0.0),
    ("multiplier", "Multipliers λ", "Weight on each constraint. It grows while g > 0.", None),
    ("violation", "Cumulative violation Σ g", "Rounds within the bound make up for others.", 0.0),
    (
        "clipped_violation",
        "Cumulative clipped violation Σ max(g, 0)",
        "What exceeds the bound; nothing makes up for it. Flat is good.",
        None,
    ),
)
