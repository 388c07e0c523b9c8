"""Small pieces of text that all answers share."""

import math
from collections.abc import Mapping
from typing import Any, TypeGuard

from ffml.base import Ratio
from ffml.metrics._gaps import NOTIONS

UNDEFINED = "–"
SHORT = 4  # letters: "red" and "bed" are no participles
_YES = {"1", "1.0", "yes", "y", "true", "t"}


def favourable_words(label: str | None, positive: str | None = None) -> str:
    """Name the favourable outcome as the user does.

    >>> favourable_words("approved", "yes"), favourable_words("default", "0")
    ('approved', 'default = 0')
    >>> favourable_words("Outcome", "Hired"), favourable_words("colour", "red")
    ('hired', 'colour = red')
    """
    value = str(positive)
    if value.isalpha() and value.lower().endswith("ed") and len(value) > SHORT:
        return value.lower()  # says by itself what happened to people
    plain = positive is None or value.lower() in _YES
    if not label or (plain and label in ("label", "y")):
        return ""
    return label if plain else f"{label} = {positive}"


def were_decided(favourable: str) -> str:
    """Say that people got the favourable decision.

    >>> were_decided("approved"), were_decided("default = 0"), were_decided("")
    ('were approved', "were decided 'default = 0'", 'were decided favourably')
    """
    if favourable.isalpha() and favourable.endswith("ed"):
        return f"were {favourable}"
    return f"were decided '{favourable}'" if favourable else "were decided favourably"


def decided(favourable: str) -> str:
    """Name the favourable decision.

    >>> decided("approved"), decided("")
    ('approved', 'decided favourably')
    """
    return were_decided(favourable).removeprefix("were ")


def policy_words(policy: str, favourable: str) -> str:
    """Say who is decided favourably.

    >>> policy_words("labels", "approved"), policy_words("approve=0.8", "approved")
    ('as many are approved as labels are expected to be so', '80 of 100 are approved')
    >>> policy_words("cost=5", "approved")
    'somebody wrongly not approved costs as much as 5 wrongly approved'
    """
    whom = decided(favourable)
    name, _, number = policy.partition("=")
    if name in ("approve", "cost"):
        value = float(number)
        return {
            "approve": f"{100 * value:g} of 100 are {whom}",
            "cost": f"somebody wrongly not {whom} costs as much as {value:g} wrongly {whom}",
        }[name]
    said = {
        "labels": f"as many are {whom} as labels are expected to be so",
        "accuracy": "every error counts the same",
        "balanced": "errors at both labels count the same, however rare one of them is",
        "sign": "the method's own, by the sign of its score",
    }
    return said.get(policy) or f"{whom} from a probability of {policy} on"


def bound_of(notion: Mapping[str, Any]) -> float | Ratio | None:
    """Return what a notion was asked for: a largest gap, a least ratio, or nothing."""
    least = notion.get("min_ratio")
    return notion["max_gap"] if least is None else Ratio(least)


def asked_words(notion: str, bound: float | Ratio | None, aim: float | Ratio | None = None) -> str:
    """Name what was asked for, and what is aimed at if that is less.

    >>> asked_words("equal-opportunity", 0.05), asked_words("dbc", 0.02, aim=0.01)
    ('equal opportunity within 5 points', 'dbc within 0.02 (aiming for 0.01)')
    >>> asked_words("demographic-parity", Ratio(0.8))
    'demographic parity, the lowest rate at least 80 % of the highest'
    """
    if bound is None:
        return "no fairness"
    if aim not in (None, bound):
        return f"{asked_words(notion, bound)} (aiming for {bound_words(aim, notion)})"
    name = notion.replace("-", " ")
    if isinstance(bound, Ratio):
        return f"{name}, the lowest rate at least {100 * bound.least:g} % of the highest"
    return f"{name} within {bound_words(bound, notion)}"


def limit_words(notion: Mapping[str, Any]) -> str:
    """Write the bound of a notion alone: "5 points", or "80 %"."""
    return bound_words(bound_of(notion), notion["notion"])


def bound_words(bound: float | Ratio | None, notion: str) -> str:
    """Write a bound alone; the gap of a notion of scores has no unit.

    >>> bound_words(0.05, "demographic-parity"), bound_words(Ratio(0.8), "demographic-parity")
    ('5 points', '80 %')
    >>> bound_words(0.01, "demographic-parity"), bound_words(0.05, "dbc")
    ('1 point', '0.05')
    """
    if isinstance(bound, Ratio):
        return f"{100 * bound.least:g} %"
    if notion not in NOTIONS:
        return f"{bound or 0.0:g}"
    points = f"{100 * (bound or 0.0):g}"
    return f"{points} point" if points == "1" else f"{points} points"


def hundred(rate: float | None) -> str:
    """Write a share as so many of 100.

    >>> hundred(0.3071), hundred(None)
    ('30.7 of 100', '–')
    """
    return f"{100 * rate:.1f} of 100" if known(rate) else UNDEFINED


def group_words(group: str, column: str) -> str:
    """Name a group so that it can be read alone: a bare number with its column.

    >>> group_words("men", "sex"), group_words("1", "sex")
    ('men', 'with sex 1')
    """
    return f"with {column} {group}" if group.replace(".", "", 1).isdigit() else group


def percent(value: float) -> str:
    """Write a probability; one that is not quite 0 or 1 does not look as if it were.

    >>> percent(0.3071), percent(0.001), percent(0.999)
    ('31 %', 'under 1 %', 'over 99 %')
    """
    if value < 0.005:
        return "under 1 %"
    return "over 99 %" if value > 0.995 else f"{100 * value:.0f} %"


def in_points(value: float | None, bound: float | None = None) -> str:
    """Write a gap in percentage points.

    Args:
        value: the gap.
        bound: what it stands beside; a gap that is not the bound does not look as if it were.

    >>> in_points(0.0712), in_points(float("nan")), in_points(0.05004, 0.05), in_points(-0.0001)
    ('7.1', '–', '5.004', '0.0')
    """
    if not known(value):
        return UNDEFINED
    said = [f"{round(100 * value, digits) + 0.0:.{digits}f}" for digits in range(1, 5)]
    apart = (one for one in said if bound is None or float(one) != round(100 * bound, 4))
    return next(apart, said[0]).replace("-", "−")


def rate(value: float | None) -> str:
    """Write a share or a ratio with three decimals.

    >>> rate(0.00098), rate(float("nan"))
    ('0.001', '–')
    """
    return f"{value:.3f}" if known(value) else UNDEFINED


def known(value: float | None) -> TypeGuard[float]:
    """Tell a number from what could not be measured."""
    return value is not None and math.isfinite(value)


def whom_words(label: int | None, favourable: str) -> str:
    """Say of whose label a rate is: everybody's, or those of one label."""
    if label is None:
        return ""
    return f" whose label is {'' if label else 'not '}{favourable or 'favourable'}"
