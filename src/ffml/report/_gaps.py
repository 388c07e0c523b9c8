"""Gaps and ratios of each protected column over many rounds, and the rounds that add most."""

import math

import numpy as np

from ffml import metrics
from ffml.metrics import GapStatistics
from ffml.report._counts import round_tables
from ffml.report._files import Run
from ffml.report._numbers import percent, points, points_interval, rate
from ffml.runs.by_column import gaps_by_column, worst_column

PARTS = ("all", "last_third")
NOTIONS = {"demographic-parity": "Decisions", "equalized-odds": "Decisions by label"}
NUM_WORST_TASKS = 8


def ratio(run: Run, metric: str, part: str = "last_third") -> dict[str, float]:
    """Return mean, deviation, ceiling and share of DP or EO, of the column furthest apart."""
    entry = run.summary["by_column"][worst_column(run.summary, part)[0]][part][metric]
    return {name: math.nan if value is None else float(value) for name, value in entry.items()}


def gap_rows(run: Run) -> list[dict[str, str]]:
    """Write the gaps of every column and comparison."""
    rows = []
    for notion, whose in NOTIONS.items():
        for column, first in gaps_by_column(run.summary, "all", notion).items():
            last = gaps_by_column(run.summary, "last_third", notion)[column]
            for found in zip(first, last, strict=True):
                row = {"column": column, "comparison": found[0].comparison, "whose": whose}
                for part, one in zip(PARTS, found, strict=True):
                    row |= _gap_cells(part, one)
                rows.append(row)
    return rows


def _gap_cells(part: str, found: GapStatistics) -> dict[str, str]:
    return {
        f"{part}_typical": points(found.typical),
        f"{part}_typical_interval": points_interval(found.typical_low, found.typical_high),
        f"{part}_long_run": points(found.long_run),
        f"{part}_long_run_interval": points_interval(found.long_run_low, found.long_run_high),
        f"{part}_rounds": f"{found.rounds}",
    }


def ratio_rows(run: Run) -> list[dict[str, str]]:
    """Write the mean DP and EO of every column, and what they are of their ceilings."""
    rows = []
    for column, parts in run.summary["by_column"].items():
        for metric in ("dp", "eo"):
            row = {"column": column, "metric": metric.upper()}
            for part in PARTS:
                entry = parts[part][metric]
                mean, ceiling, share = (
                    math.nan if entry[k] is None else entry[k]
                    for k in ("mean", "ceiling", "of_ceiling")
                )
                row |= {f"{part}_mean": rate(mean), f"{part}_ceiling": rate(ceiling)}
                row[f"{part}_share"] = percent(share)
                row[f"{part}_rounds"] = f"{entry['defined']} of {parts[part]['rounds']}"
            rows.append(row)
    return rows


def worst_rounds(run: Run) -> list[tuple[int, dict[str, str]]]:
    """Return the rounds that add most to the typical gap, and how far apart whose rates were."""
    added, whom, gaps = [], [], []
    for column, (names, tables) in round_tables(run).items():
        found = metrics.round_gaps(tables)
        added.append(np.nan_to_num(metrics.typical_weights(found.rows) * found.square))
        whom += [f"{column}: {name}" for name in (names[1:] if len(names) == 2 else names)]
        gaps.append(found.gap)
    if not added:
        return []
    each, signed = np.concatenate(added, axis=1), np.concatenate(gaps, axis=1)
    worst = each.argmax(1)
    most = each[np.arange(len(each)), worst]
    order = [i for i in np.argsort(-most, kind="stable") if most[i] > 0][:NUM_WORST_TASKS]
    return [
        (int(i), {"whom": whom[worst[i]], "gap": points(float(signed[i, worst[i]]))}) for i in order
    ]
