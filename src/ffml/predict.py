"""Decisions for the rows of a table, in batches, with NumPy alone."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ffml.base import FFMLError, Params
from ffml.runs.artifact import SavedModel
from ffml.tables import Preprocessor, Source

if TYPE_CHECKING:
    import pyarrow as pa

BLOCK_ROWS = 16_384  # rows whose features and hidden layers fit into a core's cache


class Decisions(NamedTuple):
    """Probabilities and 0/1 decisions of some rows."""

    probability: np.ndarray
    decision: np.ndarray


def decide(model: SavedModel, x: np.ndarray, params: Params | None = None) -> Decisions:
    """Decide about rows of encoded features.

    Args:
        model: what a run left behind.
        x: ``(n, features)`` as the model's preprocessor encodes them.
        params: adapted parameters (`ffml.adapting.adapted_params`); the meta parameters if None.
    """
    apply, theta = model.apply, model.params if params is None else params
    probability = np.empty(len(x), np.float32)
    for start in range(0, len(x), BLOCK_ROWS):
        rows = x[start : start + BLOCK_ROWS]
        if model.scaler is not None:
            rows = model.scaler.transform(rows)
        logits = apply(theta, np.asarray(rows, np.float32))
        probability[start : start + BLOCK_ROWS] = 1 / (1 + np.exp(-np.clip(logits, -80, 80)))
    return Decisions(probability, (probability > 0.5).astype(np.int8))


def preprocessor_of(model: SavedModel) -> Preprocessor:
    """Return how the model's features are encoded."""
    if model.preprocessing is None:
        raise FFMLError(
            f"this model was learned from the data set '{model.config['data']['name']}', not from "
            "a table; predict needs a run on a table of yours"
        )
    return Preprocessor.from_json(model.preprocessing)


def predict_table(
    model: SavedModel, source: Source, keep: Sequence[str] = (), params: Params | None = None
) -> Iterator["pa.RecordBatch"]:
    """Decide about a table of any size: ``row, [kept columns], probability, decision``."""
    import pyarrow as pa

    preprocessor = preprocessor_of(model)
    if missing := [name for name in keep if name not in source.columns]:
        raise FFMLError(f"{source.name} has no column {missing[0]!r} to keep")
    names = list(preprocessor.names)
    if missing := [name for name in names if name not in source.columns]:
        raise FFMLError(f"{source.name} has no column {missing[0]!r}, which the model needs")
    needed = [name for name in source.columns if name in {*names, *keep}]
    first = 0
    for batch in source.batches(needed):
        decisions = decide(model, preprocessor.transform(batch.select(names)), params)
        columns = {"row": pa.array(np.arange(first, first + len(batch)))}
        columns |= {name: batch.column(batch.schema.get_field_index(name)) for name in keep}
        columns |= {
            "probability": pa.array(decisions.probability),
            "decision": pa.array(decisions.decision),
        }
        first += len(batch)
        yield pa.RecordBatch.from_pydict(columns)


def write_decisions(batches: Iterator["pa.RecordBatch"], path: Path) -> int:
    """Write decisions to a .csv or .parquet file, whole or not at all; return the rows."""
    import pyarrow.csv
    import pyarrow.parquet

    writers = {".csv": pyarrow.csv.CSVWriter, ".parquet": pyarrow.parquet.ParquetWriter}
    if path.suffix not in writers:
        raise FFMLError(f"--out must end in .csv or .parquet, got {path.name}")
    if not path.parent.is_dir():
        raise FFMLError(
            f"the folder {path.parent} does not exist; make it, or choose another --out"
        )
    first = next(batches, None)
    if first is None:
        raise FFMLError("the table has no rows to decide about")
    temporary = path.with_name(f".{path.name}.tmp")
    try:
        with writers[path.suffix](temporary, first.schema) as writer:
            writer.write(first)
            rows = len(first)
            for batch in batches:
                writer.write(batch)
                rows += len(batch)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
    return rows
