"""The rounds of a run as documents of the ledger, and back; counts become tables by column."""

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ffml import metrics
from ffml.audit.counts import Tables
from ffml.base import SensitiveColumn
from ffml.online.drift import Drift
from ffml.online.judge import Judgement
from ffml.online.state import Round
from ffml.online.waiting import Waiting

_PLAIN = ("n_rows", "n_support", "n_validation", "n_unlabelled", "iterations", "undefined")
_OF_ALL = ("accuracy", "balanced_accuracy", "collapsed")  # metrics that compare no groups
_ARRAYS = ("constraint", "multipliers", "reliability")


def round_document(record: Round) -> dict[str, Any]:
    """Return what the ledger keeps of a round beside its counts. NaN becomes null."""
    return {
        **{name: getattr(record, name) for name in _PLAIN},
        **{name: _listed(getattr(record, name)) for name in _ARRAYS},
        "metrics": {name: _number(value) for name, value in record.metrics.items()},
        "ceilings": {name: _listed(values) for name, values in record.ceilings.items()},
        "drift": [list(one) for one in record.drift],
        "seconds": record.seconds,
        "extra": record.extra,
        "alone": {name: table.tolist() for name, table in record.alone.items()},
        "counted": _signature(record.tables),
    }


def rounds_from(
    kept: Sequence[Any], tables: Tables, columns: Sequence[SensitiveColumn]
) -> list[Round]:
    """Read rounds back from the ledger's rows; ``tables`` hold the counts of all tasks.

    A task whose counts have changed since it was judged is judged by them; so is one that is still
    open, whose people were decided about one by one.
    """
    records: list[Round] = []
    violation = clipped = None
    for row in kept:
        document = row.document or _open_document(records[-1] if records else None)
        counts = {name: table[row.round - 1] for name, table in tables.decided.items()}
        everybody = tables.everybody[row.round - 1]
        judged = sum(document.get(name, 0) for name in ("n_validation", "n_unlabelled"))
        if document.get("counted", "") != _signature(counts) or judged != everybody.sum():
            document = _recounted(document, counts, everybody, columns)
        row = row._replace(document=document)
        constraint = _array(row.document["constraint"])
        measured = np.nan_to_num(constraint)
        violation = measured if violation is None else violation + measured
        clipped = np.maximum(measured, 0) + (0 if clipped is None else clipped)
        records.append(_round(row, tables, violation, clipped))
    return records


def _open_document(last: Round | None) -> dict[str, Any]:
    """Return what can be said of a task from which nothing was learned yet."""
    before = np.zeros(0) if last is None else last.multipliers
    return {
        **{"n_support": 0, "iterations": 0, "drift": [], "seconds": 0.0, "extra": {}},
        "metrics": {"loss": None, "dbc": None},
        "constraint": _listed(np.full(before.shape, np.nan)),
        "multipliers": _listed(before),
        "reliability": _listed(np.zeros((10, 3))),
    }


def _recounted(
    document: Mapping[str, Any],
    counts: Mapping[str, np.ndarray],
    everybody: np.ndarray,
    columns: Sequence[Any],
) -> dict[str, Any]:
    """Judge a task by its counts of today: people were added, or labels have come since."""
    judgements = {c.name: metrics.judge(counts[c.name], c.groups) for c in columns}
    judged = metrics.worst(list(judgements.values()))
    people, unknown = int(everybody.sum()), int(everybody[2].sum())
    ceilings = {
        name: [_number(one.values[f"{m}_ceiling"]) for m in ("dp", "eo")]
        for name, one in judgements.items()
    }
    values = {name: _number(value) for name, value in judged.values.items()}
    undefined = judged.undefined
    if any(table.sum() != people for table in counts.values()):  # some are of an unknown group
        whole = metrics.judge(everybody[None])
        values |= {
            name: _number(value) for name, value in whole.values.items() if name.startswith(_OF_ALL)
        }
        undefined = {k: why for k, why in undefined.items() if not k.startswith(_OF_ALL)}
        undefined |= {k: why for k, why in whole.undefined.items() if k.startswith(_OF_ALL)}
    return dict(document) | {
        "n_rows": people + document["n_support"],
        "n_validation": people - unknown,
        "n_unlabelled": unknown,
        "undefined": undefined,
        "metrics": document["metrics"] | values,
        "ceilings": ceilings,
    }


def _signature(counts: Mapping[str, np.ndarray]) -> str:
    """Return a text that tells counts from others."""
    plain = {name: np.asarray(table, int).tolist() for name, table in sorted(counts.items())}
    return hashlib.sha256(json.dumps(plain).encode()).hexdigest()[:16]


def _round(row: Any, tables: Tables, violation: np.ndarray, clipped: np.ndarray) -> Round:
    document, place = row.document, row.round - 1
    arrays: dict[str, Any] = {name: _array(document[name]) for name in _ARRAYS}
    return Round(
        round=row.round,
        task=row.task,
        **{name: document[name] for name in _PLAIN},
        **arrays,
        violation=violation,
        clipped_violation=clipped,
        metrics={name: _nan(value) for name, value in document["metrics"].items()},
        ceilings={name: _array(values) for name, values in document["ceilings"].items()},
        drift=tuple(Drift(*one) for one in document["drift"]),
        seconds=document["seconds"],
        extra=document["extra"],
        alone={name: np.array(table) for name, table in document.get("alone", {}).items()},
        tables={name: counts[place] for name, counts in tables.decided.items()},
        unpriced={name: counts[place] for name, counts in tables.unpriced.items()},
    )


def judged_again(
    document: Mapping[str, Any], judgement: Judgement, one: Waiting
) -> tuple[dict[str, Any], np.ndarray, np.ndarray]:
    """Return a round's document with a new judgement, and by how much Σ g and Σ [g]₊ change."""
    unknown = int((one.task.y[one.decided.rows] < 0).sum())
    before = np.nan_to_num(_array(document["constraint"]))
    after = np.nan_to_num(judgement.constraint)
    new = {
        "n_unlabelled": unknown,
        "n_validation": len(one.decided.rows) - unknown,
        "undefined": judgement.undefined,
        "metrics": {name: _number(value) for name, value in judgement.metrics.items()},
        "constraint": _listed(judgement.constraint),
        "reliability": _listed(judgement.reliability),
        "ceilings": {name: _listed(values) for name, values in judgement.ceilings.items()},
        "counted": _signature(judgement.tables),
    }
    clipped = np.maximum(after, 0) - np.maximum(before, 0)
    return dict(document) | new, after - before, clipped


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
