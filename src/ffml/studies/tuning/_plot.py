"""The trade-off that a search found: accuracy against fairness, one dot a setting."""

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ffml.studies.compare import trade_off_curve
from ffml.studies.drawing import BLUE, GREY, ORANGE, RED, legend, panels, picture_bytes
from ffml.studies.tuning._choose import Rule

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def draw_trade_off(table: pd.DataFrame, rule: Rule, title: str) -> dict[str, bytes]:
    """Draw accuracy against DP and EO over their ceilings; return bytes by file format.

    The first row of the table is the chosen setting; the rule's targets are lines.
    """
    with panels(1, 2, (9.5, 4.4), sharey=True) as (figure, grid):
        left, right = grid[0]
        _draw_panel(left, table, "dp_of_ceiling", rule.target_dp, "DP / ceiling")
        _draw_panel(right, table, "eo_of_ceiling", rule.target_eo, "EO / ceiling")
        left.set_ylabel("balanced accuracy")
        figure.suptitle(title, x=0.01, ha="left", fontsize=10)
        legend(figure)
        return picture_bytes(figure)


def _draw_panel(axes: "Axes", table: pd.DataFrame, metric: str, target: float, name: str) -> None:
    fairness = table[metric].to_numpy(float)
    accuracy = table["balanced_accuracy"].to_numpy(float)
    reached = table["shortfall"].to_numpy(float) <= 0
    known = np.flatnonzero(np.isfinite(fairness + accuracy))
    points = list(zip(fairness[known], accuracy[known], strict=True))
    line = known[trade_off_curve(points)] if points else known
    axes.axvline(target, color=GREY, lw=1, ls=(0, (4, 3)), zorder=1, label="target")
    axes.plot(
        fairness[line], accuracy[line], color=ORANGE, lw=1.4, zorder=2, label="best trade-offs"
    )
    dots: dict[str, Any] = {"s": 22, "linewidths": 0, "alpha": 0.75, "zorder": 3}
    axes.scatter(
        fairness[~reached], accuracy[~reached], color=GREY, label="misses a target", **dots
    )
    axes.scatter(
        fairness[reached], accuracy[reached], color=BLUE, label="reaches both targets", **dots
    )
    errors = table[[f"{metric}_se", "balanced_accuracy_se"]].iloc[0].fillna(0).to_numpy(float)
    axes.errorbar(
        fairness[:1],
        accuracy[:1],
        xerr=errors[:1],
        yerr=errors[1:],
        fmt="*",
        ms=13,
        color=RED,
        mec="white",
        ecolor=RED,
        elinewidth=1.0,
        zorder=4,
        label="chosen, ± 1 standard error",
    )
    undefined = int((~np.isfinite(fairness + accuracy)).sum())
    missing = f"   ({undefined} of {len(table)} settings undefined, not shown)" if undefined else ""
    axes.set_xlabel(name + missing)
