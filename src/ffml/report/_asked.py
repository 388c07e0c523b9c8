"""What was asked for, and whether it was kept, in words."""

import math
from collections.abc import Mapping
from typing import Any

from ffml.base import Ratio
from ffml.metrics import NOTIONS
from ffml.metrics.promise import KEPT, MIN_ROUNDS, NOT_KEPT


def bound_of(notion: Mapping[str, Any]) -> float | Ratio | None:
    """Return what a notion was asked for: a largest gap, a least ratio, or nothing."""
    least = notion.get("min_ratio")
    return notion["max_gap"] if least is None else Ratio(least)


def asked_words(notion: str, bound: float | Ratio | None) -> str:
    """Name what was asked for; the gap of a notion of scores has no unit.

    >>> asked_words("equal-opportunity", 0.05), asked_words("dbc", 0.02)
    ('equal opportunity within 5 points', 'dbc within 0.02')
    >>> asked_words("demographic-parity", Ratio(0.8))
    'demographic parity, the rate of the lower group at least 80 % of the higher’s'
    """
    if bound is None:
        return "no fairness"
    name = notion.replace("-", " ")
    if isinstance(bound, Ratio):
        return (
            f"{name}, the rate of the lower group at least {100 * bound.least:g} % of the higher’s"
        )
    return f"{name} within " + (f"{100 * bound:g} points" if notion in NOTIONS else f"{bound:g}")


def verdict_sentence(notion: Mapping[str, Any]) -> str:
    """Say whether it was kept, and if that cannot be told, why."""
    bound, verdict = bound_of(notion), notion["verdict"]
    if verdict not in (KEPT, NOT_KEPT):
        return f"Whether it was kept cannot be told yet: {_why(notion)}."
    if isinstance(bound, Ratio):
        least = f"{100 * bound.least:g} %"
        if verdict == KEPT:
            return f"Kept: the ratio is at least {least}, and so is its 95 % interval."
        return f"Not kept: the 95 % interval of the ratio lies below {least}."
    most = f"{100 * notion['max_gap']:g} points"
    if verdict == KEPT:
        return f"Kept: both gaps are within {most}, and so are their 95 % intervals."
    return f"Not kept: the 95 % interval of a gap lies beyond {most}."


def _why(notion: Mapping[str, Any]) -> str:
    if why := next((c["unmeasured"] for c in notion["columns"] if c["unmeasured"]), ""):
        return why
    bound = bound_of(notion)
    kinds = ("ratio",) if isinstance(bound, Ratio) else ("long_run", "typical")
    found = [c[kind] for c in notion["columns"] for kind in kinds]
    rounds = min(one["rounds"] for one in found)
    if rounds < MIN_ROUNDS:
        return f"that takes {MIN_ROUNDS} rounds, and {rounds} could be measured"
    more = "that takes more people or rounds"
    if isinstance(bound, Ratio):
        if any(one["value"] is None or math.isnan(one["value"]) for one in found):
            return "nobody was decided positively, or a group has nobody"
        if all(one["value"] >= bound.least for one in found):
            return f"the ratio is high enough, but not its whole 95 % interval; {more}"
        return f"the ratio is too low, but not its whole 95 % interval; {more}"
    if all(abs(one["value"]) <= notion["max_gap"] for one in found):
        return f"both gaps are within it, but not their whole 95 % intervals; {more}"
    return f"a gap is beyond it, but not its whole 95 % interval; {more}"
