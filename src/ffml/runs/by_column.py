"""What the rounds of a run say of each protected column: ratios with their ceilings, and gaps."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from ffml import metrics
from ffml.base import SensitiveColumn
from ffml.metrics import GapStatistics
from ffml.metrics.summary import last_third, summarise

NOTIONS = ("demographic-parity", "equalized-odds")


def by_column(
    tables: Mapping[str, np.ndarray],
    columns: tuple[SensitiveColumn, ...],
    ceilings: Mapping[str, np.ndarray] | None = None,
) -> dict[str, dict[str, Any]]:
    """Summarise all rounds and the last third of them, column by column, as summary.json does.

    Args:
        tables: column -> counts ``(T, k, 2, 2)`` of all rounds.
        columns: their names and groups.
        ceilings: column -> noise ceilings of DP and EO ``(T, 2)``; None: they are drawn here.
    """
    if ceilings is None:
        ceilings = {name: _drawn_ceilings(counts) for name, counts in tables.items()}
    return {
        column.name: {
            part: _summary(part_of(tables[column.name]), part_of(ceilings[column.name]), column)
            for part, part_of in (("all", lambda rounds: rounds), ("last_third", last_third))
        }
        for column in columns
    }


def _drawn_ceilings(tables: np.ndarray) -> np.ndarray:
    found = [metrics.noise_ceilings(table) for table in tables]
    return np.array([[one["dp"], one["eo"]] for one in found]).reshape(-1, 2)


def gaps_by_column(
    summary: Mapping[str, Any], part: str, notion: str = "demographic-parity"
) -> dict[str, list[GapStatistics]]:
    """Read the gaps of every column back from a run's summary."""
    return {
        name: [GapStatistics(**_with_nan(found)) for found in column[part]["gaps"][notion]]
        for name, column in summary["by_column"].items()
    }


def worst_column(
    summary: Mapping[str, Any], part: str, notion: str = "demographic-parity"
) -> tuple[str, GapStatistics]:
    """Return the column with the largest typical gap, and that gap."""
    largest = {k: metrics.largest_gap(v) for k, v in gaps_by_column(summary, part, notion).items()}
    worst = metrics.largest_gap(list(largest.values()))
    return next((name, found) for name, found in largest.items() if found is worst)


def largest_long_run(found: list[GapStatistics]) -> GapStatistics:
    """Return the comparison that is furthest from even in the long run."""
    return max(found, key=lambda one: np.nan_to_num(abs(one.long_run), nan=-1.0))


def _summary(tables: np.ndarray, ceilings: np.ndarray, column: SensitiveColumn) -> dict[str, Any]:
    rounds = tables.any((1, 2, 3))
    judged = tables[rounds]
    return {
        "rounds": len(judged),
        **_ratios(judged, ceilings[rounds]),
        "gaps": {
            notion: [f._asdict() for f in metrics.gap_statistics(judged, column.groups, notion)]
            for notion in NOTIONS
        },
    }


def _ratios(judged: np.ndarray, ceilings: np.ndarray) -> dict[str, dict[str, Any]]:
    """Average DP and EO over the rounds where they are defined, and their ceilings likewise.

    What they reach of the ceiling is Σ ratio / Σ ceiling: the mean of such quotients flatters
    uneven decisions on small tasks.
    """
    found = {}
    for name, expected in zip(("dp", "eo"), ceilings.T, strict=True):
        values = metrics.METRICS[name](judged)
        rounds = [
            {"ratio": value, "ceiling": ceiling}
            for value, ceiling in zip(values.tolist(), expected.tolist(), strict=True)
        ]
        means = summarise(rounds)["all"]["columns"]
        ratio, ceiling = (means.get(k, _NEVER) for k in ("ratio", "ceiling"))
        share = ratio["mean"] / ceiling["mean"] if ceiling["mean"] else None
        found[name] = ratio | {"ceiling": ceiling["mean"], "of_ceiling": share}
    return found


_NEVER = {"mean": None, "std": None, "defined": 0, "undefined": 0}  # of no round


def _with_nan(found: Mapping[str, Any]) -> dict[str, Any]:
    return {name: np.nan if value is None else value for name, value in found.items()}
