"""Rows that come again: unchanged ones are passed over, labels that have arrived are labels."""

import datetime
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ffml.base import FFMLError, Schema, Task
from ffml.runs._people import fingerprints, names_of
from ffml.store import Correction, Labels, Round, Store, person_hash
from ffml.tables import earlier_period, far_ahead, twin_period

MOST_NAMED = 3  # ids and columns that a message names
_ELSEWHERE = {
    True: "the task is open: decide about them with `ffml decide`",
    False: "give new people a task of their own, or leave them out",
}


class Again(NamedTuple):
    """A task of the past that was given again."""

    rows: int  # unchanged
    labels: Labels  # that have arrived since


def given_again(store: Store, before: Round, task: Task, schema: Schema) -> Again:
    """Compare a task with what the ledger knows of it, whatever the order of its rows.

    Args:
        store: the ledger.
        before: the task there.
        task: as it was given now.
        schema: of both.

    Raises:
        FFMLError: a person has changed, is new to the task, or has another label than before.
    """
    prints = fingerprints(task, schema)
    named = zip(names_of(task, prints.rows), prints.rows.tolist(), task.y.tolist(), strict=True)
    kept = store.decisions(round=before.round, columns=("id", "content", "label", "forgotten"))
    gone = {*kept["forgotten"]} - {b""}
    rows = [row for row in named if not gone or person_hash(*row[:2]) not in gone]
    contents = dict(zip(kept["id"], kept["content"], strict=True))
    labels = dict(zip(kept["id"], kept["label"], strict=True))
    changed = [name for name, content, _ in rows if contents.get(name) != content]
    if changed:
        whole = len(rows) == len(kept["id"])
        columns = _different(before.document, prints.columns) if whole else []
        raise _changed(before, changed, [c for c in changed if c not in contents], columns)
    given = {name: y for name, _, y in rows}
    arrived = _by_name(given, labels) if task.ids is not None else _by_content(given, labels)
    contradictions = [n for n, y in arrived.items() if _known(labels[n]) and labels[n] != y]
    if contradictions:
        first = contradictions[0]
        contradiction = Correction(task.name, first, int(labels[first]), arrived[first])
        raise FFMLError(
            f"{contradiction.words} ({len(contradictions)} such); if the new labels are right, give"
            " them to `ffml label --correct`"
        )
    ids = list(arrived)
    return Again(
        len(rows),
        Labels(ids, np.array([arrived[n] for n in ids], np.int64), [task.name] * len(ids)),
    )


def refuse_future(tasks: Sequence[str]) -> None:
    """Refuse periods far ahead: they are typing errors, and no earlier one could follow."""
    if ahead := far_ahead(tasks, datetime.date.today()):
        raise FFMLError(
            f"{ahead!r} lies more than a year ahead, and nothing earlier can be decided about after"
            " it; correct the date"
        )


def refuse_disorder(task: str, before: Sequence[str]) -> None:
    """Refuse a period that comes before one decided about, or is one written in another way."""
    if twin := twin_period(task, before):
        raise FFMLError(
            f"{task!r} and {twin!r}, which was decided about before, are the same period; write it "
            "in one way"
        )
    if later := earlier_period(task, before):
        raise FFMLError(
            f"{task!r} is new and comes before {later!r}, which was decided about; a run goes on "
            "in the order of time: leave it out, or start another run over all periods"
        )


def _by_name(given: Mapping[str, int], labels: Mapping[str, Any]) -> dict[str, int]:
    """Return the labels that differ from those known."""
    return {name: y for name, y in given.items() if y >= 0 and labels[name] != y}


def _by_content(given: Mapping[str, int], labels: Mapping[str, Any]) -> dict[str, int]:
    """Likewise for rows named by their content: equal rows share their labels in any order."""
    alike: dict[str, list[str]] = defaultdict(list)
    for name in given:
        alike[name.rpartition("-")[0]].append(name)
    arrived: dict[str, int] = {}
    for names in alike.values():
        now = Counter(given[name] for name in names if given[name] >= 0)
        known = Counter(int(labels[name]) for name in names if _known(labels[name]))
        if lost := known - now:
            if sum(now.values()) < sum(known.values()):
                continue  # fewer labels than before: nothing has arrived
            name = next(n for n in names if _known(labels[n]) and int(labels[n]) in lost)
            arrived[name] = 1 - int(labels[name])
            continue
        waiting = [name for name in names if not _known(labels[name])]
        arrived |= dict(zip(waiting, (now - known).elements(), strict=False))
    return arrived


def _known(label: Any) -> bool:
    return label is not None and label >= 0


def _different(document: Mapping[str, Any], columns: Mapping[str, str]) -> list[str]:
    before = document.get("columns", {})
    return [name for name, total in columns.items() if before.get(name, total) != total]


def _changed(
    before: Round, changed: Sequence[str], strangers: Sequence[str], columns: Sequence[str]
) -> FFMLError:
    task = before.task
    some = ", ".join(repr(name) for name in changed[:MOST_NAMED])
    which = f" in {', '.join(columns[:MOST_NAMED])}" if columns else ""
    if len(strangers) == len(changed) and not columns:
        return FFMLError(
            f"task {task!r} was decided about before, and {len(changed)} of the rows given for it "
            f"now are new ({some}); {_ELSEWHERE[before.status == 'open']}"
        )
    return FFMLError(
        f"the past has changed: {len(changed)} people of task {task!r} are not what they were when "
        f"they were decided about{which} ({some}); put them back, or leave the task out"
    )
