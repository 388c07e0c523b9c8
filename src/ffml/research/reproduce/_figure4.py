"""Figure 4: how many labelled rows each new task takes."""

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ffml.research.reproduce._charts import HEIGHT, LOOKS, WIDTH, Panel, draw_panel
from ffml.research.reproduce._made import Made
from ffml.research.reproduce._setting import Setting
from ffml.studies.efficiency import Point, rows_needed
from ffml.studies.figures import legend, panels

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MAX_LOSS = 0.65  # γ₁, of the mean loss; a coin has ln 2 = 0.69
MAX_DBC = 0.2  # γ₂

_PLACE = ["data", "validation", "label", "seed", "round"]


def needed(curves: pd.DataFrame) -> pd.DataFrame:
    """Read the rows needed off each round's curve.

    Returns:
        One row per run and round with ``rows``, NaN where the thresholds were not reached. Rounds
        whose validation rows are of one group only, which have no DBC, are left out.
    """
    found = [
        (*place, rows_needed((Point(*p) for p in zip(*points, strict=True)), MAX_LOSS, MAX_DBC))
        for place, curve in curves.groupby(_PLACE, sort=False)
        if not (points := [curve[name] for name in Point._fields])[-1].isna().all()
    ]
    return pd.DataFrame(found, columns=[*_PLACE, "rows"])


def efficiency_by_round(setting: Setting, curves: pd.DataFrame) -> Made:
    """Draw rows needed by round above the share of rounds in which any number was enough."""
    grouped = needed(curves).groupby(["data", "label", "round"], sort=False)["rows"]
    table = grouped.agg(mean="mean", std="std", reached="count", repeats="size").reset_index()
    table["standard_error"] = table.pop("std") / np.sqrt(table["reached"])
    title, columns = "Figure 4. Task learning efficiency", table["data"].nunique()
    with panels(2, columns, (WIDTH, 2 * HEIGHT + 0.3), title, setting.note) as (figure, axes):
        top = float(curves["rows"].max()) * 1.05
        for (data, lines), (above, below) in zip(
            table.groupby("data", sort=False), axes.T, strict=True
        ):
            draw_panel(above, Panel(str(data).capitalize(), "rows needed", lines, (-5, top)))
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


def _draw_shares(ax: "Axes", lines: pd.DataFrame) -> None:
    totals = lines.groupby("label", sort=False)[["reached", "repeats"]].sum()
    shares = totals["reached"] / totals["repeats"]
    places = range(len(shares))
    ax.barh(places, shares, color=[LOOKS[str(label)].colour for label in shares.index], height=0.6)
    for place, share in zip(places, shares, strict=True):
        ax.text(share + 0.02, place, f"{share:.0%}", va="center", fontsize=9)
    ax.set_yticks(places, [str(label) for label in shares.index])
    ax.invert_yaxis()
    ax.grid(False)
    ax.set_xlim(0, 1.15)
    ax.set_xlabel("share of rounds that reached both")
