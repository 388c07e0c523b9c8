"""summary.json: a run in a few numbers."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ffml.base import SensitiveColumn
from ffml.metrics.answer import answer
from ffml.metrics.labels import measurable
from ffml.metrics.reliability import reliability
from ffml.metrics.summary import column_summary, summarise, typical_gap
from ffml.online.state import Round

LABEL_FREE = ("dp", "disc", "dbc", "collapsed")  # columns of a round that need no label, by prefix


def run_summary(
    rounds: Sequence[Round],
    columns: Sequence[SensitiveColumn],
    constraint_names: Sequence[str],
    status: str,
    answered: Mapping[str, Any],
) -> dict[str, Any]:
    """Say in numbers what a run came to: the answer first, then everything behind it.

    Args:
        rounds: what happened.
        columns: the protected ones.
        constraint_names: of the learner's problem.
        status: "complete", or why it is not.
        answered: see `ffml.metrics.answer.answer`.
    """
    counts = {c.name: np.stack([r.tables[c.name] for r in rounds]) for c in columns}
    tables = {name: measurable(table) for name, table in counts.items()}
    selective = any(tables[name] is not table for name, table in counts.items())
    rows = [
        _averaged(record, selective) | {"n_validation": record.n_validation} for record in rounds
    ]
    notions, last = [one["notion"] for one in answered["notions"]], rounds[-1]
    return {
        "status": status,
        "rounds": len(rounds),
        "seconds": sum(record.seconds for record in rounds),
        "answer": dict(answered),
        "without_fairness": without_fairness(rounds, columns, notions),
        "alone": had_each_come_alone(rounds, columns, notions),
        **{part: summary["columns"] for part, summary in summarise(rows).items()},
        "by_column": {
            c.name: column_summary(
                tables[c.name], np.stack([r.ceilings[c.name] for r in rounds]), c
            )
            for c in columns
        },
        "drift": drift_summary(rounds),
        "reliability": reliability(
            np.sum([r.reliability for r in rounds], axis=0) * (0 if selective else 1)
        ),
        "collapsed_rounds": int(np.nansum([row["collapsed"] for row in rows])),
        **{
            kind: dict(zip(constraint_names, getattr(last, kind).tolist(), strict=True))
            for kind in ("multipliers", "violation", "clipped_violation")
        },
    }


def without_fairness(
    rounds: Sequence[Round], columns: Sequence[SensitiveColumn], notions: Sequence[str]
) -> dict[str, Any] | None:
    """Answer for what would have been decided if no gap were bounded.

    None where the run does not know it, or where nothing had to be changed.
    """
    same = all(
        (r.unpriced.get(c.name, t) == t).all()
        for r in rounds
        for c in columns
        for t in [r.tables[c.name]]
    )
    if same:
        return None
    return _outcome([record.unpriced for record in rounds], columns, notions)


def had_each_come_alone(
    rounds: Sequence[Round], columns: Sequence[SensitiveColumn], notions: Sequence[str]
) -> dict[str, Any] | None:
    """Answer for what the same people would have got one by one, before their task was known.

    Prices found on the people who are decided about fit the chance in them too; those of people
    who come alone do not. None where the run does not know it.
    """
    alone = [record.alone for record in rounds if record.alone]
    return _outcome(alone, columns, notions) if alone else None


def _outcome(
    rounds: Sequence[Mapping[str, np.ndarray]],
    columns: Sequence[SensitiveColumn],
    notions: Sequence[str],
) -> dict[str, Any]:
    """Say in a few numbers what other decisions would have come to, from their counts."""
    counts = {c.name: np.stack([tables[c.name] for tables in rounds]) for c in columns}
    shown = answer(counts, columns, [(notion, None) for notion in notions])
    notion = shown["notions"][0]
    fact = notion["fact"] or {}
    return {
        **{k: shown[k] for k in ("people", "accuracy", "balanced_accuracy", "positive_share")},
        "gap": fact.get("gap"),
        "ratio": fact.get("ratio"),
        "typical": typical_gap(notion),
    }


def _averaged(record: Round, selective: bool) -> dict[str, float]:
    """Leave out what must not be averaged: a mean of DP / ceiling flatters small tasks."""
    return {
        k: np.nan if selective and not k.startswith(LABEL_FREE) else v
        for k, v in record.metrics.items()
        if not k.endswith("_of_ceiling")
    }


def drift_summary(rounds: Sequence[Round]) -> list[dict[str, Any]]:
    """List the columns whose inputs changed: when first, how, and in how many rounds."""
    columns: dict[str, dict[str, Any]] = {}
    for record in rounds:
        for column in dict.fromkeys(drift.column for drift in record.drift):
            first = [drift.text for drift in record.drift if drift.column == column]
            entry = {"column": column, "text": "; ".join(first), "rounds": 0}
            entry |= {"round": record.round, "task": record.task}
            columns.setdefault(column, entry)["rounds"] += 1
    return list(columns.values())
