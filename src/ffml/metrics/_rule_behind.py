"""The rule behind the facts, of all columns together: what the verdict of a notion goes by."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ffml.base import Ratio
from ffml.metrics._rule import largest
from ffml.metrics.alarm import Bound
from ffml.metrics.verdict import most_apart

Measure = Mapping[str, Any]  # a value with its ends, low and high
# Between which groups the lower end is, if one is too small to be compared; of gaps within tasks?
_NAMED: dict[str, Any] = {"between": [], "within": False}


class Apart(NamedTuple):
    """How far apart the groups of a column are, in the measure of the bound."""

    so_far: list[Measure]  # with more people of these tasks: all of them pooled, and within tasks
    means: list[Measure]  # in tasks to come, on average: opposite gaps cancel
    sizes: list[Measure]  # in tasks to come, whichever group is ahead
    newest: float  # at least, in the newest task; NaN where that is not known
    typical: float  # within tasks; 0 where they are not judged


def rule_behind(
    columns: Sequence[Mapping[str, Any]], bound: Bound, unknown: bool, by_task: bool
) -> dict[str, Any]:
    """Return both intervals of the rule, the typical gap, and why tasks to come may not be told.

    Args:
        columns: see `ffml.metrics.answer`.
        bound: what was asked.
        unknown: whether the notion cannot be measured.
        by_task: False: there are no tasks to come.
    """
    most, by_ratio = most_apart(bound), isinstance(bound, Ratio)
    parts = [_of_ratio(column) if by_ratio else _of_gap(column) for column in columns]
    here = [one for part in parts for one in part.so_far]
    means = [one for part in parts for one in part.means]
    to_come = _widest([*means, *(one for part in parts for one in part.sizes)], unknown)
    few = any(column["untold"] and column["judged_by_task"] for column in columns)
    newest = by_task and any(part.newest > most for part in parts)
    if newest:  # those to come are not drawn like these
        to_come["high"] = np.nan
    return to_come | {
        "so_far": _rule_so_far(here, unknown),
        "typical": max(part.typical for part in parts),
        "newest_beyond": newest,
        "small_tasks": few and _widest(means, unknown)["high"] <= most,
    }


def _rule_so_far(measures: Sequence[Measure], unknown: bool) -> dict[str, Any]:
    """Return the interval about more people of these tasks, and whose its ends are."""
    least = max(measures, key=lambda one: np.nan_to_num(one["low"], nan=-1.0))
    pooled = [one["low"] for one in measures if not (one["between"] or one["within"])]
    return _widest(measures, unknown) | {
        "widest": _furthest(measures)["widest"],
        "between": least["between"],
        "within": least["within"],
        "pooled_low": largest(pooled),
    }


def _of_gap(column: Mapping[str, Any]) -> Apart:
    """Return the gaps of a column.

    The typical gap has to lie within the bound in tasks that are large enough to be compared.
    Beyond the bound it may lie in tasks of any size.
    """
    within, pooled = column["judged_by_task"], column["pooled"]
    typical, large = column["typical"], column["large"]
    low = {"value": typical["value"], "low": typical["low"], "high": -1.0}
    kinds = ("pooled", "by_people") if within else ("pooled",)
    return Apart(
        so_far=[
            *(
                _NAMED
                | column[kind]["so_far"]
                | {"value": column[kind]["value"], "within": kind == "by_people"}
                for kind in kinds
            ),
            *_few(column, "gap"),
        ],
        means=[pooled, column["long_run"]] if within else [pooled],
        sizes=[large, low] if within else [],
        newest=float(pooled["newest"]["low"]),
        typical=float(np.nanmax([typical["value"], large["value"], 0.0])) if within else 0.0,
    )


def _of_ratio(column: Mapping[str, Any]) -> Apart:
    """Return the ratios of a column as how far apart rates are."""
    within, ratio, value = column["judged_by_task"], column["ratio"], column["within"]["value"]
    so_far = ratio["so_far"]
    pooled = _turned(so_far | {"value": ratio["value"]}) | {"widest": so_far["widest"]}
    return Apart(
        so_far=[_NAMED | pooled, *_few(column, "ratio")],
        means=[_turned(ratio)],
        sizes=[_turned(column["within"])] if within else [],
        newest=1 - float(ratio["newest"]["high"]),
        typical=1 - float(np.nan_to_num(value, nan=1.0)) if within else 0.0,
    )


def _few(column: Mapping[str, Any], name: str) -> list[Measure]:
    """Return the lower end of a group too small to be compared; it has no upper one."""
    nothing = {"value": np.nan, "high": -1.0, "widest": []}
    return [_NAMED | column["few"][name] | nothing] if name in column["few"] else []


def _turned(ratio: Mapping[str, float]) -> dict[str, Any]:
    return {"value": 1 - ratio["value"], "low": 1 - ratio["high"], "high": 1 - ratio["low"]}


def _widest(measures: Sequence[Measure], unknown: bool) -> dict[str, Any]:
    """Return the largest lower end, the largest upper end, and the value that it belongs to."""
    widest = _furthest(measures)
    high = np.nan if unknown else widest["high"]
    low = largest(one["low"] for one in measures)
    return {"low": low, "high": high, "value": widest["value"]}


def _furthest(measures: Sequence[Measure]) -> Measure:
    return max(measures, key=lambda one: np.nan_to_num(one["high"], nan=2.0))
