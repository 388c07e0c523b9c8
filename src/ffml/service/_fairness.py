"""Rates, gaps, intervals, verdict and alarm: of everybody, and by period."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ffml.audit.counts import tables_of
from ffml.audit.record import RunRecord
from ffml.base import FFMLError, SensitiveColumn
from ffml.metrics.alarm import column_alarms, wealth
from ffml.metrics.answer import answer
from ffml.metrics.rates import wilson
from ffml.metrics.words import sentences
from ffml.runs import Run
from ffml.store import Counts

TIMES = ("hour", "day", "month", "year")
MOST_PERIODS = 400
Tables = Mapping[str, np.ndarray]  # column -> (T, k, 3, 2)


class _Periods(NamedTuple):
    names: list[str]
    tables: Tables  # of those whose group is known
    everybody: np.ndarray  # (T, 3, 2)
    evidence: list[dict[str, float]]  # of the alarm up to then, by notion; empty by time


def fairness(run: Run, asked: Mapping[str, str]) -> dict[str, Any]:
    """Return the answer so far, and that of each period.

    A period is a task, from ``start`` to ``end`` as `/rounds` names them; or, with ``by`` of an
    hour, day, month or year, the time at which people were decided about, in UTC. Without ``start``
    the newest periods are shown.
    """
    by = asked.get("by", "task")
    if by not in ("task", *TIMES):
        raise FFMLError(f"by is one of task, {', '.join(TIMES)}")
    with run.store.snapshot():
        record, whole = run.record, run.answer
        shown = _by_task(record, asked) if by == "task" else _by_time(run, asked)
    if len(shown.names) > MOST_PERIODS and "start" in asked:
        raise FFMLError(
            f"{len(shown.names):,} periods are too many; let start and end have at most "
            f"{MOST_PERIODS} between them, or ask by a longer time"
        )
    bounds = record.asked or [(notion, None) for notion in record.config["notions"]]
    newest = range(max(len(shown.names) - MOST_PERIODS, 0), len(shown.names))
    periods = [_period(shown, at, record.columns, bounds) for at in newest]
    return {"words": list(sentences(whole)), "answer": whole, "by": by, "periods": periods}


def _by_task(record: RunRecord, asked: Mapping[str, str]) -> _Periods:
    tasks = list(record.tasks)
    for name in ("start", "end"):
        if name in asked and asked[name] not in tasks:
            raise FFMLError(f"{name} names a task of the run, as /rounds lists them")
    first = tasks.index(asked["start"]) if "start" in asked else 0
    last = tasks.index(asked["end"]) if "end" in asked else len(tasks) - 1
    if first > last:
        raise FFMLError("start comes after end; change them over")
    shown = slice(first, last + 1)
    by_column = column_alarms(record.tables, record.columns, record.asked)
    logs: dict[str, Any] = {}
    for (notion, *_), alarms in by_column.items():
        for one in alarms:
            logs[notion] = np.maximum(logs.get(notion, 0.0), np.maximum.accumulate(one.log_wealth))
    evidence = [
        {notion: wealth(float(log[at])) for notion, log in logs.items()}
        for at in range(first, last + 1)
    ]
    tables = {name: table[shown] for name, table in record.tables.items()}
    return _Periods(tasks[shown], tables, record.counts.everybody[shown], evidence)


def _by_time(run: Run, asked: Mapping[str, str]) -> _Periods:
    rows = run.store.periods(asked.get("start"), asked.get("end"), asked["by"])
    names = list(dict.fromkeys(row[0] for row in rows))
    places = {name: place for place, name in enumerate(names, 1)}
    counts = np.array([(places[row[0]], *row[1:]) for row in rows], np.int64).reshape(-1, 6)
    columns = run.record.columns
    tables = tables_of(Counts(*counts.T), run.store.cells(), columns, len(names))
    return _Periods(names, tables.decided, tables.everybody, [])


def _period(
    shown: _Periods, at: int, columns: Sequence[SensitiveColumn], bounds: Sequence[Any]
) -> dict[str, Any]:
    """Say of one period what is said of all: the fact, and what it tells of the rule."""
    name, people = shown.names[at], shown.everybody[[at]]
    tables = {column: counts[[at]] for column, counts in shown.tables.items()}
    summary = answer(tables, columns, bounds, [name], by_task=False, everybody=people)
    notions = [
        {
            **{key: one[key] for key in ("notion", "max_gap", "min_ratio", "verdict")},
            **{key: (one["fact"] or {}).get(key) for key in ("gap", "ratio", "highest", "lowest")},
            **{key: (one["rule"] or {}).get(key) for key in ("low", "high")},
            "unmeasured": one["unmeasured"],
        }
        for one in summary["notions"]
    ]
    groups = [row for column in columns for row in _groups(tables[column.name][0], column)]
    period = {"period": name, "people": summary["people"], "labelled": summary["labelled"]}
    period |= {"notions": notions, "groups": groups}
    return period | ({"evidence": shown.evidence[at]} if shown.evidence else {})


def _groups(counts: np.ndarray, column: SensitiveColumn) -> list[dict[str, Any]]:
    """Return each group's rate with its 95 % interval (Wilson's); counts are ``(k, 3, 2)``."""
    people, positives = counts.sum((1, 2)), counts[..., 1].sum(1)
    low, high = wilson(positives, people)
    return [
        {"column": column.name, "group": group, "people": int(n), "positives": int(p)}
        | {"rate": p / n if n else None, "low": float(a), "high": float(b)}
        for group, n, p, a, b in zip(column.groups, people, positives, low, high, strict=True)
    ]
