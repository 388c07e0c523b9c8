"""Gaps and ratios of each protected column over many rounds, and the rounds that add most."""

import math

import numpy as np

from ffml import metrics
from ffml.metrics import GapStatistics
from ffml.metrics.by_column import gaps_by_column, worst_column
from ffml.report._counts import round_tables
from ffml.report._view import RunView
from ffml.report.numbers import percent, points, points_interval, rate

NOTIONS = {"demographic-parity": "Decisions", "equalized-odds": "Decisions by label"}
NUM_WORST_TASKS = 8


def ratio(run: RunView, metric: str) -> dict[str, float]:
    """Return mean, deviation, ceiling and share of DP or EO, of the column furthest apart."""
    entry = run.summary["by_column"][worst_column(run.summary)][metric]
    return {name: math.nan if value is None else float(value) for name, value in entry.items()}


def gap_rows(run: RunView) -> list[dict[str, str]]:
    """Write the gaps of every column and comparison."""
    return [
        {"column": column, "comparison": found.comparison, "whose": whose, **gap_cells(found)}
        for notion, whose in NOTIONS.items()
        for column, several in gaps_by_column(run.summary, notion).items()
        for found in several
    ]


def gap_cells(found: GapStatistics) -> dict[str, str]:
    """Write one comparison: all people pooled, and within tasks."""
    cells = {"rounds": f"{found.rounds}"}
    for kind in ("pooled", "typical", "long_run"):
        value, low, high = (getattr(found, f"{kind}{end}") for end in ("", "_low", "_high"))
        cells |= {kind: points(value), f"{kind}_interval": points_interval(low, high)}
    return cells


def ratio_rows(run: RunView) -> list[dict[str, str]]:
    """Write the mean DP and EO of every column, and what they are of their ceilings."""
    rows = []
    for column, found in run.summary["by_column"].items():
        for metric in ("dp", "eo"):
            mean, ceiling, share = (
                math.nan if found[metric][k] is None else found[metric][k]
                for k in ("mean", "ceiling", "of_ceiling")
            )
            rows.append(
                {
                    "column": column,
                    "metric": metric.upper(),
                    "mean": rate(mean),
                    "ceiling": rate(ceiling),
                    "share": percent(share),
                    "rounds": f"{found[metric]['defined']} of {found['rounds']}",
                }
            )
    return rows


def worst_rounds(run: RunView) -> list[tuple[int, dict[str, str]]]:
    """Return the rounds that add most to the typical gap, and how far apart whose rates were."""
    added, whom, gaps = [], [], []
    for column, (names, tables) in round_tables(run).items():
        found = metrics.round_gaps(tables)
        added.append(np.nan_to_num(metrics.typical_weights(found.rows) * found.square))
        compared = metrics.comparisons(len(names), names, "demographic-parity")
        whom += [f"{column}: {name}" for name, _, _ in compared]
        gaps.append(found.gap)
    if not whom:
        return []
    each, signed = np.concatenate(added, axis=1), np.concatenate(gaps, axis=1)
    worst = each.argmax(1)
    most = each[np.arange(len(each)), worst]
    order = [i for i in np.argsort(-most, kind="stable") if most[i] > 0][:NUM_WORST_TASKS]
    return [
        (int(i), {"whom": whom[worst[i]], "gap": points(float(signed[i, worst[i]]))}) for i in order
    ]
