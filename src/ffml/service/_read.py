"""What can be asked of a run, as plain values."""

import statistics
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from ffml.audit.gate import to_document
from ffml.base import FFMLError
from ffml.runs import Run

MOST_EVENTS = 1000
MOST_DELAYS = 2000  # newest labels whose lag is looked at
NO_TRIAL = "no trial yet: it takes labels of people who come one by one"
LIMITS = ("max_gap", "min_ratio", "min_dp", "min_eo", "max_violation")


def check(run: Run, asked: Mapping[str, str]) -> dict[str, Any]:
    """Compare everybody decided about with limits; without any, with what the run was asked for."""
    limits: dict[str, Any] = {name: _share(name, asked[name]) for name in LIMITS if name in asked}
    if "notion" in asked:
        limits["notion"] = asked["notion"]
    return to_document(run.check(**limits))


def rounds(run: Run, asked: Mapping[str, str]) -> dict[str, Any]:
    """Return one row a task."""
    return {"rounds": run.rounds.reset_index().to_dict("records")}


def versions(run: Run, asked: Mapping[str, str]) -> dict[str, Any]:
    """Return all versions: when each was learned, which can decide and which does; the trials."""
    with run.store.snapshot():
        rows, trials = run.versions, run.store.document("trials")
        rule, deciding = run.promotion, run.store.deciding
    newest = rows[-1].number if rows else 0
    waits = ""
    if rule == "auto" and deciding != newest:
        tried = trials and trials["against"] == deciding
        waits = trials["refused"] if tried else NO_TRIAL
    names = ("number", "at", "task", "checksum", "parent", "kept", "deciding")
    return {
        "deciding": deciding,
        "newest": newest,
        "promotion": rule,
        "waits": waits,
        "versions": [{name: getattr(row, name) for name in names} for row in rows],
    }


def events(run: Run, asked: Mapping[str, str]) -> dict[str, Any]:
    """Return who wrote what when, the oldest after number ``after`` first."""
    if not (after := asked.get("after", "0")).isdecimal() or len(after) > 18:
        raise FFMLError("after is the number of an event, 0 or more")
    rows = run.store.events(int(after), MOST_EVENTS)
    names = ("seq", "at", "who", "what", "hash")
    return {"events": [{name: getattr(row, name) for name in names} for row in rows]}


def outstanding(run: Run) -> int:
    """Count the people decided about whose label has not come."""
    counts = run.store.totals()
    return int(counts.n[(counts.label < 0) & (counts.decision >= 0)].sum())


def label_lag(run: Run) -> tuple[int, float]:
    """Return how many labels came later, of the newest ones, and the median of their seconds."""
    read = datetime.fromisoformat
    lags = [(read(came) - read(at)).total_seconds() for at, came in run.store.delays(MOST_DELAYS)]
    return len(lags), statistics.median(lags or [0.0])


def _share(name: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise FFMLError(f"{name} is a number between 0 and 1, such as 0.05")
    return value
