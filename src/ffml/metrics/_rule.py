"""The rule behind the facts: the largest difference between any two groups, with its interval.

The lower end is the largest of the lower ends, each with its part of 2.5 % among all comparisons
and measures. The upper end is the largest of the upper ends with 2.5 % each: to be missed, the
truth has to exceed the end of its own comparison.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ffml.metrics._gaps import NOTIONS, GapStatistics, gap_statistics, pairs
from ffml.metrics._ratios import RatioStatistics, ratio_statistics

LEVEL = 0.95
KINDS = ("pooled", "long_run", "typical")
LARGE = 200  # people of each group, from which on a task's gap is to be kept by the task itself


def largest_gaps(
    tables: np.ndarray, names: Sequence[str], notion: str, count: int, by_task: bool
) -> dict[str, dict[str, Any]]:
    """Return the largest gap of each of `KINDS`, and of "large": the typical gap of large tasks.

    Args:
        tables: ``(T, k, labels, 2)`` counts of the groups that are compared.
        names: of the groups.
        notion: among whom.
        count: how many comparisons and measures share the chance of a false "not kept".
        by_task: False: all rows are one population.
    """
    each = gap_statistics(tables, names, notion, LEVEL, by_task)
    together = gap_statistics(tables, names, notion, _wide(count), by_task)
    found = {kind: _largest_gap(each, together, kind, names, notion) for kind in KINDS}
    large = tables * (tables.sum((2, 3), keepdims=True) >= LARGE)
    each, together = (gap_statistics(large, names, notion, v) for v in (LEVEL, _wide(count)))
    return found | {"large": _largest_gap(each, together, "typical", names, notion)}


def _largest_gap(
    each: Sequence[GapStatistics],
    together: Sequence[GapStatistics],
    kind: str,
    names: Sequence[str],
    notion: str,
) -> dict[str, Any]:
    values = [getattr(one, kind) for one in each]
    if not np.isfinite(values).any():
        return {"value": np.nan, "low": np.nan, "high": np.nan, "higher": "", "lower": ""}
    at = int(np.nanargmax(np.abs(values)))
    first, second = pairs(len(names))
    both = [names[part[at % len(first)]] for part in (second, first)]
    higher, lower = both if values[at] >= 0 else both[::-1]
    lows = (max(getattr(g, f"{kind}_low"), -getattr(g, f"{kind}_high")) for g in together)
    highs = (max(-getattr(g, f"{kind}_low"), getattr(g, f"{kind}_high")) for g in each)
    high = float(np.max(list(highs)))  # NaN where one of them cannot be told
    low = max(largest(lows), 0.0)
    return {
        "value": abs(values[at]),
        "low": low,
        "high": high,
        "higher": higher,
        "lower": lower,
    }


def smallest_ratio(
    tables: np.ndarray, names: Sequence[str], notion: str, count: int, by_task: bool
) -> dict[str, Any]:
    """Return the smallest ratio of any two groups' pooled rates, with its interval."""
    each = ratio_statistics(tables, names, notion, LEVEL, by_task)
    together = ratio_statistics(tables, names, notion, _wide(count), by_task)
    values = [one.ratio for one in each]
    if not np.isfinite(values).any():
        return {"value": np.nan, "low": np.nan, "high": np.nan}
    return {
        "value": float(np.nanmin(values)),
        "low": float(np.min([one.low for one in each])),
        "high": -largest(-one.high for one in together),
    }


def gap_beyond_chance(tables: np.ndarray, names: Sequence[str], notion: str, count: int) -> float:
    """Return how far apart pooled rates are at least, chance among these people taken out."""
    found = gap_statistics(tables, names, notion, _wide(count), by_task=False)
    return largest(max(one.pooled_low, -one.pooled_high) for one in found)


def ratio_beyond_chance(tables: np.ndarray, names: Sequence[str], notion: str, count: int) -> float:
    """Return what the smallest ratio is at most, likewise."""
    found: list[RatioStatistics] = ratio_statistics(tables, names, notion, _wide(count), False)
    return -largest(-one.high for one in found)


def num_comparisons(num_groups: int, notion: str) -> int:
    """Count what a notion compares: any two groups, by each of its labels and kinds of gap."""
    return len(KINDS) * len(NOTIONS[notion]) * len(pairs(num_groups)[0])


def largest(values: Iterable[float]) -> float:
    """Return the largest of those that are known; NaN if none is."""
    known = [value for value in values if np.isfinite(value)]
    return float(max(known)) if known else float("nan")


def _wide(count: int) -> float:
    return 1 - (1 - LEVEL) / max(count, 1)
