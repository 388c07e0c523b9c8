"""The tables behind "for researchers": every round, and what became of each constraint."""

from collections.abc import Sequence

import numpy as np

from ffml.report._view import RunView, Table
from ffml.report._words import metrics_by_reason
from ffml.report.numbers import UNDEFINED, interval, number, rate, whole

MAX_ROUNDS = 400  # a longer table helps nobody; the files have all of them
_RATES = {
    "dp": "DP",
    "dp_ceiling": "Ceiling",
    "eo": "EO",
    "eo_ceiling": "Ceiling",
    "disc": "Gap in selection rates",
    "accuracy": "Accuracy",
    "balanced_accuracy": "Balanced accuracy",
}
_COUNTS = {"n_rows": "Rows", "n_support": "Support", "n_validation": "Validation"}
_KINDS = {
    "constraint": "g",
    "multiplier": "λ",
    "violation": "Σ g",
    "clipped_violation": "Σ max(g, 0)",
}
ROUND_HEAD = [*_COUNTS.values(), *_RATES.values(), "Loss", "DBC", "Seconds", "Undefined because"]


def last_places(run: RunView) -> range:
    """Return the places of the rounds that the page lists."""
    return range(max(len(run.rounds) - MAX_ROUNDS, 0), len(run.rounds))


def round_rows(run: RunView, places: Sequence[int]) -> list[dict]:
    """Write the metrics of some rounds as text: each cell a value, and an interval."""
    rounds = run.rounds.at(places)
    columns = [[(whole(v), "") for v in rounds.numbers(name)] for name in _COUNTS]
    for name in _RATES:
        columns.append(list(zip(map(rate, rounds.numbers(name)), _ends(rounds, name), strict=True)))
    columns += [[(number(v), "") for v in rounds.numbers(name)] for name in ("loss", "dbc")]
    seconds = dict(zip(run.timings.numbers("round"), run.timings.numbers("seconds"), strict=True))
    columns.append([(number(seconds[r]), "") for r in rounds.numbers("round")])
    columns.append([(metrics_by_reason(cell), "") for cell in rounds.text("undefined")])
    return _rows(rounds, columns)


def constraint_rows(run: RunView, places: Sequence[int]) -> list[dict]:
    """Write some rounds' constraint, multiplier and cumulative violations, by constraint."""
    rounds = run.rounds.at(places)
    columns = [
        [(number(v, 4), "") for v in rounds.numbers(f"{kind}:{name}")]
        for name in run.constraints
        for kind in _KINDS
    ]
    return _rows(rounds, columns)


def constraint_head(run: RunView) -> list[str]:
    """Name the columns of `constraint_rows`."""
    return [f"{sign}, {name}" for name in run.constraints for sign in _KINDS.values()]


def _rows(rounds: Table, columns: list[list[tuple[str, str]]]) -> list[dict]:
    names = zip(map(whole, rounds.numbers("round")), rounds.text("task"), strict=True)
    return [
        {"round": number_, "task": task, "cells": [column[i] for column in columns]}
        for i, (number_, task) in enumerate(names)
    ]


def constraint_totals(run: RunView) -> list[dict]:
    """Write what became of each constraint: rounds within the bound, last λ, both sums."""
    rows = []
    for name in run.constraints:
        g = run.rounds.numbers(f"constraint:{name}")
        measured = g[np.isfinite(g)]
        ends = [
            number(_last(run.rounds.numbers(f"{kind}:{name}")))
            for kind in ("multiplier", "violation", "clipped_violation")
        ]
        within = f"{(measured <= 0).sum()} of {len(measured)}" if len(measured) else UNDEFINED
        largest = number(measured.max()) if len(measured) else UNDEFINED
        rows.append({"name": name, "cells": [within, largest, *ends]})
    return rows


def _last(values: np.ndarray) -> float:
    """Return the last defined value."""
    defined = values[np.isfinite(values)]
    return float(defined[-1]) if len(defined) else float("nan")


def _ends(rounds: Table, name: str) -> list[str]:
    low, high = (rounds.numbers(f"{name}_{end}") for end in ("low", "high"))
    return [interval(a, b, "–") for a, b in zip(low, high, strict=True)]
