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
from ffml.metrics._rule_behind import rule_behind
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
from ffml.metrics.verdict import (
    Evidence,
    Interval,
    apart,
    is_beyond,
    more_people,
    most_apart,
    verdict,
)

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
    asked_before: Asked | None = None,
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
        asked_before: what was asked when they were raised; None: the same.
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
    compared = {n: [compared_groups(tables[c.name], c, n) for c in columns] for n, _ in shown}
    count = sum(_rule.num_comparisons(g, n) for n, gs in compared.items() for g in gs)
    periods = names if by_task else [""] * len(names)  # one population has no first or newest one
    raised, before = list(raised), shown if asked_before is None else list(asked_before)
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
                    for groups in compared[n]
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
    groups = compared_groups(tables, column, notion)
    facts = group_facts(groups.tables, column.name, groups.names, notion)
    return [fact | {"small": list(groups.small)} for fact in facts]


def _column(groups: Groups, notion: str, count: int, by_task: bool, why: str) -> dict[str, Any]:
    """Return facts, gaps and ratios of a column: the largest difference of any two groups."""
    tables, names = groups.tables, groups.names
    unknown = why if needs_labels(notion) else ""
    reasons = undefined_reasons(tables.sum(0), names)
    part = compared_share(tables)
    shares = [compared_share(tables if y is None else tables[:, :, [y]]) for y in NOTIONS[notion]]
    return {
        "column": groups.column,
        "small": list(groups.small),
        "unmeasured": unknown or reasons.get(_REASONS[notion], ""),
        "compared_share": part,
        "judged_by_task": by_task and min(shares) >= MIN_COMPARED,
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
    distances = [apart(one, bound) for one in facts]
    result: dict[str, Any] = {"notion": notion, **_bounds(bound)}
    result["unmeasured"] = f"by {where}, {why}" if named else why
    result["fact"] = facts[int(np.argmax(np.nan_to_num(distances, nan=-1.0)))] if facts else None
    result |= {"verdict": None, "rule": None, "alarm": alarm, "columns": list(columns)}
    if bound is None:
        return result
    most = most_apart(bound)
    rule = rule_behind(columns, bound, bool(why), by_task)
    so_far, fact = rule["so_far"], _rule.largest(distances)
    conclusion = verdict(
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
    return result | {"verdict": conclusion, "rule": rule}


def _bounds(bound: Bound) -> dict[str, float | None]:
    if isinstance(bound, Ratio):
        return {"max_gap": None, "min_ratio": bound.least}
    return {"max_gap": bound, "min_ratio": None}
