"""What a run came to, from the counts of its rounds alone: facts, the rule behind them, a verdict.

`ffml.metrics.verdict` says how the verdict follows. summary.json holds the answer for terminal,
report and model card; the gate and the audit make it of their own counts.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from ffml.base import Ratio, SensitiveColumn
from ffml.metrics import _rule
from ffml.metrics._gaps import NOTIONS
from ffml.metrics._judgement import undefined_reasons
from ffml.metrics.alarm import (
    Asked,
    Bound,
    Tables,
    allows_no_more,
    column_alarms,
    notion_alarm,
)
from ffml.metrics.facts import (
    Groups,
    compared_groups,
    compared_share,
    group_facts,
    needs_labels,
    people_facts,
    share,
)
from ffml.metrics.labels import NO_LABELS, UNMEASURABLE_WORDS, any_unmeasured, blinded, selection
from ffml.metrics.rates import labelled
from ffml.metrics.verdict import Evidence, Interval, is_beyond, more_people, verdict

MIN_COMPARED = 0.1  # share of people in tasks with several groups, from which tasks are judged too
_REASONS = {
    "demographic-parity": "dp",
    "equal-opportunity": "eo_positives",
    "equalized-odds": "eo",
}


def answer(
    tables: Tables,
    columns: Sequence[SensitiveColumn],
    asked: Asked,
    tasks: Sequence[str] | None = None,
    *,
    favourable: str = "",
    by_task: bool = True,
    raised: Iterable[Mapping[str, Any]] = (),
    of: Asked | None = None,
    policy: str = "",
    everybody: np.ndarray | None = None,
) -> dict[str, Any]:
    """Answer for everybody decided about, and for the newest round.

    Args:
        tables: column -> counts ``(T, k, 3, 2)`` of all rounds, all 0 in one without a decision.
        columns: their names and groups.
        asked: notions with their bounds. One whose gap is not between rates of decisions (such as
            dbc) has no verdict; if there is no other, demographic parity is shown.
        tasks: names of the rounds; their numbers if None.
        favourable: the favourable outcome in the user's words, such as "approved".
        by_task: False: all rows are one population, and rounds tell nothing.
        raised: alarms of earlier answers (``notions[…]["alarm"]``), which stand, for bounds that
            allow less too.
        of: what was asked when they were raised; None: the same.
        policy: who was decided favourably, see `ffml.metrics.phrases.policy_words`; empty where
            nobody knows it.
        everybody: counts ``(T, 3, 2)`` of all people, some of unknown groups; None: all are known.

    Returns:
        Values for JSON: ``people``, ``labelled``, accuracy and shares; ``now``, the newest round;
        and for each of ``notions`` its ``fact``, ``rule``, ``alarm``, ``columns`` and ``verdict``.
    """
    shown = [(n, bound) for n, bound in asked if n in NOTIONS] or [("demographic-parity", None)]
    first = tables[columns[0].name] if everybody is None else everybody[:, None]
    unknown = {c.name: int(first.sum() - tables[c.name].sum()) for c in columns}
    names = [str(t + 1) for t in range(len(first))] if tasks is None else list(tasks)
    why = any_unmeasured(tables[c.name] for c in columns)
    selected = [selection(tables[c.name], c.name, c.groups) for c in columns]
    if why in UNMEASURABLE_WORDS:
        tables = {c.name: blinded(tables[c.name]) for c in columns}
    alarms = column_alarms(tables, columns, shown)
    found = {n: [compared_groups(tables[c.name], c, n) for c in columns] for n, _ in shown}
    count = sum(_rule.num_comparisons(g, n) for n, gs in found.items() for g in gs)
    periods = names if by_task else [""] * len(names)  # one population has no first or newest one
    raised, before = list(raised), shown if of is None else list(of)
    return people_facts(first, why) | {
        "selected": next((one._asdict() for one in selected if one), None),
        "favourable": favourable,
        "policy": policy,
        "by_task": by_task,
        "now": _now(first, tables, columns, shown, names),
        "notions": [
            _notion(
                [
                    _column(groups, n, count, by_task, why) | {"unknown": unknown[groups.column]}
                    for groups in found[n]
                ],
                n,
                bound,
                notion_alarm(alarms, n, bound, periods, _standing(raised, before, n, bound)),
                by_task,
            )
            for n, bound in shown
        ],
        "of_scores": [list(one) for one in asked if one[0] not in NOTIONS],
    }


def _standing(
    raised: Sequence[Mapping[str, Any]], before: Asked, notion: str, bound: Bound
) -> list[Mapping[str, Any]]:
    """Return the alarms that stand for this bound: of the same one, or of one that allows more."""
    stand = any(n == notion and allows_no_more(bound, other) for n, other in before)
    return [one for one in raised if stand and one["notion"] == notion]


def _now(
    everybody: np.ndarray,
    tables: Tables,
    columns: Sequence[SensitiveColumn],
    asked: Asked,
    names: Sequence[str],
) -> dict[str, Any] | None:
    """Return the facts of the newest round in which somebody was decided about."""
    decided = np.flatnonzero(everybody.any((1, 2, 3)))
    if not len(decided):
        return None
    at = int(decided[-1])
    newest = everybody[at]
    return {
        "round": at + 1,
        "task": names[at],
        "people": int(newest.sum()),
        "labelled": int(labelled(newest).sum()),
        "positive_share": share(newest[..., 1], newest),
        "notions": [
            {"notion": n, **_bounds(bound)}
            | {"facts": [f for c in columns for f in _newest(tables[c.name][[at]], c, n)]}
            for n, bound in asked
        ],
    }


def _newest(tables: np.ndarray, column: SensitiveColumn, notion: str) -> list[dict[str, Any]]:
    """Compare the groups that are large enough; name the others."""
    found = compared_groups(tables, column, notion)
    facts = group_facts(found.tables, column.name, found.names, notion)
    return [fact | {"small": list(found.small)} for fact in facts]


def _column(groups: Groups, notion: str, count: int, by_task: bool, why: str) -> dict[str, Any]:
    """Return facts, gaps and ratios of a column: the largest difference of any two groups."""
    tables, names = groups.tables, groups.names
    unknown = why if needs_labels(notion) else ""
    reasons = undefined_reasons(tables.sum(0), names)
    part = compared_share(tables)
    met = [compared_share(tables if y is None else tables[:, :, [y]]) for y in NOTIONS[notion]]
    return {
        "column": groups.column,
        "small": list(groups.small),
        "unmeasured": unknown or reasons.get(_REASONS[notion], ""),
        "compared_share": part,
        "judged_by_task": by_task and min(met) >= MIN_COMPARED,
        "facts": group_facts(tables, groups.column, names, notion),
        **_rule.measures(tables, names, notion, count, by_task),
        "few": _rule.few(groups, notion, count),
    }


def _notion(
    columns: Sequence[dict[str, Any]],
    notion: str,
    bound: Bound,
    alarm: dict[str, Any] | None,
    by_task: bool,
) -> dict[str, Any]:
    """Put the columns together, and give the verdict if something was asked for."""
    facts = [one for column in columns for one in column["facts"]]
    why, where = next(
        ((one["unmeasured"], one["column"]) for one in columns if one["unmeasured"]), ("", "")
    )
    named = len(columns) > 1 and why not in ("", NO_LABELS, *UNMEASURABLE_WORDS)
    apart = [_apart(one, bound) for one in facts]
    result: dict[str, Any] = {"notion": notion, **_bounds(bound)}
    result["unmeasured"] = f"by {where}, {why}" if named else why
    result["fact"] = facts[int(np.argmax(np.nan_to_num(apart, nan=-1.0)))] if facts else None
    result |= {"verdict": None, "rule": None, "alarm": alarm, "columns": list(columns)}
    if bound is None:
        return result
    most = 1 - bound.least if isinstance(bound, Ratio) else bound
    rule = _rule_behind(columns, bound, most, bool(why), by_task)
    so_far, fact = rule["so_far"], _rule.largest(apart)
    told = verdict(
        Evidence(
            most=most,
            fact=fact,
            so_far=Interval(so_far["low"], so_far["high"]),
            to_come=Interval(rule["low"], rule["high"]),
            typical=rule["typical"],
            alarm=alarm is not None and alarm["round"] is not None,
            measurable=why not in UNMEASURABLE_WORDS,
        )
    )
    people = max((sum(group["people"] for group in one["groups"]) for one in facts), default=0)
    beyond = is_beyond(max(fact, rule["typical"]), most)  # more of the same would not be kept
    if len(columns) == 1 and all(len(one["groups"]) <= 2 for one in facts):
        so_far.pop("widest")  # of two, no need to say
    for one in (so_far, rule):
        more = more_people(most, one.pop("value"), one["high"], people)
        one["more_people"] = None if beyond else more
    return result | {"verdict": told, "rule": rule}


def _rule_behind(
    columns: Sequence[Mapping[str, Any]], bound: Bound, most: float, unknown: bool, by_task: bool
) -> dict[str, Any]:
    """Return both intervals of the rule, the typical gap, and why tasks to come may not be told.

    Args:
        columns: see `_column`.
        bound: what was asked.
        most: the same as how far apart rates may be.
        unknown: whether the notion cannot be measured.
        by_task: False: there are no tasks to come.
    """
    means = [one for column in columns for one in _to_come(column, bound)]
    sizes = [one for column in columns for one in _sizes(column, bound)]
    to_come = _widest([*means, *sizes], unknown)
    few = any(column["untold"] and column["judged_by_task"] for column in columns)
    newest = by_task and any(_newest_low(column, bound) > most for column in columns)
    if newest:  # those to come are not drawn like these
        to_come["high"] = np.nan
    return to_come | {
        "so_far": _rule_so_far(columns, bound, unknown),
        "typical": max(_typical(column, bound) for column in columns),
        "newest_beyond": newest,
        "small_tasks": few and _widest(means, unknown)["high"] <= most,
    }


def _rule_so_far(
    columns: Sequence[Mapping[str, Any]], bound: Bound, unknown: bool
) -> dict[str, Any]:
    """Return the interval about more people of these tasks, and whose its ends are."""
    here = [one for column in columns for one in _so_far(column, bound)]
    least = max(here, key=lambda one: np.nan_to_num(one["low"], nan=-1.0))
    pooled = [one["low"] for one in here if not (one["between"] or one["within"])]
    return _widest(here, unknown) | {
        "widest": _furthest(here)["widest"],
        "between": least["between"],
        "within": least["within"],
        "pooled_low": _rule.largest(pooled),
    }


def _widest(found: Sequence[Mapping[str, Any]], unknown: bool) -> dict[str, Any]:
    """Return the largest lower end, the largest upper end, and the value that it belongs to."""
    widest = _furthest(found)
    high = np.nan if unknown else widest["high"]
    low = _rule.largest(one["low"] for one in found)
    return {"low": low, "high": high, "value": widest["value"]}


def _furthest(found: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    return max(found, key=lambda one: np.nan_to_num(one["high"], nan=2.0))


def _apart(fact: Mapping[str, Any], bound: Bound) -> float:
    return 1 - fact["ratio"] if isinstance(bound, Ratio) else fact["gap"]


def _so_far(column: Mapping[str, Any], bound: Bound) -> list[dict[str, Any]]:
    """Return what more people of these tasks would show: all of them pooled, and within tasks.

    A group too small to be compared has a lower end alone. ``between`` says whose that is, and
    ``within`` that it is of the gap within tasks.
    """
    name, kinds = "gap", ("pooled", "by_people") if column["judged_by_task"] else ("pooled",)
    plain = {"between": [], "within": False}
    if isinstance(bound, Ratio):
        name, ratio = "ratio", column["ratio"]["so_far"]
        turned = _turned(ratio | {"value": column["ratio"]["value"]})
        found = [plain | turned | {"widest": ratio["widest"]}]
    else:
        found = [
            plain | column[kind]["so_far"] | {"value": column[kind]["value"]} for kind in kinds
        ]
        found[-1]["within"] = len(kinds) > 1
    few = [column["few"][name]] if name in column["few"] else []
    return found + [plain | one | {"value": np.nan, "high": -1.0, "widest": []} for one in few]


def _to_come(column: Mapping[str, Any], bound: Bound) -> list[dict[str, float]]:
    """Return what means tell of tasks to come: of all people pooled, and within tasks."""
    if isinstance(bound, Ratio):
        return [_turned(column["ratio"])]
    return [column["pooled"], *([column["long_run"]] if column["judged_by_task"] else [])]


def _sizes(column: Mapping[str, Any], bound: Bound) -> list[dict[str, float]]:
    """Return how large a gap is within tasks to come, whichever group is ahead.

    It has to lie within the bound in tasks that are large enough to be compared. Beyond the bound
    it may lie in tasks of any size.
    """
    if not column["judged_by_task"]:
        return []
    if isinstance(bound, Ratio):
        return [_turned(column["within"])]
    typical, large = column["typical"], column["large"]
    return [large, {"value": typical["value"], "low": typical["low"], "high": -1.0}]


def _turned(ratio: Mapping[str, float]) -> dict[str, float]:
    """Return a ratio as how far apart rates are."""
    return {"value": 1 - ratio["value"], "low": 1 - ratio["high"], "high": 1 - ratio["low"]}


def _newest_low(column: Mapping[str, Any], bound: Bound) -> float:
    """Return how far apart groups are at least in the newest task; NaN where that is not known."""
    if isinstance(bound, Ratio):
        return 1 - float(column["ratio"]["newest"]["high"])
    return float(column["pooled"]["newest"]["low"])


def _typical(column: Mapping[str, Any], bound: Bound) -> float:
    """Return the typical gap, the larger one of all tasks and of the large ones; else 0."""
    if not column["judged_by_task"]:
        return 0.0
    if isinstance(bound, Ratio):
        return 1 - float(np.nan_to_num(column["within"]["value"], nan=1.0))
    return float(np.nanmax([column["typical"]["value"], column["large"]["value"], 0.0]))


def _bounds(bound: Bound) -> dict[str, float | None]:
    if isinstance(bound, Ratio):
        return {"max_gap": None, "min_ratio": bound.least}
    return {"max_gap": bound, "min_ratio": None}
