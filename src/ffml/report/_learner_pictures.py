"""Pictures of a learner: accuracy against gap, what stands in for groups, and calibration."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from ffml.base import SensitiveColumn
from ffml.report._first import other_name
from ffml.report._groups import calibration
from ffml.report._view import RunView, Score
from ffml.report.charts import Bars, Line, Point, bars_figure, line_figure, points_figure
from ffml.report.pictures import whole_points

MOST_INPUTS = 8


def price_picture(run: RunView) -> str:
    """Draw accuracy against gap: the run, the same without fairness, others beside it."""
    answer = run.summary["answer"]
    fact = answer["notions"][0]["fact"] or {}
    points = [Point("this run", _number(fact.get("gap")), _number(answer["accuracy"]))]
    if free := run.summary.get("without_fairness"):
        gap, accuracy = (_number(free.get(k)) for k in ("gap", "accuracy"))
        points.append(Point("without fairness", gap, accuracy))
    for other in run.beside:
        theirs = other.summary["answer"]
        gap = _number((theirs["notions"][0]["fact"] or {}).get("gap"))
        points.append(Point(other_name(other), gap, _number(theirs["accuracy"])))
    if sum(math.isfinite(one.x + one.y) for one in points) < 2:
        return ""
    return points_figure(
        "price",
        "Accuracy against gap",
        "Up is more often right, left is more even. The large dot is this run.",
        points,
        ("gap in points", "accuracy"),
        (whole_points, lambda value: f"{value:.3f}"),
        allowed=answer["notions"][0]["max_gap"],
    )


def _number(value: Any) -> float:
    return math.nan if value is None else float(value)


def stand_in_pictures(inputs: Mapping[str, Any]) -> list[str]:
    """Draw which inputs tell the group, beside what the model goes by."""
    drawn = []
    for i, (column, tells) in enumerate((inputs.get("tells") or {}).items()):
        rows = [Bars(*row) for row in zip(inputs["columns"], tells, inputs["goes_by"], strict=True)]
        rows = sorted(rows, key=lambda row: -max(row[1:3]))[:MOST_INPUTS]
        drawn.append(
            bars_figure(
                f"inputs-{i}",
                f"What stands in for {column}",
                f"How much each input moves the guess of a person’s {column}, and how much it moves"
                " the score, of 100. An input that does both carries the group into decisions.",
                "Input",
                sorted(rows, key=lambda row: -row.first),
                (f"tells {column}", "the model goes by it"),
                lambda value: f"{100 * value:.0f} %",
            )
        )
    return drawn


def calibration_pictures(scores: Sequence[Score], columns: Sequence[SensitiveColumn]) -> list[str]:
    """Draw how often the favourable label came by what was said, for each group."""
    drawn = []
    for i, column in enumerate(columns):
        by_group = calibration(scores, [column.name])
        if not by_group:
            continue
        tenths = [(k + 0.5) / 10 for k in range(10)]
        lines = [
            Line(group, _came(by_group[group]["bins"]))
            for group in column.groups
            if group in by_group
        ]
        lines.append(Line("as often as was said", tenths, muted=True))
        drawn.append(
            line_figure(
                f"calibration-{i}",
                f"What probabilities mean, by {column.name}",
                "How often the favourable label came among people who were given about the same"
                " probability. On the dashed line, what was said is what came.",
                [f"{p - 0.05:.1f}–{p + 0.05:.1f}" for p in tenths],
                lines,
                lambda value: f"{value:.2f}",
                at=tenths,
                ends=(0.0, 1.0),
                axis="probability",
            )
        )
    return drawn


def _came(bins: Sequence[Mapping[str, Any]]) -> list[float]:
    """Return the share of label 1 by tenth; one with fewer than ten people says nothing."""
    values = [math.nan] * 10
    for one in bins:
        if one["people"] >= 10:
            values[min(int(one["probability"] * 10), 9)] = one["label_share"]
    return values
