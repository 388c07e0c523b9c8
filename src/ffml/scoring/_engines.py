"""Decisions on Spark and on Ray: rows stay where they are, workers decide about batches.

Workers need ffml, and their Python the versions of the driver's. Neither engine keeps rows in
their order, so keep a column that names them.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from ffml.scoring._scorer import Scorer, score
from ffml.scoring.table import needed_columns

RAY_BATCH_ROWS = 65_536


def on_spark(scorer: Scorer, frame: Any, keep: Sequence[str] = ()) -> Any:
    """Decide about the rows of a Spark data frame, in its own partitions.

    Args:
        scorer: of `prepare`.
        frame: a `pyspark.sql.DataFrame` with the columns that the model was learned from.
        keep: columns to carry over, such as an id.

    Returns:
        A data frame with the kept columns, ``probability`` (float) and ``decision`` (byte).
    """
    from pyspark.sql.types import ByteType, FloatType, StructType

    needed = needed_columns(scorer.preprocessor, frame.columns, keep, "the data frame")
    schema = StructType([frame.schema[name] for name in keep])
    schema = schema.add("probability", FloatType()).add("decision", ByteType())

    def decide(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return score(scorer, batches, keep)

    return frame.select(*(f"`{name}`" for name in needed)).mapInArrow(decide, schema)


def on_ray(scorer: Scorer, dataset: Any, keep: Sequence[str] = ()) -> Any:
    """Decide about the rows of a `ray.data.Dataset`, block by block; see `on_spark`."""
    import ray

    needed = needed_columns(scorer.preprocessor, dataset.columns(), keep, "the dataset")
    shared = ray.put(scorer)  # once for all batches

    def decide(batch: pa.Table) -> pa.Table:
        return next(iter(score(ray.get(shared), [batch], keep)))

    return dataset.select_columns(needed).map_batches(
        decide, batch_format="pyarrow", batch_size=RAY_BATCH_ROWS
    )
