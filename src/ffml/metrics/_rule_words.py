"""What is said of the rule behind the fact: kept, kept so far, not kept, or what can be told."""

from collections.abc import Mapping, Sequence
from typing import Any

from ffml.base import Ratio
from ffml.metrics._intervals import MIN_TASKS
from ffml.metrics.phrases import bound_of, in_points, known, limit_words
from ffml.metrics.verdict import KEPT, NOT_KEPT, SO_FAR, apart, is_beyond, most_apart

NOBODY = "nobody to compare with"
_TAKES_TASKS = (
    f"that takes {MIN_TASKS} tasks or more, none with most of the people and none merely like the"
    " one before"
)
_TAKES_LARGE_TASKS = (
    "opposite gaps in tasks of so few people would not show; larger tasks would tell"
)


def rule_sentence(answer: Mapping[str, Any], notion: Mapping[str, Any]) -> str:
    """Say whether the rule behind the fact was kept, kept so far or not kept, or what is known."""
    verdict, limit, rule = notion["verdict"], limit_words(notion), notion["rule"]
    here = f"with more people of {'these tasks' if answer['by_task'] else 'the same kind'}"
    mean = "on average " if answer["by_task"] else ""  # tasks may be further apart
    if verdict == NOT_KEPT:
        return f"Not kept: {_why_not(notion, here)}."
    if verdict == KEPT:
        both = {"high": max(rule["high"], rule["so_far"]["high"])}
        if not answer["by_task"]:
            return f"Kept: {here}, {_within(notion, both)}."
        whose = "in these tasks, and in those to come if they are like them"
        return f"Kept: {whose}, {_within(notion, both, 'typically ')}."
    if verdict == SO_FAR:
        sentence = f"Kept so far: {here}, {_within(notion, rule['so_far'], mean)}"
        why = _why_not_to_come(rule, limit)
        return f"{sentence}; of tasks to come it cannot be told yet{f' ({why})' if why else ''}."
    why = _why_unclear(notion, here, mean)
    return f"Whether the rule behind it keeps {limit} {verdict}: {why}."


def _within(notion: Mapping[str, Any], interval: Mapping[str, Any], mean: str = "") -> str:
    high, least = interval["high"], notion.get("min_ratio")
    if least is not None:
        said = f"the lowest rate is {mean}at least {in_points(1 - high, least)} % of the highest"
    else:
        said = f"the gap is {mean}within {in_points(high, notion['max_gap'])} points"
    return f"{said} with 95 % confidence"


def _why_not(notion: Mapping[str, Any], here: str) -> str:
    """Name the first reason that applies."""
    rule, least = notion["rule"], notion.get("min_ratio")
    most = most_apart(bound_of(notion))
    for low, whose in ((rule["so_far"]["low"], here), (rule["low"], "in tasks to come")):
        if known(low) and low > most:
            said = f"the gap is at least {in_points(low, most)} points"
            if least is not None:
                said = f"the lowest rate is at most {in_points(1 - low, least)} % of the highest"
            which = _of_whom(rule["so_far"]) if whose == here else ""
            return f"{whose}, {said}{which} with 95 % confidence"
    return "the alarm was raised"


def _why_not_to_come(rule: Mapping[str, Any], limit: str) -> str:
    """Say why nothing is known of tasks to come, or what it would take; empty if unclear."""
    if rule.get("newest_beyond"):
        return f"the newest task is beyond {limit}"
    if rule.get("small_tasks"):
        return _TAKES_LARGE_TASKS
    if not known(rule["high"]):
        return _TAKES_TASKS
    more = rule["more_people"]
    return f"about {more:,} more people would tell" if more else ""


def _is_beyond(notion: Mapping[str, Any]) -> bool:
    """Tell whether the fact itself is beyond what was asked."""
    fact, bound = notion["fact"], bound_of(notion)
    if fact is None or not known(fact["ratio" if isinstance(bound, Ratio) else "gap"]):
        return False
    return is_beyond(apart(fact, bound), most_apart(bound))


def _why_unclear(notion: Mapping[str, Any], here: str, mean: str) -> str:
    """Say what can be told, and what it would take to tell more."""
    if notion["unmeasured"]:
        return str(notion["unmeasured"])
    interval = notion["rule"]["so_far"]
    if not known(interval["high"]):
        return NOBODY
    said = f"{here}, {_within(notion, interval, mean)}{_widest(interval)}"
    more = interval["more_people"]
    if more:
        return f"{said}; for {limit_words(notion)}, about {more:,} more people"
    if _is_beyond(notion):
        return f"chance alone may have made the fact; {said}"
    return said + _typically(notion)


def _widest(interval: Mapping[str, Any]) -> str:
    """Name the two groups with the widest interval; empty where there are only two.

    >>> _widest({"widest": [["Asian", 806], ["Roma", 46]]})
    ' (that far for Asian against Roma, 806 and 46 people)'
    """
    if not interval.get("widest"):
        return ""
    return f" ({_that_far(interval['widest'])})"


def _of_whom(interval: Mapping[str, Any]) -> str:
    """Say whose lower end it is: of groups too small to be compared, or within tasks."""
    if interval.get("between"):
        return f" ({_that_far(interval['between'])})"
    return " within tasks" if interval.get("within") else ""


def _that_far(both: Sequence[Sequence[Any]]) -> str:
    (first, most), (second, others) = both
    return f"that far for {first} against {second}, {most:,} and {others:,} people"


def _typically(notion: Mapping[str, Any]) -> str:
    """Say that groups are typically too far apart within tasks; empty if they are not."""
    typical, bound = notion["rule"].get("typical", 0.0), bound_of(notion)
    if not is_beyond(typical, most_apart(bound)):
        return ""
    if isinstance(bound, Ratio):
        share = in_points(1 - typical, bound.least)
        return f"; the ratio within tasks is estimated at {share} %"
    return f"; the typical gap within tasks is estimated at {in_points(typical, bound)} points"
