"""What can be asked of a run, as plain values."""

from collections.abc import Mapping
from typing import Any

from ffml.base import FFMLError
from ffml.border import one_of
from ffml.metrics.words import sentences
from ffml.runs import Run
from ffml.service._people import Columns

MOST_EVENTS = 1000


def fairness(run: Run, asked: Mapping[str, str]) -> dict[str, Any]:
    """Return the answer so far, and rates by group of each task from ``start`` to ``end``."""
    _only(asked, ("start", "end", "by"))
    record, answer = run.record, run.answer
    columns = {column.name: column.groups for column in record.columns}
    if "by" in asked:
        by = one_of("protected column", asked["by"], columns)
        columns = {by: columns[by]}
    tasks = list(record.tasks)
    for name in ("start", "end"):
        if name in asked and asked[name] not in tasks:
            raise FFMLError(f"{name} names a task of the run, as /rounds lists them")
    first = tasks.index(asked["start"]) if "start" in asked else 0
    last = tasks.index(asked["end"]) if "end" in asked else len(tasks) - 1
    periods = [
        {"task": tasks[at], "column": name, "groups": _rates(record.tables[name][at], groups)}
        for at in range(first, last + 1)
        for name, groups in columns.items()
    ]
    return {"words": list(sentences(answer)), "answer": answer, "periods": periods}


def rounds(run: Run, asked: Mapping[str, str]) -> dict[str, Any]:
    """Return one row a task."""
    _only(asked, ())
    return {"rounds": run.rounds.reset_index().to_dict("records")}


def versions(run: Run, asked: Mapping[str, str]) -> dict[str, Any]:
    """Return when each version of the learner came, and by what."""
    _only(asked, ())
    rows = [
        {"version": int(number), "at": event.at, "by": event.what}
        for event in run.store.events()
        for number in event.document.get("versions", {})
    ]
    return {"current": run.store.version_number, "versions": rows}


def events(run: Run, asked: Mapping[str, str]) -> dict[str, Any]:
    """Return who wrote what when, the oldest after number ``after`` first."""
    _only(asked, ("after",))
    if not (after := asked.get("after", "0")).isdecimal() or len(after) > 18:
        raise FFMLError("after is the number of an event, 0 or more")
    rows = [event for event in run.store.events() if event.seq > int(after)][:MOST_EVENTS]
    names = ("seq", "at", "who", "what", "hash")
    return {"events": [{name: getattr(row, name) for name in names} for row in rows]}


def model(name: str, run: Run, columns: Columns) -> dict[str, Any]:
    """Describe inputs and outputs as the Open Inference Protocol does."""
    inputs = [
        {"name": one, "shape": [-1], "datatype": "FP64" if kind == "numeric" else "BYTES"}
        for one, kind in {n: columns.inputs.get(n, "text") for n in columns.names}.items()
    ]
    outputs = [("id", "BYTES"), ("probability", "FP32"), ("decision", "INT64")]
    return {
        "name": name,
        "versions": [str(run.store.version_number)],
        "platform": "ffml",
        "inputs": inputs,
        "outputs": [{"name": n, "shape": [-1], "datatype": kind} for n, kind in outputs],
    }


def _rates(counts: Any, groups: tuple[str, ...]) -> list[dict[str, Any]]:
    """Return rates of counts ``(k, 3, 2)``: group, label, decision."""
    people, positives = counts.sum((1, 2)), counts[..., 1].sum(1)
    return [
        {"group": group, "people": int(n), "positives": int(p), "rate": p / n if n else None}
        for group, n, p in zip(groups, people, positives, strict=True)
    ]


def _only(asked: Mapping[str, str], names: tuple[str, ...]) -> None:
    if strange := [name for name in asked if name not in names]:
        there = ", ".join(names) or "none"
        raise FFMLError(f"no parameter {strange[0][:60]!r}; there are: {there}")
