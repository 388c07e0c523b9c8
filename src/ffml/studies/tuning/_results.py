"""The files that a search leaves: all settings, the chosen one and why, and the trade-off."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ffml.recipe.plain import to_json
from ffml.studies.compare import trade_off_curve
from ffml.studies.drawing import BLUE, GREY, ORANGE, RED, legend, panels, picture_bytes
from ffml.studies.files import write_files
from ffml.studies.tuning._choose import METRICS, Rule
from ffml.studies.tuning._search import Search, Span
from ffml.tables.csvfile import frame_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_ROUNDS = {"judged": "rounds", "dp_defined": "dp_rounds", "eo_defined": "eo_rounds"}
SETTINGS, CHOSEN, PICTURE = "settings.csv", "chosen.json", "trade-off"


def write_search(
    folder: Path,
    search: Search,
    span: Span,
    table: pd.DataFrame,
    rule: Rule,
    facts: Mapping[str, Any],
) -> dict[str, Any]:
    """Write all files from what `ranked` returned; return what chosen.json says."""
    document = chosen_document(search, span, table, rule, facts)
    files: dict[str, str | bytes] = {SETTINGS: settings_csv(search, table)}
    pictures = draw_trade_off(table, rule, _title(search, span))
    files |= {f"{PICTURE}.{kind}": data for kind, data in pictures.items()}
    files[CHOSEN] = to_json(document)
    write_files(folder, files)
    return document


def settings_csv(search: Search, table: pd.DataFrame) -> str:
    """One line a setting in the rule's order: its values, then how it did; empty: undefined."""
    values = pd.DataFrame([_words(search.settings[number - 1]) for number in table.index])
    rest = table.reset_index(drop=True)
    lines = pd.concat([values, rest], axis=1)
    lines.insert(0, "rank", range(1, len(lines) + 1))
    return frame_text(lines)


def chosen_document(
    search: Search, span: Span, table: pd.DataFrame, rule: Rule, facts: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the chosen setting and how it was chosen; ``ffml run --config`` reads ``run``."""
    best, number = table.iloc[0], int(table.index[0])
    return {
        "data": search.data,
        "method": search.method,
        "settings": search.settings[number - 1],
        "how": {
            **facts,
            "seeds": search.seeds,
            "rounds": {"first": span.first, "last": span.last, "of": span.rounds},
            "min_validation": search.min_validation,
            "rule": str(rule),
            "targets": {"dp_of_ceiling": rule.target_dp, "eo_of_ceiling": rule.target_eo},
            "settings_tried": len(table),
            "settings_that_reach_the_targets": int((table["shortfall"] <= 0).sum()),
            "settings_as_fair_as_the_fairest": int(table["as_fair"].sum()),
        },
        "measured": {
            name: {"mean": float(best[name]), "standard_error": float(best[f"{name}_se"])}
            for name in METRICS
        }
        | {name: {"mean": float(best[name])} for name in ("typical_gap", "long_run_gap")}
        | {"rounds": {name: int(best[column]) for name, column in _ROUNDS.items()}},
        "run": replace(search.configs[number - 1], rounds=None).to_json(),
    }


def _title(search: Search, span: Span) -> str:
    return (
        f"{Path(search.data).stem}: {len(search.settings)} settings of {search.method}, each a "
        f"mean over rounds {span.first}–{span.last} of {span.rounds} and seeds {search.seed_words}"
    )


def _words(setting: Mapping[str, Any]) -> dict[str, Any]:
    """Write several values in one cell as ``--grid`` takes them.

    >>> _words({"max_gap": (0.02, 0.05), "l2": 0.1})
    {'max_gap': '0.02+0.05', 'l2': 0.1}
    """
    return {
        name: "+".join(map(str, value)) if isinstance(value, tuple) else value
        for name, value in setting.items()
    }


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
