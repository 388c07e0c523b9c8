"""Decisions on Ray."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ffml.scoring._scorer import Scorer, score
from ffml.scoring.table import needed_columns

if TYPE_CHECKING:
    import pyarrow as pa

BATCH_ROWS = 65_536


def on_ray(scorer: Scorer, dataset: Any, keep: Sequence[str] = ()) -> Any:
    """Decide about the rows of a Ray dataset, block by block.

    Workers need ffml, and their Python the versions of the driver's.

    Args:
        scorer: of `prepare`.
        dataset: a `ray.data.Dataset` with the columns that the model was learned from.
        keep: columns to carry over, such as an id: Ray does not keep rows in their order.

    Returns:
        A dataset with the kept columns, ``probability`` (float32) and ``decision`` (int8).
    """
    import ray

    needed = needed_columns(scorer.preprocessor, dataset.columns(), keep, "the dataset")
    shared = ray.put(scorer)  # once for all batches

    def decide(batch: "pa.Table") -> "pa.Table":
        return next(iter(score(ray.get(shared), [batch], keep)))

    return dataset.select_columns(needed).map_batches(
        decide, batch_format="pyarrow", batch_size=BATCH_ROWS
    )
