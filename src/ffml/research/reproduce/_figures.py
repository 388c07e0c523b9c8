"""The paper's figures: lines by round, one for each method or variant."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd

from ffml.research.reproduce._made import Made
from ffml.research.reproduce._setting import Setting
from ffml.studies.drawing import (
    BLUE,
    DARK,
    GREEN,
    ORANGE,
    OURS,
    PURPLE,
    SKY,
    Look,
    draw_line,
    legend,
    panels,
)
from ffml.studies.efficiency import Point, rows_needed

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH, HEIGHT = 9.6, 2.6  # of a figure, and of one of its rows, in inches
LOOKS = {
    "FFML": OURS,
    "m-FTML": Look(BLUE),
    "TWP": Look(DARK, ":"),
    "OGDLC": Look(GREEN, "--"),
    "AdpOLC": Look(PURPLE, "-."),
    "GenOLC": Look(ORANGE),
    "without inner constraints": Look(BLUE),
    "without augmented term": Look(GREEN, "--"),
    "without augmented term and outer constraints": Look(DARK, ":"),
    "|U| = 4": Look(SKY, ":"),
    "|U| = 8": Look(GREEN, "--"),
    "|U| = 16": Look(BLUE),
    "|U| = 32": OURS,
}
NAMES = {"dp": "DP", "eo": "EO"}
MAX_LOSS = 0.65  # γ₁, of the mean loss; a coin has ln 2 = 0.69
MAX_DBC = 0.2  # γ₂
_MEASURED = (
    "Lines are means over the repeats in which the ratio is defined, bands one standard error. It "
    "is undefined where everyone got the same decision, or where a group (for EO, a group with "
    "one of the labels) has no rows; a gap is a round in which that is so in all repeats. 1 is "
    "parity."
)


class Panel(NamedTuple):
    """Lines to draw: ``label``, ``round``, ``mean`` and ``standard_error``."""

    title: str
    ylabel: str
    lines: pd.DataFrame
    limits: tuple[float, float] = (0.0, 1.05)


def by_round(frame: pd.DataFrame, metrics: Sequence[str]) -> pd.DataFrame:
    """Average over repeats.

    Returns:
        One row per metric, label, data set, share of validation rows and round: ``mean``,
        ``standard_error`` (NaN for one repeat) and the number of ``repeats`` with a defined value.
    """
    place = ["data", "validation", "label", "round"]
    parts = []
    for metric in metrics:
        grouped = frame.groupby(place, sort=False)[metric]
        table = grouped.agg(mean="mean", standard_error="sem", repeats="count").reset_index()
        parts.append(table.assign(metric=metric))
    columns = ["metric", *place, "mean", "standard_error", "repeats"]
    return pd.concat(parts, ignore_index=True)[columns]


def metric_by_round(metric: str, number: int) -> Callable[[Setting, pd.DataFrame], Made]:
    """Figures 2 and 3: one row of panels a data set, one column a share of validation rows."""
    name = NAMES[metric]

    def make(setting: Setting, frame: pd.DataFrame) -> Made:
        table = by_round(frame, [metric])
        given = [
            Panel(f"{str(data).capitalize()}, {share:.0%} of a task's rows judge", name, lines)
            for (data, share), lines in table.groupby(["data", "validation"], sort=False)
        ]
        title = f"Figure {number}. {name} by round"
        caption = (
            f"{name} of every round's decision on the validation rows of the new task, before the "
            f"task is learned. {_MEASURED}"
        )
        columns = table["validation"].nunique()
        return Made(caption, table, _drawn(given, columns, title, setting.note))

    return make


def variants_by_round(number: int, what: str) -> Callable[[Setting, pd.DataFrame], Made]:
    """Figures 5, 6 and 7: variants of FFML, one row of panels a data set, DP and EO beside it."""

    def make(setting: Setting, frame: pd.DataFrame) -> Made:
        table = by_round(frame, list(NAMES))
        given = [
            Panel(str(data).capitalize(), name, lines[lines["metric"] == metric])
            for data, lines in table.groupby("data", sort=False)
            for metric, name in NAMES.items()
        ]
        title = f"Figure {number}. {what[0].upper()}{what[1:]}"
        share = f"{setting.shares[0]:.0%} of a task's rows judge."
        caption = f"DP and EO by round: {what}; {share} {_MEASURED}"
        return Made(caption, table, _drawn(given, 2, title, setting.note))

    return make


def needed(curves: pd.DataFrame) -> pd.DataFrame:
    """Read the rows needed off each round's curve.

    Returns:
        One row per run and round with ``rows``, NaN where the thresholds were not reached. Rounds
        whose validation rows are of one group only, which have no DBC, are left out.
    """
    place = ["data", "validation", "label", "seed", "round"]
    table = [
        (*at, rows_needed((Point(*p) for p in zip(*points, strict=True)), MAX_LOSS, MAX_DBC))
        for at, curve in curves.groupby(place, sort=False)
        if not (points := [curve[name] for name in Point._fields])[-1].isna().all()
    ]
    return pd.DataFrame(table, columns=[*place, "rows"])


def efficiency_by_round(setting: Setting, curves: pd.DataFrame) -> Made:
    """Figure 4: rows needed by round, above the share of rounds in which any number was enough."""
    grouped = needed(curves).groupby(["data", "label", "round"], sort=False)["rows"]
    table = pd.DataFrame(
        grouped.agg(mean="mean", standard_error="sem", reached="count", repeats="size")
    ).reset_index()
    title, columns = "Figure 4. Task learning efficiency", table["data"].nunique()
    with panels(2, columns, (WIDTH, 2 * HEIGHT + 0.3), title, setting.note) as (figure, axes):
        top = float(curves["rows"].max()) * 1.05
        for (data, lines), (above, below) in zip(
            table.groupby("data", sort=False), axes.T, strict=True
        ):
            _draw_panel(above, Panel(str(data).capitalize(), "rows needed", lines, (-5, top)))
            above.set_xlabel("round")
            _draw_shares(below, lines)
        legend(figure)
    caption = (
        "Labelled rows of each new task (supports that grow, each part of the next) until the mean "
        f"loss is at most γ₁ = {MAX_LOSS} and |DBC| at most γ₂ = {MAX_DBC} on its validation rows; "
        f"{setting.shares[0]:.0%} of a task's rows judge. FFML and m-FTML adapt to the rows; the "
        "others, which never adapt, take their own steps on them. Above: mean over the repeats "
        "that reached both, bands one standard error. Below: the share of rounds and repeats that "
        "reached both at all. The paper's γ₁ = 0.0005 is a mean loss divided by the number of rows "
        "once more; here thresholds are on the mean loss."
    )
    order = ["data", "label", "round", "mean", "standard_error", "reached", "repeats"]
    return Made(caption, table[order].rename(columns={"mean": "rows_needed"}), figure)


def _drawn(given: Sequence[Panel], columns: int, title: str, note: str) -> "Figure":
    """Draw panels row by row, with one legend for all."""
    rows = -(-len(given) // columns)
    with panels(rows, columns, (WIDTH, HEIGHT * rows + 0.3), title, note) as (figure, axes):
        for panel, one in zip(given, axes.flat, strict=True):
            _draw_panel(one, panel)
        for one in axes[-1]:
            one.set_xlabel("round")
        legend(figure)
        return figure


def _draw_panel(axes: "Axes", panel: Panel) -> None:
    """Draw each label's mean with a band of one standard error to both sides."""
    for label, line in panel.lines.groupby("label", sort=False):
        rounds, mean, error = line[["round", "mean", "standard_error"]].to_numpy(float).T
        draw_line(axes, rounds, mean, error, LOOKS[str(label)], str(label))
    axes.set_title(panel.title, loc="left")
    axes.set_ylabel(panel.ylabel)
    axes.set_ylim(*panel.limits)
    if panel.lines["mean"].isna().all():
        axes.text(0.5, 0.5, "undefined in every round", transform=axes.transAxes, ha="center")
    ticks: Any = {"nbins": 8, "integer": True, "min_n_ticks": 1, "steps": [1, 2, 5, 10]}
    axes.locator_params(axis="x", **ticks)


def _draw_shares(axes: "Axes", lines: pd.DataFrame) -> None:
    totals = lines.groupby("label", sort=False)[["reached", "repeats"]].sum()
    shares = totals["reached"] / totals["repeats"]
    labels = [str(label) for label in shares.index]
    bars = axes.barh(labels, shares, color=[LOOKS[label].colour for label in labels], height=0.6)
    axes.bar_label(bars, fmt="{:.0%}", padding=3, fontsize=9)
    axes.invert_yaxis()
    axes.grid(False)
    axes.set_xlim(0, 1.15)
    axes.set_xlabel("share of rounds that reached both")
