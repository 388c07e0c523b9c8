"""Decisions on Spark."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from ffml.scoring._scorer import Scorer, score
from ffml.scoring.table import needed_columns

if TYPE_CHECKING:
    import pyarrow as pa


def on_spark(scorer: Scorer, frame: Any, keep: Sequence[str] = ()) -> Any:
    """Decide about the rows of a Spark data frame, in its own partitions.

    Executors need ffml, and their Python the versions of the driver's.

    Args:
        scorer: of `prepare`.
        frame: a `pyspark.sql.DataFrame` with the columns that the model was learned from.
        keep: columns to carry over, such as an id: Spark does not keep rows in their order.

    Returns:
        A data frame with the kept columns, ``probability`` (float) and ``decision`` (byte).
    """
    from pyspark.sql.types import ByteType, FloatType, StructType

    needed = needed_columns(scorer.preprocessor, frame.columns, keep, "the data frame")
    schema = StructType([frame.schema[name] for name in keep])
    schema = schema.add("probability", FloatType()).add("decision", ByteType())

    def decide(batches: "Iterator[pa.RecordBatch]") -> "Iterator[pa.RecordBatch]":
        return score(scorer, batches, keep)

    return frame.select(*(f"`{name}`" for name in needed)).mapInArrow(decide, schema)
