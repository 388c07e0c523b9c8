"""The rule behind the facts: the largest difference between any two groups, with its intervals.

An interval is of tasks to come or, as ``so_far``, of more people of the tasks that were. Its lower
end is the largest of the lower ends, each with its part of 2.5 % among all comparisons and
measures. Its upper end is the largest of the upper ends with 2.5 % each: to be missed, the truth
has to exceed the end of its own comparison.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ffml.metrics._gaps import NOTIONS, pairs
from ffml.metrics._statistics import Compared, PooledRatio, compared

TAIL = 0.025
KINDS = ("pooled", "by_people", "long_run", "typical")
LARGE = 200  # people of each group, from which on a task's gap is to be kept by the task itself


def measures(
    tables: np.ndarray, names: Sequence[str], notion: str, count: int, by_task: bool
) -> dict[str, dict[str, Any]]:
    """Return the largest gap of each of `KINDS`, the smallest ratio, and what large tasks show.

    Args:
        tables: ``(T, k, labels, 2)`` counts of the groups that are compared.
        names: of the groups.
        notion: among whom.
        count: how many comparisons and measures share the chance of a false "not kept".
        by_task: False: all rows are one population, and there are no tasks to come.

    Returns:
        `KINDS`, ``large`` (the typical gap of large tasks) and ``ratio``: each a value, ``low`` and
        ``high``; what is weighed by people also has them ``so_far``.
    """
    found, tail = compared(tables, names, notion), TAIL / max(count, 1)
    large = compared(tables * (tables.sum((2, 3), keepdims=True) >= LARGE), names, notion)
    result = {
        kind: _largest(found, kind, names) | _ends(found, kind, tail, by_task) for kind in KINDS
    }
    result["large"] = _largest(large, "typical", names) | _ends(large, "typical", tail, True)
    values = [one.ratio.value for one in found if np.isfinite(one.ratio.value)]
    result["ratio"] = {"value": min(values, default=np.nan)} | _ends(found, "ratio", tail, by_task)
    for kind in ("pooled", "by_people", "ratio"):
        result[kind]["so_far"] = _ends(found, kind, tail, False)
    return result


def _largest(found: Sequence[Compared], kind: str, names: Sequence[str]) -> dict[str, Any]:
    """Return the largest gap, and between whom it is."""
    values = np.array([getattr(one, kind).value for one in found])
    if not np.isfinite(values).any():
        return {"value": np.nan, "higher": "", "lower": ""}
    at = int(np.nanargmax(np.abs(values)))
    both = [names[part[at % len(part)]] for part in pairs(len(names))]
    lower, higher = both if values[at] >= 0 else both[::-1]
    return {"value": abs(float(values[at])), "higher": higher, "lower": lower}


def _ends(found: Sequence[Compared], kind: str, tail: float, to_come: bool) -> dict[str, float]:
    """Return the ends of the largest gap's interval, or of the smallest ratio's."""
    parts = [getattr(one, kind) for one in found]
    parts = [part for part in parts if np.isfinite(part.value)]
    each = [_apart(part, TAIL, to_come)[1] for part in parts]
    low = max(largest(_apart(part, tail, to_come)[0] for part in parts), 0.0)
    high = float(np.max(each)) if each else np.nan  # NaN where one of them cannot be told
    ends = {"low": low, "high": min(high, 1.0)}
    return {"low": 1 - ends["high"], "high": 1 - low} if kind == "ratio" else ends


def _apart(part: Any, tail: float, to_come: bool) -> tuple[float, float]:
    """Return how far apart two groups are, at least and at most, whichever is ahead."""
    low, high = part.ends(tail, to_come)
    if isinstance(part, PooledRatio):
        return 1 - high, 1 - low
    return max(low, -high), max(-low, high)


def num_comparisons(num_groups: int, notion: str) -> int:
    """Count what a notion compares: any two groups, by each of its labels and kinds of gap."""
    return len(KINDS) * len(NOTIONS[notion]) * len(pairs(num_groups)[0])


def largest(values: Iterable[float]) -> float:
    """Return the largest of those that are known; NaN if none is."""
    known = [value for value in values if np.isfinite(value)]
    return float(max(known)) if known else float("nan")
