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
from ffml.metrics.alarm import Asked, Bound, Tables, column_alarms, notion_alarm
from ffml.metrics.facts import (
    Groups,
    compared_groups,
    compared_share,
    group_facts,
    needs_labels,
    people_facts,
    share,
)
from ffml.metrics.labels import UNMEASURABLE_WORDS, any_unmeasured, blinded, selection
from ffml.metrics.rates import labelled
from ffml.metrics.verdict import Evidence, Interval, more_people, verdict

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
    policy: str = "",
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
        raised: alarms of earlier answers (``notions[…]["alarm"]``), which stand.
        policy: who was decided favourably, see `ffml.metrics.phrases.policy_words`; empty where
            nobody knows it.

    Returns:
        Values for JSON: ``people``, ``labelled``, accuracy and shares; ``now``, the newest round;
        and for each of ``notions`` its ``fact``, ``rule``, ``alarm``, ``columns`` and ``verdict``.
    """
    shown = [(n, bound) for n, bound in asked if n in NOTIONS] or [("demographic-parity", None)]
    first = tables[columns[0].name]  # every column counts the same people
    names = [str(t + 1) for t in range(len(first))] if tasks is None else list(tasks)
    why = any_unmeasured(tables[c.name] for c in columns)
    selected = [selection(tables[c.name], c.name, c.groups) for c in columns]
    if why in UNMEASURABLE_WORDS:
        tables = {c.name: blinded(tables[c.name]) for c in columns}
    alarms = column_alarms(tables, columns, shown)
    found = {n: [compared_groups(tables[c.name], c, n) for c in columns] for n, _ in shown}
    count = sum(_rule.num_comparisons(len(g.names), n) for n, gs in found.items() for g in gs)
    raised = list(raised)
    return people_facts(first, why) | {
        "selected": next((one._asdict() for one in selected if one), None),
        "favourable": favourable,
        "policy": policy,
        "by_task": by_task,
        "now": _now(first, tables, columns, shown, names),
        "notions": [
            _notion(
                [_column(groups, n, count, by_task, why) for groups in found[n]],
                n,
                bound,
                notion_alarm(alarms, n, names, raised),
            )
            for n, bound in shown
        ],
        "of_scores": [list(one) for one in asked if one[0] not in NOTIONS],
    }


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
    present = np.flatnonzero(tables.any((0, 2, 3)))
    names = [column.groups[i] for i in present]
    return group_facts(tables[:, present], column.name, names, notion)


def _column(groups: Groups, notion: str, count: int, by_task: bool, why: str) -> dict[str, Any]:
    """Return facts, gaps and ratios of a column: the largest difference of any two groups."""
    tables, names = groups.tables, groups.names
    unknown = why if needs_labels(notion) else ""
    reasons = undefined_reasons(tables.sum(0), names)
    part = compared_share(tables)
    return {
        "column": groups.column,
        "small": list(groups.small),
        "unmeasured": unknown or reasons.get(_REASONS[notion], ""),
        "compared_share": part,
        "judged_by_task": by_task and part >= MIN_COMPARED,
        "facts": group_facts(tables, groups.column, names, notion),
        **_rule.measures(tables, names, notion, count, by_task),
    }


def _notion(
    columns: Sequence[dict[str, Any]], notion: str, bound: Bound, alarm: dict[str, Any] | None
) -> dict[str, Any]:
    """Put the columns together, and give the verdict if something was asked for."""
    facts = [one for column in columns for one in column["facts"]]
    why = next((one["unmeasured"] for one in columns if one["unmeasured"]), "")
    apart = [_apart(one, bound) for one in facts]
    result: dict[str, Any] = {"notion": notion, **_bounds(bound), "unmeasured": why}
    result["fact"] = facts[int(np.argmax(np.nan_to_num(apart, nan=-1.0)))] if facts else None
    result |= {"verdict": None, "rule": None, "alarm": alarm, "columns": list(columns)}
    if bound is None:
        return result
    most = 1 - bound.least if isinstance(bound, Ratio) else bound
    so_far = _widest([one for c in columns for one in _so_far(c, bound)], bool(why))
    to_come = _widest([one for c in columns for one in _to_come(c, bound)], bool(why))
    told = verdict(
        Evidence(
            most=most,
            fact=_rule.largest(apart),
            so_far=Interval(so_far["low"], so_far["high"]),
            to_come=Interval(to_come["low"], to_come["high"]),
            typical=max((_typical_without(column, bound) for column in columns), default=0.0),
            alarm=alarm is not None and alarm["round"] is not None,
            measurable=why not in UNMEASURABLE_WORDS,
        )
    )
    people = max((sum(group["people"] for group in one["groups"]) for one in facts), default=0)
    for one in (so_far, to_come):
        one["more_people"] = more_people(most, one.pop("value"), one["high"], people)
    return result | {"verdict": told, "rule": to_come | {"so_far": so_far}}


def _widest(found: Sequence[Mapping[str, float]], unknown: bool) -> dict[str, Any]:
    """Return the largest lower end, the largest upper end, and the value that it belongs to."""
    widest = max(found, key=lambda one: np.nan_to_num(one["high"], nan=2.0))
    high = np.nan if unknown else widest["high"]
    low = _rule.largest(one["low"] for one in found)
    return {"low": low, "high": high, "value": widest["value"]}


def _apart(fact: Mapping[str, Any], bound: Bound) -> float:
    return 1 - fact["ratio"] if isinstance(bound, Ratio) else fact["gap"]


def _so_far(column: Mapping[str, Any], bound: Bound) -> list[dict[str, float]]:
    """Return what more people of these tasks would show: all of them pooled, and within tasks."""
    if isinstance(bound, Ratio):
        return [_turned(column["ratio"]["so_far"] | {"value": column["ratio"]["value"]})]
    kinds = ("pooled", "by_people") if column["judged_by_task"] else ("pooled",)
    return [column[kind]["so_far"] | {"value": column[kind]["value"]} for kind in kinds]


def _to_come(column: Mapping[str, Any], bound: Bound) -> list[dict[str, float]]:
    """Return what the rule is judged by in tasks to come.

    A gap within small tasks can hardly be told from chance, so the typical gap is to be kept in
    large tasks, if there are enough; it is found not to be in tasks of any size.
    """
    if isinstance(bound, Ratio):
        return [_turned(column["ratio"])]
    found = [column["pooled"]]
    if column["judged_by_task"]:
        typical, large = column["typical"], column["large"]
        found += [column["long_run"], large] if np.isfinite(large["high"]) else [column["long_run"]]
        found.append({"value": typical["value"], "low": typical["low"], "high": -1.0})
    return found


def _turned(ratio: Mapping[str, float]) -> dict[str, float]:
    """Return a ratio as how far apart rates are."""
    return {"value": 1 - ratio["value"], "low": 1 - ratio["high"], "high": 1 - ratio["low"]}


def _typical_without(column: Mapping[str, Any], bound: Bound) -> float:
    """Return the typical gap of large tasks, or of all, where it has no interval; else 0."""
    if isinstance(bound, Ratio) or not column["judged_by_task"]:
        return 0.0
    large = column["large"]
    shown = large if np.isfinite(large["value"]) else column["typical"]
    return float(np.nan_to_num(shown["value"])) if np.isnan(shown["high"]) else 0.0


def _bounds(bound: Bound) -> dict[str, float | None]:
    if isinstance(bound, Ratio):
        return {"max_gap": None, "min_ratio": bound.least}
    return {"max_gap": bound, "min_ratio": None}
