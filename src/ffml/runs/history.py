"""The rounds of a run as arrays and JSON, and back, to the last bit."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ffml.metrics import noise_ceilings
from ffml.metrics.reliability import COUNTS, NUM_BINS
from ffml.runs.container import Contents

if TYPE_CHECKING:  # it needs JAX, which reading tables does not
    from ffml.online.state import Round

_PLAIN = ("round", "task", "n_rows", "n_support", "n_validation", "undefined", "iterations")
_ARRAYS = ("constraint", "multipliers", "violation", "clipped_violation", "reliability")
_PREFIX = "history."


def history_document(rounds: Sequence["Round"]) -> dict[str, Any]:
    """Return what JSON holds of the rounds, column by column."""
    columns: dict[str, Any] = {name: [getattr(r, name) for r in rounds] for name in _PLAIN}
    return columns | {
        "seconds": [r.seconds for r in rounds],
        "drift": [[list(drift) for drift in r.drift] for r in rounds],
        "n_unlabelled": [r.n_unlabelled for r in rounds],
        "extra": [r.extra for r in rounds],
        "metrics": list(rounds[0].metrics),
        "tables": list(rounds[0].tables),
    }


def history_arrays(rounds: Sequence["Round"]) -> dict[str, np.ndarray]:
    """Return the numbers of the rounds, each array with one row a round."""
    arrays = {name: np.stack([getattr(r, name) for r in rounds]) for name in _ARRAYS}
    arrays["metrics"] = np.array([list(r.metrics.values()) for r in rounds], float)
    for i, column in enumerate(rounds[0].tables):
        arrays[f"tables.{i}"] = np.stack([r.tables[column] for r in rounds])
        arrays[f"unpriced.{i}"] = np.stack(
            [r.unpriced.get(column, r.tables[column]) for r in rounds]
        )
        arrays[f"ceilings.{i}"] = np.stack([round_ceilings(r, column) for r in rounds])
    return {_PREFIX + name: array for name, array in arrays.items()}


def round_ceilings(record: "Round", column: str) -> np.ndarray:
    """Return the noise ceilings of DP and EO; runs of an earlier ffml have not kept them."""
    if column in record.ceilings:
        return record.ceilings[column]
    found = noise_ceilings(record.tables[column])
    return np.array([found["dp"], found["eo"]])


def rounds_from(document: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> list["Round"]:
    """Rebuild the rounds."""
    from ffml.online.drift import Drift
    from ffml.online.state import Round

    drift = document.get("drift") or [[]] * len(document["round"])  # older runs did not watch
    tables = history_tables(document, arrays)
    younger = {_PREFIX + "reliability": np.zeros((len(document["round"]), NUM_BINS, len(COUNTS)))}
    arrays = younger | dict(arrays)  # a run of 0.1 or 0.2 has not counted them
    metrics = arrays[_PREFIX + "metrics"].tolist()
    zeros = [0] * len(document["round"])  # in runs of an earlier ffml all labels were there
    return [
        Round(
            **{name: document[name][t] for name in (*_PLAIN, "seconds")},
            **{name: arrays[_PREFIX + name][t] for name in _ARRAYS},
            n_unlabelled=document.get("n_unlabelled", zeros)[t],
            extra=document.get("extra", [{}] * len(zeros))[t],
            metrics=dict(zip(document["metrics"], metrics[t], strict=True)),
            tables={column: counts[t] for column, counts in tables.items()},
            unpriced={
                column: arrays.get(f"{_PREFIX}unpriced.{i}", tables[column])[t]
                for i, column in enumerate(document["tables"])
            },
            ceilings={
                column: arrays[f"{_PREFIX}ceilings.{i}"][t]
                for i, column in enumerate(document["tables"])
                if f"{_PREFIX}ceilings.{i}" in arrays
            },
            drift=tuple(Drift(*found) for found in drift[t]),
        )
        for t in range(len(document["round"]))
    ]


def joined_history(parts: Sequence[Contents]) -> Contents:
    """Put the histories of rounds that follow each other together."""
    first = parts[0].document
    names = [name for name in first if name not in ("metrics", "tables")]
    document = {name: [value for part in parts for value in part.document[name]] for name in names}
    arrays = {
        name: np.concatenate([part.arrays[name] for part in parts]) for name in parts[0].arrays
    }
    return Contents(first | document, arrays)


def history_of(contents: Contents) -> Contents:
    """Take the history alone out of a checkpoint."""
    arrays = {name: a for name, a in contents.arrays.items() if name.startswith(_PREFIX)}
    return Contents(contents.document["history"], arrays)


def history_tables(
    document: Mapping[str, Any], arrays: Mapping[str, np.ndarray]
) -> dict[str, np.ndarray]:
    """Return the counts ``(T, k, 2, 2)`` of each sensitive column in all rounds."""
    names = document["tables"]
    return {column: arrays[f"{_PREFIX}tables.{i}"] for i, column in enumerate(names)}


def history_constraint(arrays: Mapping[str, np.ndarray]) -> np.ndarray:
    """Return the constraints ``(T, m)`` of all rounds, NaN where not measurable."""
    return arrays[_PREFIX + "constraint"]
