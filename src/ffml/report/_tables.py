"""The tables: groups pooled over rounds, the tasks with the largest gaps, every round."""

import math
from dataclasses import dataclass

import numpy as np

from ffml.report._files import Run, Table
from ffml.report._numbers import UNDEFINED, interval, number, rate, whole
from ffml.report._words import metrics_by_reason

MIN_VALIDATION_ROWS = 30  # with fewer rows a ratio is mostly noise
NUM_WORST_TASKS = 8


@dataclass(frozen=True)
class GroupRow:
    """One group over all rounds: counts summed first, rates taken afterwards."""

    group: str
    n: float
    n_label_1: float
    n_selected: float
    true_positives: float
    false_positives: float
    correct: float

    @property
    def rates(self) -> tuple[float, float, float, float]:
        """Selection rate, true positive rate, false positive rate, accuracy."""
        return (
            _divide(self.n_selected, self.n),
            _divide(self.true_positives, self.n_label_1),
            _divide(self.false_positives, self.n - self.n_label_1),
            _divide(self.correct, self.n),
        )


def pooled_groups(run: Run) -> dict[str, list[GroupRow]]:
    """Return the groups of each protected column, in the order of the data's description."""
    keys = list(
        dict.fromkeys(zip(run.groups.text("column"), run.groups.text("group"), strict=True))
    )
    described = [
        (str(column.get("name")), str(group))
        for column in run.config.get("data", {}).get("sensitive") or []
        for group in column.get("groups") or []
    ]
    order = {key: i for i, key in enumerate(described)}
    table: dict[str, list[GroupRow]] = {}
    for column, group in sorted(keys, key=lambda key: order.get(key, len(order))):
        table.setdefault(column, []).append(_pool(run.groups, column, group))
    return table


def group_tables(run: Run) -> list[dict]:
    """Write the pooled groups as text, one table per protected column."""
    tables = []
    for column, rows in pooled_groups(run).items():
        highest = max((row.rates[0] for row in rows if math.isfinite(row.rates[0])), default=0.0)
        tables.append({"column": column, "rows": [_group_cells(row, highest) for row in rows]})
    return tables


def worst_tasks(run: Run) -> list[dict]:
    """Write the tasks with the lowest DP/ceiling, below 1, among those with rows enough."""
    share = run.rounds.numbers("dp_of_ceiling")
    enough = run.rounds.numbers("n_validation") >= MIN_VALIDATION_ROWS
    chosen = np.flatnonzero(enough & (share < 1))
    rows = round_rows(run)
    return [rows[i] for i in chosen[np.argsort(share[chosen], kind="stable")][:NUM_WORST_TASKS]]


def round_rows(run: Run) -> list[dict]:
    """Write every round's metrics as text."""
    rounds = run.rounds
    names = [f"{kind}{end}" for kind in ("dp", "eo") for end in ("", "_ceiling", "_of_ceiling")]
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
    cells |= _timing_cells(run)
    return [dict(zip(cells, row, strict=True)) for row in zip(*cells.values(), strict=True)]


def constraint_rows(run: Run) -> list[dict]:
    """Write every round's constraint, multiplier and cumulative violations, by constraint."""
    kinds = ("constraint", "multiplier", "violation", "clipped_violation")
    columns = [
        [number(v, 4) for v in run.rounds.numbers(f"{kind}:{name}")]
        for name in run.constraints
        for kind in kinds
    ]
    rounds = [whole(v) for v in run.rounds.numbers("round")]
    return [
        {"round": number_, "task": task, "cells": [column[i] for column in columns]}
        for i, (number_, task) in enumerate(zip(rounds, run.rounds.text("task"), strict=True))
    ]


def constraint_totals(run: Run) -> list[dict]:
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


def _pool(groups: Table, column: str, group: str) -> GroupRow:
    here = np.array(
        [
            key == (column, group)
            for key in zip(groups.text("column"), groups.text("group"), strict=True)
        ]
    )
    n, positives, selected, tpr, fpr, accuracy = (
        groups.numbers(name)[here]
        for name in (
            "n",
            "n_label_1",
            "n_selected",
            "true_positive_rate",
            "false_positive_rate",
            "accuracy",
        )
    )
    # The file has rates; the counts behind them are whole numbers, so rounding restores them.
    counts = (n, positives, selected, tpr * positives, fpr * (n - positives), accuracy * n)
    return GroupRow(group, *(float(np.nansum(np.rint(count))) for count in counts))


def _divide(part: float, total: float) -> float:
    return part / total if total > 0 else float("nan")


def _group_cells(row: GroupRow, highest: float) -> dict:
    selection, true_positive, false_positive, accuracy = row.rates
    return {
        "group": row.group,
        "n": whole(row.n),
        "n_label_1": whole(row.n_label_1),
        "n_selected": whole(row.n_selected),
        "selection_rate": rate(selection),
        "bar": f"{100 * selection:.1f}" if math.isfinite(selection) else "0",
        "of_highest": rate(_divide(selection, highest)),
        "true_positive_rate": rate(true_positive),
        "false_positive_rate": rate(false_positive),
        "accuracy": rate(accuracy),
    }


def _intervals(rounds: Table, name: str) -> list[str]:
    low, high = (rounds.numbers(f"{name}_{end}") for end in ("low", "high"))
    return [interval(a, b, "–") for a, b in zip(low, high, strict=True)]


def _timing_cells(run: Run) -> dict[str, list[str]]:
    """Match timings to rounds by number: an interrupted run may lack the last one."""
    if run.timings is None:
        return {}
    rounds = run.rounds.numbers("round")
    cells = {}
    for name, write in (("seconds", number), ("iterations", whole)):
        values = dict(zip(run.timings.numbers("round"), run.timings.numbers(name), strict=True))
        cells[name] = [write(values[r]) if r in values else UNDEFINED for r in rounds]
    return cells
