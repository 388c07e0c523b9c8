"""The rule behind the facts: the largest difference between any two groups, with its intervals.

An interval is of tasks to come or, as ``so_far``, of more people of the tasks that were. Its lower
end is the largest of the lower ends, each with its part of 2.5 % among all comparisons and
measures. Its upper end is the largest of the upper ends with 2.5 % each: to be missed, the truth
has to exceed the end of its own comparison.
"""

from collections.abc import Iterable, Sequence
from itertools import product
from typing import Any

import numpy as np

from ffml.metrics._gaps import NOTIONS, pairs
from ffml.metrics._statistics import Compared, PooledRatio, compared
from ffml.metrics._typical import WithinRatio
from ffml.metrics.facts import MIN_PEOPLE, Groups
from ffml.metrics.rates import exact_ends

TAIL = 0.025
KINDS = ("pooled", "by_people", "long_run", "typical")


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
        `KINDS`, ``large`` (the typical gap in tasks with `MIN_PEOPLE` of each group; of two groups
        that seldom meet in these, in all tasks), ``ratio`` (of all people) and ``within`` (the
        same in tasks, as ``large``): each a value, ``low`` and ``high``; what is weighed by people
        also has them ``so_far``, with the two groups that are ``widest`` apart then, and ``pooled``
        and ``ratio`` those of the ``newest`` task alone, if it is as large. ``untold``: in how many
        comparisons large tasks do not tell.
    """
    each, tail = compared(tables, names, notion), TAIL / max(count, 1)
    result: dict[str, Any] = {
        kind: _largest(each, kind, names) | _ends(each, kind, tail, by_task) for kind in KINDS
    }
    result["ratio"] = {"value": _lowest(each, "ratio")} | _ends(each, "ratio", tail, by_task)
    for kind in ("pooled", "by_people", "ratio"):
        widest = _widest(each, kind, tables, names, notion)
        result[kind]["so_far"] = _ends(each, kind, tail, False) | {"widest": widest}
    enough = tables * (tables.sum((2, 3), keepdims=True) >= MIN_PEOPLE)
    result |= _by_size(each, compared(enough, names, notion), names, tail)
    newest = compared(enough[_last(tables)], names, notion)
    for kind in ("pooled", "ratio"):
        result[kind]["newest"] = _ends(newest, kind, tail, False)
    return result


def few(groups: Groups, notion: str, count: int) -> dict[str, dict[str, Any]]:
    """Return how far groups too small to be compared are at least from those that are not.

    What so few people show may be enough for "not kept", and never is for "kept".

    Args:
        groups: both kinds.
        notion: among whom.
        count: how many comparisons and measures share the chance of a false "not kept".

    Returns:
        Of the ``gap`` and of 1 - ``ratio`` the largest lower end, if there is one above 0, and
        ``between`` whom that is.
    """
    found: dict[str, dict[str, Any]] = {}
    sides = ((groups.small, groups.few), (groups.names, groups.tables))
    for label in NOTIONS[notion]:
        ends = (_ends_of(*side, label, TAIL / max(count, 1) / 2) for side in sides)
        for (one, n, low, high), (other, many, least, most) in product(*ends):
            gap = max(low - most, least - high)
            ratio = min(high / least if least else np.inf, most / low if low else np.inf)
            for name, apart in (("gap", gap), ("ratio", 1 - ratio)):
                if apart > found.get(name, {"low": 0.0})["low"]:
                    found[name] = {"low": apart, "between": [[one, n], [other, many]]}
    return found


def _ends_of(
    names: Sequence[str], tables: np.ndarray, label: int | None, tail: float
) -> list[tuple[str, int, float, float]]:
    """Return each group that has people: its name, how many, and the ends of its rate."""
    counts = tables.sum(0)  # (k, label, decision)
    rows = counts.sum(1) if label is None else counts[:, label]
    people, (low, high) = rows.sum(1), exact_ends(rows[:, 1], rows.sum(1), tail)
    found = zip(names, people.tolist(), low.tolist(), high.tolist(), strict=True)
    return [one for one in found if one[1]]


def _last(tables: np.ndarray) -> slice:
    """Return the place of the newest task with decisions; an empty slice if there is none."""
    decided = np.flatnonzero(tables.any((1, 2, 3)))
    return slice(decided[-1], decided[-1] + 1) if len(decided) else slice(0, 0)


def _by_size(
    comparisons: Sequence[Compared], large: Sequence[Compared], names: Sequence[str], tail: float
) -> dict[str, Any]:
    """Return gap and ratio within tasks: of any two groups in large ones, if these can tell."""
    tells = [_tells(one, among) for one, among in zip(large, comparisons, strict=True)]
    size = [
        one if enough else among
        for one, among, enough in zip(large, comparisons, tells, strict=True)
    ]
    result: dict[str, Any] = {"untold": len(tells) - sum(tells)}
    result["large"] = _largest(size, "typical", names) | _ends(size, "typical", tail, True)
    values = (_lowest(size, "within"), _lowest(comparisons, "within"))
    result["within"] = {"value": float(np.fmin(*values))} | _ends(size, "within", tail, True)
    return result


def _tells(large: Compared, among: Compared) -> bool:
    """Tell whether large tasks are enough, and not a small part of what all of them show."""
    return large.typical.spread.enough and large.typical.weight >= among.typical.weight / 2


def _lowest(comparisons: Sequence[Compared], kind: str) -> float:
    """Return the smallest ratio; NaN where none is known."""
    values = [getattr(one, kind).value for one in comparisons]
    return min((value for value in values if np.isfinite(value)), default=np.nan)


def _largest(comparisons: Sequence[Compared], kind: str, names: Sequence[str]) -> dict[str, Any]:
    """Return the largest gap, and between whom it is."""
    values = np.array([getattr(one, kind).value for one in comparisons])
    if not np.isfinite(values).any():
        return {"value": np.nan, "higher": "", "lower": ""}
    at = int(np.nanargmax(np.abs(values)))
    both = [names[part[at % len(part)]] for part in pairs(len(names))]
    lower, higher = both if values[at] >= 0 else both[::-1]
    return {"value": abs(float(values[at])), "higher": higher, "lower": lower}


def _ends(
    comparisons: Sequence[Compared], kind: str, tail: float, to_come: bool
) -> dict[str, float]:
    """Return the ends of the largest gap's interval, or of the smallest ratio's."""
    parts = [getattr(one, kind) for one in comparisons]
    parts = [part for part in parts if np.isfinite(part.value)]
    each = [_apart(part, TAIL, to_come)[1] for part in parts]
    low = max(largest(_apart(part, tail, to_come)[0] for part in parts), 0.0)
    high = float(np.max(each)) if each else np.nan  # NaN where one of them cannot be told
    ends = {"low": low, "high": min(high, 1.0)}
    return {"low": 1 - ends["high"], "high": 1 - low} if kind in ("ratio", "within") else ends


def _widest(
    comparisons: Sequence[Compared],
    kind: str,
    tables: np.ndarray,
    names: Sequence[str],
    notion: str,
) -> list[list[Any]]:
    """Return the two groups whose upper end is the largest, each with its number of people."""
    parts = [getattr(one, kind) for one in comparisons]
    ends = [_apart(p, TAIL, False)[1] if np.isfinite(p.value) else np.nan for p in parts]
    if not np.isfinite(ends).any():
        return []
    both = pairs(len(names))
    label, at = divmod(int(np.nanargmax(ends)), len(both[0]))
    counts = tables.sum((0, 3))  # (k, label)
    of = NOTIONS[notion][label]
    people = counts.sum(1) if of is None else counts[:, of]
    return [[names[part[at]], int(people[part[at]])] for part in both]


def _apart(part: Any, tail: float, to_come: bool) -> tuple[float, float]:
    """Return how far apart two groups are, at least and at most, whichever is ahead."""
    low, high = part.ends(tail, to_come)
    if isinstance(part, PooledRatio | WithinRatio):
        return 1 - high, 1 - low
    return max(low, -high), max(-low, high) + 0.0  # not -0.0


def num_comparisons(groups: Groups, notion: str) -> int:
    """Count what a notion compares, by each of its labels: any two groups, by each kind of gap.

    Groups too small to be compared stand beside each of the others once.
    """
    large = len(groups.names)
    both = len(KINDS) * len(pairs(large)[0]) + len(groups.small) * large
    return len(NOTIONS[notion]) * both


def largest(values: Iterable[float]) -> float:
    """Return the largest of those that are known; NaN if none is."""
    known = [value for value in values if np.isfinite(value)]
    return float(max(known)) if known else float("nan")
