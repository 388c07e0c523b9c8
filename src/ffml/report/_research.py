"""What researchers look at: gaps, ratios with ceilings, loss, constraints and multipliers."""

import re
from collections import Counter
from typing import Any

import numpy as np

from ffml.metrics.phrases import UNDEFINED, in_points
from ffml.report._facts import constraint_phrase, data_name, label_phrase, protected
from ffml.report._view import RunView
from ffml.report.charts import Line, line_figure
from ffml.report.numbers import counted, listed, number, points_interval

NOTIONS = {"demographic-parity": "Decisions", "equalized-odds": "Decisions by label"}
RATIOS = {"dp": "demographic parity", "eo": "equalized odds"}


def gap_rows(run: RunView) -> list[dict[str, str]]:
    """Write the gaps of every column and comparison."""
    return [
        gap_row(notion, column, gap)
        for notion in NOTIONS
        for column, summary in run.summary["by_column"].items()
        for gap in summary["gaps"][notion]
    ]


def gap_row(notion: str, column: str, gap: dict[str, Any]) -> dict[str, str]:
    """Write one comparison: all people pooled, and within tasks; see `metrics.GapStatistics`."""
    row = {"column": column, "comparison": gap["comparison"], "whose": NOTIONS[notion]}
    for kind in ("pooled", "typical", "long_run"):
        ends = gap[f"{kind}_low"], gap[f"{kind}_high"]
        row |= {kind: in_points(gap[kind]), f"{kind}_interval": points_interval(*ends)}
    return row | {"rounds": f"{gap['rounds']}"}


def constraint_totals(run: RunView) -> list[dict[str, Any]]:
    """Write what became of each constraint: rounds within the bound, last λ, both sums."""
    rows = []
    for name in run.constraints:
        g = run.rounds.numbers(f"constraint:{name}")
        measured = g[np.isfinite(g)]
        ends = [
            number(_last(run.rounds.numbers(f"{kind}:{name}")))
            for kind in ("multiplier", "violation", "clipped_violation")
        ]
        within = f"{(measured <= 0).sum()} of {len(measured)}" if len(measured) else UNDEFINED
        largest = number(measured.max()) if len(measured) else UNDEFINED
        rows.append({"name": name, "cells": [within, largest, *ends]})
    return rows


def _last(values: np.ndarray) -> float:
    defined = values[np.isfinite(values)]
    return float(defined[-1]) if len(defined) else float("nan")


# -- in words --------------------------------------------------------------------------------


def behind_paragraph(run: RunView) -> str:
    """Say in words what was learned, how often bounds were kept, and what is undefined."""
    collapsed = int(run.summary.get("collapsed_rounds") or 0)
    one = f"In {counted(collapsed, 'round')} everybody received the same decision."
    said = [_what(run), within_bounds(run), *undefined_rounds(run), one if collapsed else ""]
    return " ".join(filter(None, said))


def _what(run: RunView) -> str:
    config, columns, asked = run.config, protected(run), constraint_phrase(run)
    groups = f", comparing groups by {listed(columns)}" if columns else ""
    wrappers = listed([str(name) for name in config.get("wrappers") or []])
    return (
        f"{config.get('method')}{f' with {wrappers}' if wrappers else ''}"
        f" (model {config.get('model')}) learned to predict {label_phrase(run)}"
        f" on {data_name(run)} in {counted(len(run.rounds), 'round')}, one task each{groups}; it"
        f" was {f'asked to keep {asked}' if asked else 'given no fairness constraint'}."
    )


def within_bounds(run: RunView) -> str:
    """Say in how many rounds all measured constraints were within their bounds."""
    if not run.constraints:
        return ""
    constraint = np.stack([run.rounds.numbers(f"constraint:{name}") for name in run.constraints])
    measured = np.isfinite(constraint).any(axis=0)
    within = ~(constraint > 0).any(axis=0) & measured
    if not measured.any():
        return "No constraint could be measured in any round."
    return (
        f"Taken one by one, {within.sum()} of {counted(int(measured.sum()), 'round')} had all"
        " measured gaps within their bounds; on few people chance alone exceeds a small bound, so"
        " that the long-run gap says more."
    )


def undefined_rounds(run: RunView) -> list[str]:
    """Say in how many rounds a ratio could not be measured, and why."""
    said = []
    for metric, name in RATIOS.items():
        if missing := int(np.isnan(run.rounds.numbers(metric)).sum()):
            reasons = _undefined_reasons(run, metric).most_common()
            why = "; ".join(f"{reason}: {counted(count, 'round')}" for reason, count in reasons)
            because = f" ({why})" if why else ""
            said.append(
                f"The ratio of {name} could not be measured in {missing} of"
                f" {counted(len(run.rounds), 'round')}{because}."
            )
    return said or ["Both ratios could be measured in every round."]


def _undefined_reasons(run: RunView, metric: str) -> Counter[str]:
    """Count the rounds by what kept a metric from being measured; several things may."""
    cells = (reasons_by_metric(cell).get(metric, "") for cell in run.rounds.text("undefined"))
    return Counter(reason for cell in cells for reason in dict.fromkeys(cell.split("; ")) if reason)


def reasons_by_metric(cell: str) -> dict[str, str]:
    """Take a cell of the column ``undefined`` apart. A reason may itself hold a semicolon.

    >>> reasons_by_metric("dp: no rows; eo: no rows; group F has no rows with the favourable label")
    {'dp': 'no rows', 'eo': 'no rows; group F has no rows with the favourable label'}
    """
    return dict(re.findall(r"(?:^|; )([a-z_]+): (.*?)(?=; [a-z_]+: |$)", cell, flags=re.S))


def reliability_sentence(run: RunView) -> str:
    """Say how far probabilities are from how often the favourable label came."""
    error = (run.summary.get("reliability") or {}).get("error")
    if error is None:
        return ""
    return (
        "Over all judged people, the probability given and how often the favourable label came"
        f" among those who were given it differ by {in_points(error)} points on average."
    )


# -- in pictures -----------------------------------------------------------------------------


def research_pictures(run: RunView) -> list[str]:
    """Draw ratios with their ceilings, loss, constraints and multipliers by round."""
    tasks, rounds = run.rounds.text("task"), run.rounds

    def line(name: str, column: str, muted: bool = False) -> Line:
        values, low, high = (rounds.numbers(column + end).tolist() for end in ("", "_low", "_high"))
        known = f"{column}_low" in rounds.columns
        return Line(name, values, low if known else None, high if known else None, muted)

    def ratio(key: str) -> str:
        lines = [line(key.upper(), key), line("Noise ceiling", f"{key}_ceiling", muted=True)]
        caption = "1 means equal rates; the ceiling is what chance alone leaves of that."
        title = f"{RATIOS[key].capitalize()} ({key.upper()})"
        return line_figure(key, title, caption, tasks, lines, number, ends=(0.0, 1.0))

    drawn = [
        ratio("dp"),
        ratio("eo"),
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
