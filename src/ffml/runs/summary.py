"""summary.json: a run in a few numbers."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ffml import metrics
from ffml.base import SensitiveColumn
from ffml.metrics.alarm import alarm_summary
from ffml.metrics.answer import Asked, answer, present_groups
from ffml.metrics.reliability import reliability
from ffml.metrics.summary import last_third, summarise
from ffml.online.state import Round
from ffml.runs.by_column import by_column
from ffml.runs.history import round_ceilings


def run_summary(
    rounds: Sequence[Round],
    columns: Sequence[SensitiveColumn],
    constraint_names: Sequence[str],
    status: str,
    asked: Asked,
) -> dict[str, Any]:
    """Say in numbers what a run came to: the answer first, then everything behind it.

    Args:
        rounds: those that were done.
        columns: the sensitive ones.
        constraint_names: of the problem.
        status: "complete" or "interrupted".
        asked: notions with their bounds, None where no fairness was asked for.
    """
    rows = [_averaged(record) | {"n_validation": record.n_validation} for record in rounds]
    tables = {c.name: np.stack([r.tables[c.name] for r in rounds]) for c in columns}
    ceilings = {c.name: np.stack([round_ceilings(r, c.name) for r in rounds]) for c in columns}
    last = rounds[-1]
    return {
        "status": status,
        "rounds": len(rounds),
        "seconds": sum(record.seconds for record in rounds),
        "answer": answer(tables, columns, asked),
        "alarms": alarm_summary(tables, columns, asked, [record.task for record in rounds]),
        "without_fairness": without_fairness(rounds, columns, asked),
        **{part: summary["columns"] for part, summary in summarise(rows).items()},
        "pooled": pooled_metrics(rounds, columns),
        "pooled_last_third": pooled_metrics(last_third(rounds), columns),
        "by_column": by_column(tables, tuple(columns), ceilings),
        "drift": drift_summary(rounds),
        "reliability": {
            "all": reliability(_summed(rounds)),
            "last_third": reliability(_summed(last_third(rounds))),
        },
        "collapsed_rounds": int(np.nansum([row["collapsed"] for row in rows])),
        "multipliers": dict(zip(constraint_names, last.multipliers.tolist(), strict=True)),
        "violation": dict(zip(constraint_names, last.violation.tolist(), strict=True)),
        "clipped_violation": dict(
            zip(constraint_names, last.clipped_violation.tolist(), strict=True)
        ),
    }


def without_fairness(
    rounds: Sequence[Round], columns: Sequence[SensitiveColumn], asked: Asked
) -> dict[str, float] | None:
    """Judge what would have been decided in the last third if no gap were bounded.

    None where the run does not know it, or where nothing had to be changed.
    """
    last = last_third(rounds)
    same = all(
        (r.unpriced.get(c.name, t) == t).all()
        for r in last
        for c in columns
        for t in [r.tables[c.name]]
    )
    if same:
        return None
    free = {c.name: np.stack([r.unpriced[c.name] for r in last]) for c in columns}
    notion = next((name for name, _ in asked if name in metrics.NOTIONS), "demographic-parity")
    found = [
        s for c in columns for s in metrics.gap_statistics(*present_groups(free[c.name], c), notion)
    ]
    ratios = [
        s.ratio
        for c in columns
        for s in metrics.ratio_statistics(*present_groups(free[c.name], c), notion)
    ]
    pooled = free[columns[0].name].sum(0)
    worst = metrics.largest_gap(found)
    return {
        "accuracy": float(metrics.accuracy(pooled)),
        "balanced_accuracy": float(metrics.balanced_accuracy(pooled)),
        "positive_share": float(pooled[..., 1].sum() / max(pooled.sum(), 1)),
        "long_run": worst.long_run,
        "typical": worst.typical,
        "ratio": min(ratios, key=lambda ratio: np.nan_to_num(ratio, nan=1.0)),
    }


def _summed(rounds: Sequence[Round]) -> np.ndarray:
    return np.sum([record.reliability for record in rounds], axis=0)


def _averaged(record: Round) -> dict[str, float]:
    """Leave out what must not be averaged: a mean of DP / ceiling flatters small tasks."""
    return {k: v for k, v in record.metrics.items() if not k.endswith("_of_ceiling")}


def drift_summary(rounds: Sequence[Round]) -> list[dict[str, Any]]:
    """List the columns whose inputs changed: when first, how, and in how many rounds."""
    columns: dict[str, dict[str, Any]] = {}
    for record in rounds:
        for found in dict.fromkeys(drift.column for drift in record.drift):
            first = [drift.text for drift in record.drift if drift.column == found]
            entry = {"column": found, "text": "; ".join(first), "rounds": 0}
            entry |= {"round": record.round, "task": record.task}
            columns.setdefault(found, entry)["rounds"] += 1
    return list(columns.values())


def pooled_metrics(rounds: Sequence[Round], columns: Sequence[SensitiveColumn]) -> dict[str, float]:
    """Judge the decisions of several rounds as if they were one."""
    tables = (np.sum([r.tables[column.name] for r in rounds], axis=0) for column in columns)
    return metrics.worst(
        [metrics.judge(table, column.groups) for table, column in zip(tables, columns, strict=True)]
    ).values
