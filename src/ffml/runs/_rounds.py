"""The rounds of a run as documents of the ledger, and back; counts become tables by column."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ffml.base import SensitiveColumn
from ffml.online.drift import Drift
from ffml.online.judge import NO_DECISION
from ffml.online.loop import Round

_PLAIN = ("n_rows", "n_support", "n_validation", "n_unlabelled", "iterations", "undefined")
_ARRAYS = ("constraint", "multipliers", "violation", "clipped_violation", "reliability")


class Tables(NamedTuple):
    """Counts of all rounds by protected column: ``(T, k, 3, 2)``, label 2 is not known."""

    decided: dict[str, np.ndarray]
    unpriced: dict[str, np.ndarray]  # what would have been decided if no gap were bounded


def round_document(record: Round) -> dict[str, Any]:
    """Return what the ledger keeps of a round beside its counts. NaN becomes null."""
    return {
        **{name: getattr(record, name) for name in _PLAIN},
        **{name: _listed(getattr(record, name)) for name in _ARRAYS},
        "metrics": {name: _number(value) for name, value in record.metrics.items()},
        "ceilings": {name: _listed(values) for name, values in record.ceilings.items()},
        "drift": [list(one) for one in record.drift],
        "seconds": record.seconds,
    }


def round_from(number: int, task: str, document: Mapping[str, Any], tables: Tables) -> Round:
    """Read a round back; ``tables`` hold its counts in the place of its number."""
    return Round(
        round=number,
        task=task,
        **{name: document[name] for name in _PLAIN},
        **{name: _array(document[name]) for name in _ARRAYS},
        metrics={name: _nan(value) for name, value in document["metrics"].items()},
        ceilings={name: _array(values) for name, values in document["ceilings"].items()},
        drift=tuple(Drift(*one) for one in document["drift"]),
        seconds=document["seconds"],
        tables={name: counts[number - 1] for name, counts in tables.decided.items()},
        unpriced={name: counts[number - 1] for name, counts in tables.unpriced.items()},
        decided=NO_DECISION,
    )


def tables_of(
    counts: Iterable[Sequence[int]],
    cells: Mapping[int, Mapping[str, str | None]],
    columns: Sequence[SensitiveColumn],
    rounds: int,
) -> Tables:
    """Turn the ledger's counts into tables by column.

    Args:
        counts: rows of (round, cell, label, decision, unpriced, n), label −1 where not known.
        cells: the groups of each cell by column; None where a group is not known.
        columns: the protected ones.
        rounds: T.
    """
    rows = np.array(list(counts), np.int64).reshape(-1, 6)
    round_, cell, label, decision, unpriced, n = rows.T
    found = Tables({}, {})
    for column in columns:
        codes = {key: _code(column, groups.get(column.name)) for key, groups in cells.items()}
        group = np.array([codes[one] for one in cell.tolist()], np.int64)
        known = group >= 0
        for tables, outcome in ((found.decided, decision), (found.unpriced, unpriced)):
            tables[column.name] = np.zeros((rounds, len(column.groups), 3, 2), np.int64)
            place = (round_ - 1, group, np.where(label < 0, 2, label), outcome)
            np.add.at(tables[column.name], tuple(part[known] for part in place), n[known])
    return found


def _code(column: SensitiveColumn, group: str | None) -> int:
    return column.groups.index(group) if group in column.groups else -1


def _number(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def _nan(value: float | None) -> float:
    return math.nan if value is None else value


def _listed(values: np.ndarray) -> list:
    flat = [_number(value) for value in np.ravel(values).tolist()]
    return flat if np.ndim(values) == 1 else [list(np.shape(values)), flat]


def _array(values: list) -> np.ndarray:
    shape, flat = (None, values)
    if len(values) == 2 and isinstance(values[0], list):
        shape, flat = values
    array = np.array([_nan(value) for value in flat], float)
    return array if shape is None else array.reshape(shape)
