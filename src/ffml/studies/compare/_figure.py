"""A comparison in one picture: accuracy against fairness, one dot a method or variant."""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from ffml.studies.compare._summary import GROUP
from ffml.studies.compare._tradeoff import trade_off_curve
from ffml.studies.drawing import GREY, Look, legend, looks, panels, picture_bytes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FAIRNESS = {"typical gap, points": "typical_gap", "long-run gap, points": "long_run_gap"}


def draw_comparison(
    summary: pd.DataFrame, method_of: Mapping[str, str] | None = None
) -> dict[str, bytes]:
    """Draw balanced accuracy against typical and long-run gap; return bytes by file format.

    ``method_of`` names the method of a label, if that is not the label itself: variants of a method
    look alike but for a number, and have their trade-off curve.
    """
    groups: list[Any] = list(summary.groupby(GROUP[1:], sort=False))
    labels = list(dict.fromkeys(summary["label"]))
    method_of = method_of or {label: label for label in labels}
    look_of = looks(list(dict.fromkeys(method_of.values())))
    has_variants = len(set(method_of.values())) < len(method_of)
    numbers = {label: f"{i} " if has_variants else "" for i, label in enumerate(labels, 1)}
    several = summary["validation"].nunique() > 1
    size = (1.2 + 3.2 * len(groups), 6.4)
    with panels(len(FAIRNESS), len(groups), size, sharey="col") as (figure, grid):
        for line, (name, metric) in zip(grid, FAIRNESS.items(), strict=True):
            for axes, ((data, share), rows) in zip(line, groups, strict=True):
                _draw_panel(axes, rows, metric, method_of, look_of, numbers)
                axes.set_xlabel(name)
                judged = f", {100 * share:g} % judge" if several else ""
                if metric == "typical_gap":
                    axes.set_title(f"{Path(str(data)).stem}{judged}")
            line[0].set_ylabel("balanced accuracy")
        legend(figure, 3 if has_variants else 5)
        return picture_bytes(figure)


def _draw_panel(
    axes: "Axes",
    rows: pd.DataFrame,
    metric: str,
    method_of: Mapping[str, str],
    look_of: Mapping[str, Look],
    numbers: Mapping[str, str],
) -> None:
    axes.axvline(0, color=GREY, lw=1, ls=(0, (4, 3)), zorder=1)
    places: dict[str, list[tuple[float, float]]] = {}
    at: dict[tuple[float, float], list[str]] = {}  # variants that are the same run share a place
    for label, lines in rows.groupby("label", sort=False):
        values = lines.set_index("metric")[["mean", "low", "high"]]
        x, left, right = (100 * float(values[end][metric]) for end in values)
        y, low, high = (float(values[end]["balanced_accuracy"]) for end in values)
        method = method_of[str(label)]
        look = look_of[method]
        axes.plot([left, right], [y, y], color=look.colour, lw=1, alpha=0.45, zorder=2)
        axes.plot([x, x], [low, high], color=look.colour, lw=1, alpha=0.45, zorder=2)
        size = 13 if look.shape == "*" else 7
        name = f"{numbers[str(label)]}{label}"
        axes.plot(x, y, look.shape, color=look.colour, ms=size, mec="white", label=name, zorder=3)
        if math.isfinite(x) and math.isfinite(y):
            places.setdefault(method, []).append((x, y))
            at.setdefault((x, y), []).append(numbers[str(label)].strip())
    for place, here in at.items():
        axes.annotate(", ".join(here), place, (5, 4), textcoords="offset points", fontsize=9)
    if metric != "typical_gap":  # a signed gap has no trade-off curve
        return
    for method, points in places.items():
        curve = [points[i] for i in trade_off_curve([(-x * x, y) for x, y in points])]
        axes.plot(*zip(*curve, strict=True), color=look_of[method].colour, lw=1.4, zorder=2)
