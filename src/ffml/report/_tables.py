"""The tables: groups pooled over rounds, the tasks with the largest gaps, every round."""

import math
from collections.abc import Sequence

import numpy as np

from ffml import metrics
from ffml.metrics.labels import measurable
from ffml.report._counts import round_tables
from ffml.report._gaps import worst_rounds
from ffml.report._view import RunView, Table
from ffml.report._words import metrics_by_reason
from ffml.report.numbers import UNDEFINED, interval, number, rate, whole

MIN_VALIDATION_ROWS = 30  # with fewer rows a ratio is mostly noise
MAX_ROUNDS = 400  # a longer table helps nobody; the files have all of them


def group_tables(run: RunView) -> list[dict]:
    """Write the groups pooled over all rounds as text, one table per protected column."""
    tables = []
    for column, (names, counts) in round_tables(run).items():
        rows = metrics.group_rows(measurable(counts).sum(0), names)
        rates = [row["selection_rate"] for row in rows]
        highest = max((rate for rate in rates if math.isfinite(rate)), default=0.0)
        tables.append({"column": column, "rows": [_group_cells(row, highest) for row in rows]})
    return tables


def worst_tasks(run: RunView) -> list[dict]:
    """Write the tasks that add most to the typical gap."""
    worst = worst_rounds(run)
    rows = round_rows(run, [place for place, _ in worst])
    return [row | cells for row, (_, cells) in zip(rows, worst, strict=True)]


def last_places(run: RunView) -> range:
    """Return the places of the rounds that the page lists."""
    return range(max(len(run.rounds) - MAX_ROUNDS, 0), len(run.rounds))


def round_rows(run: RunView, places: Sequence[int]) -> list[dict]:
    """Write the metrics of some rounds as text."""
    rounds = run.rounds.at(places)
    names = ["dp", "dp_ceiling", "eo", "eo_ceiling"]
    names += ["eo_negatives", "eo_positives", "disc", "accuracy", "balanced_accuracy"]
    cells = {name: [rate(v) for v in rounds.numbers(name)] for name in names}
    cells |= {name: [number(v) for v in rounds.numbers(name)] for name in ("loss", "dbc")}
    cells |= {
        f"{name}_interval": _intervals(rounds, name)
        for name in ("dp", "eo", "disc", "accuracy", "balanced_accuracy")
    }
    cells |= {
        name: [whole(v) for v in rounds.numbers(name)]
        for name in ("round", "n_rows", "n_support", "n_validation")
    }
    cells["task"] = rounds.text("task")
    cells["undefined"] = [metrics_by_reason(cell) for cell in rounds.text("undefined")]
    cells["collapsed"] = ["yes" if v == 1 else "" for v in rounds.numbers("collapsed")]
    cells |= _timing_cells(run, rounds)
    return [dict(zip(cells, row, strict=True)) for row in zip(*cells.values(), strict=True)]


def constraint_rows(run: RunView, places: Sequence[int]) -> list[dict]:
    """Write some rounds' constraint, multiplier and cumulative violations, by constraint."""
    rounds = run.rounds.at(places)
    kinds = ("constraint", "multiplier", "violation", "clipped_violation")
    columns = [
        [number(v, 4) for v in rounds.numbers(f"{kind}:{name}")]
        for name in run.constraints
        for kind in kinds
    ]
    numbers = [whole(v) for v in rounds.numbers("round")]
    return [
        {"round": number_, "task": task, "cells": [column[i] for column in columns]}
        for i, (number_, task) in enumerate(zip(numbers, rounds.text("task"), strict=True))
    ]


def constraint_totals(run: RunView) -> list[dict]:
    """Write what became of each constraint: rounds within the bound, last λ, both sums."""
    rows = []
    for name in run.constraints:
        g = run.rounds.numbers(f"constraint:{name}")
        measured = g[np.isfinite(g)]
        ends = {
            kind: number(_last(run.rounds.numbers(f"{kind}:{name}")))
            for kind in ("multiplier", "violation", "clipped_violation")
        }
        within = f"{(measured <= 0).sum()} of {len(measured)}" if len(measured) else UNDEFINED
        largest = number(measured.max()) if len(measured) else UNDEFINED
        rows.append({"name": name, "within": within, "largest": largest, **ends})
    return rows


def _last(values: np.ndarray) -> float:
    """Return the last defined value."""
    defined = values[np.isfinite(values)]
    return float(defined[-1]) if len(defined) else float("nan")


def _group_cells(row: dict, highest: float) -> dict:
    selection = row["selection_rate"]
    rates = ("selection_rate", "true_positive_rate", "false_positive_rate", "accuracy")
    return {
        "group": row["group"],
        **{name: whole(row[name]) for name in ("n", "n_labelled", "n_label_1", "n_selected")},
        **{name: rate(row[name]) for name in rates},
        "bar": f"{100 * selection:.1f}" if math.isfinite(selection) else "0",
        "of_highest": rate(selection / highest if highest > 0 else math.nan),
    }


def _intervals(rounds: Table, name: str) -> list[str]:
    low, high = (rounds.numbers(f"{name}_{end}") for end in ("low", "high"))
    return [interval(a, b, "–") for a, b in zip(low, high, strict=True)]


def _timing_cells(run: RunView, some: Table) -> dict[str, list[str]]:
    """Match timings to rounds by number."""
    cells = {}
    for name, write in (("seconds", number), ("iterations", whole)):
        values = dict(zip(run.timings.numbers("round"), run.timings.numbers(name), strict=True))
        cells[name] = [write(values[r]) for r in some.numbers("round")]
    return cells
