"""People whom a saved model decides about: are their inputs like those that it learned from?"""

from typing import TYPE_CHECKING

import numpy as np

from ffml.online.arrays import watch_from
from ffml.online.drift import InputWatch, drift_words
from ffml.scoring.model import SavedModel
from ffml.tables import Preprocessor, num_missing

if TYPE_CHECKING:
    import pyarrow as pa

MOST_ROWS = 50_000  # of a larger table, the first rows are looked at


class Arrivals:
    """The first rows of a table, encoded, batch by batch."""

    def __init__(self, model: SavedModel, preprocessor: Preprocessor) -> None:
        self._preprocessor = preprocessor
        self._watch = watch_from(InputWatch.of(preprocessor), model.inputs)
        self._x: list[np.ndarray] = []
        self._rows, self._missing = 0, np.zeros(len(preprocessor.columns))

    def add(self, batch: "pa.RecordBatch") -> None:
        """See some more rows."""
        if self._rows < MOST_ROWS:
            inputs = batch.select(list(self._preprocessor.names))
            self._x.append(self._preprocessor.transform(inputs))
            self._rows += len(batch)
            features = inputs.columns[: len(self._missing)]
            self._missing += [num_missing(column) for column in features]

    def warnings(self) -> list[str]:
        """Say which inputs differ from those of the tasks that were learned from."""
        if self._watch is None or not self._x:
            return []
        return drift_words(self._watch.compare_inputs(np.concatenate(self._x), self._missing))
