"""What the rounds of a run show of each protected column: ratios with their ceilings, and gaps."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from ffml import metrics
from ffml.base import SensitiveColumn
from ffml.metrics import GapStatistics
from ffml.metrics.summary import summarise

NOTIONS = ("demographic-parity", "equalized-odds")


def by_column(
    tables: Mapping[str, np.ndarray],
    columns: tuple[SensitiveColumn, ...],
    ceilings: Mapping[str, np.ndarray] | None = None,
) -> dict[str, dict[str, Any]]:
    """Summarise all rounds, column by column, as summary.json does.

    Args:
        tables: column -> counts ``(T, k, 3, 2)`` of all rounds.
        columns: their names and groups.
        ceilings: column -> noise ceilings of DP and EO ``(T, 2)``; None: they are drawn here.
    """
    if ceilings is None:
        ceilings = {name: _drawn_ceilings(counts) for name, counts in tables.items()}
    return {c.name: _summary(tables[c.name], ceilings[c.name], c) for c in columns}


def _drawn_ceilings(tables: np.ndarray) -> np.ndarray:
    found = [metrics.noise_ceilings(table) for table in tables]
    return np.array([[one["dp"], one["eo"]] for one in found]).reshape(-1, 2)


def gaps_by_column(
    summary: Mapping[str, Any], notion: str = "demographic-parity"
) -> dict[str, list[GapStatistics]]:
    """Read the gaps of every column back from a run's summary."""
    return {
        name: [GapStatistics(**_with_nan(found)) for found in column["gaps"][notion]]
        for name, column in summary["by_column"].items()
    }


def worst_column(summary: Mapping[str, Any]) -> str:
    """Return the column with the largest typical gap."""
    gaps = gaps_by_column(summary)
    return max(gaps, key=lambda name: _size(gaps[name]))


def _size(found: list[GapStatistics]) -> float:
    return float(np.nan_to_num(metrics.largest_gap(found).typical, nan=-1.0)) if found else -1.0


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
            {"ratio": value, "ceiling": np.nan if np.isnan(value) else ceiling}
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
