"""What can be asked of a run, as plain values."""

from collections.abc import Mapping
from typing import Any

from ffml.audit.gate import to_document
from ffml.base import FFMLError
from ffml.runs import Run
from ffml.service._people import Columns

MOST_EVENTS = 1000
_LIMITS = ("max_gap", "min_ratio", "min_dp", "min_eo", "max_violation")
OUTPUTS = (
    *(("id", "BYTES"), ("decision_id", "INT64"), ("probability", "FP32")),
    *(("threshold", "FP64"), ("decision", "INT64"), ("label", "BYTES")),
)


def check(run: Run, asked: Mapping[str, str]) -> dict[str, Any]:
    """Compare everybody decided about with limits; without any, with what the run was asked for."""
    only(asked, (*_LIMITS, "notion"))
    limits: dict[str, Any] = {name: _share(name, asked[name]) for name in _LIMITS if name in asked}
    if "notion" in asked:
        limits["notion"] = asked["notion"]
    return to_document(run.check(**limits))


def rounds(run: Run, asked: Mapping[str, str]) -> dict[str, Any]:
    """Return one row a task."""
    only(asked, ())
    return {"rounds": run.rounds.reset_index().to_dict("records")}


def versions(run: Run, asked: Mapping[str, str]) -> dict[str, Any]:
    """Return all versions: when each was learned, which can decide and which does; the trials."""
    only(asked, ())
    with run.store.snapshot():
        rows, trials = run.versions, run.store.document("trials")
        rule = run.store.document("promotion") or "newest"
    names = ("number", "at", "task", "checksum", "parent", "kept", "deciding")
    return {
        "deciding": run.store.deciding,
        "newest": rows[-1].number if rows else 0,
        "promotion": rule,
        "waits": trials["refused"] if trials and rule == "auto" else "",
        "versions": [{name: getattr(row, name) for name in names} for row in rows],
    }


def events(run: Run, asked: Mapping[str, str]) -> dict[str, Any]:
    """Return who wrote what when, the oldest after number ``after`` first."""
    only(asked, ("after",))
    if not (after := asked.get("after", "0")).isdecimal() or len(after) > 18:
        raise FFMLError("after is the number of an event, 0 or more")
    rows = run.store.events(int(after), MOST_EVENTS)
    names = ("seq", "at", "who", "what", "hash")
    return {"events": [{name: getattr(row, name) for name in names} for row in rows]}


def model(name: str, run: Run, columns: Columns) -> dict[str, Any]:
    """Describe inputs and outputs as the Open Inference Protocol does."""
    kinds = {one: columns.inputs.get(one, "text") for one in columns.names}
    inputs = [
        {"name": one, "shape": [-1], "datatype": "FP64" if kind == "numeric" else "BYTES"}
        for one, kind in kinds.items()
    ]
    return {
        "name": name,
        "versions": [str(row.number) for row in run.versions if row.kept],
        "platform": "ffml",
        "inputs": inputs,
        "outputs": [{"name": n, "shape": [-1], "datatype": kind} for n, kind in OUTPUTS],
    }


def only(asked: Mapping[str, str], names: tuple[str, ...]) -> None:
    """Refuse parameters that there are not."""
    if strange := [name for name in asked if name not in names]:
        there = ", ".join(names) or "none"
        raise FFMLError(f"no parameter {strange[0][:60]!r}; there are: {there}")


def _share(name: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise FFMLError(f"{name} is a number between 0 and 1, such as 0.05")
    return value
