"""What a batch of rows needs to be decided about, found once and sent to wherever the rows are."""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from ffml.base import Prediction, plain
from ffml.online.blocks import predict_rows
from ffml.scoring.model import MODEL, SavedModel, load_model, preprocessor_of
from ffml.scoring.table import Decisions, decided_columns
from ffml.tables import Preprocessor, open_data
from ffml.threads import one_thread

if TYPE_CHECKING:
    from ffml.online.decide import Rule
    from ffml.online.state import Loop

Table = str | Path | Any  # a file or folder, or a pandas, polars or Arrow table


@dataclass(frozen=True)
class Scorer:
    """A model that is ready to decide: arrays and plain values, so that it can be pickled."""

    model: SavedModel
    rule: "Rule | None" = None  # None: θ alone decides, which needs nothing but NumPy
    policy: str | None = None

    def decide(self, x: np.ndarray) -> Decisions:
        """Decide about people by their encoded features."""
        logits, probability, unpriced = (np.asarray(part) for part in self.predict(x))
        positive, free = ((part > 0).astype(np.int8) for part in (logits, unpriced))
        return Decisions(probability.astype(np.float32), positive, free)

    def predict(self, x: np.ndarray) -> Prediction:
        """Say what decisions come from: logits with and without fairness, and probabilities."""
        if self.rule is None:  # by θ alone
            model, apply = self.model, self.model.apply
            rows = model.standardised(x)
            return predict_rows(lambda some: plain(apply(model.params, some)), rows)
        from ffml.online.decide import decide_by

        return decide_by(self._loop, self.rule, x)

    @cached_property
    def preprocessor(self) -> Preprocessor:
        """How a table's columns become features."""
        return preprocessor_of(self.model)

    @cached_property
    def cut(self) -> float:
        """The probability from which on a decision is positive if no gap is bounded.

        Found on one row that is always the same, so that it has the same digits at every door.
        """
        said = self.predict(np.zeros((1, self.preprocessor.width)))
        p, free = (float(np.asarray(part)[0]) for part in (said.probability, said.unpriced))
        p = min(max(p, 1e-6), 1 - 1e-6)
        return round(1 / (1 + math.exp(free - math.log(p / (1 - p)))), 6)

    @cached_property
    def _loop(self) -> "Loop":
        from ffml.scoring.rules import loop_of

        return loop_of(self.model, self.policy)

    def __reduce__(self) -> tuple[Any, ...]:
        return Scorer, (self.model, self.rule, self.policy)


def prepare(
    model: "str | Path | SavedModel",
    people: Table | None = None,
    support: Table | None = None,
    policy: str | None = None,
) -> Scorer:
    """Make a model ready to decide.

    What it decides by is found here, once, so that it does not matter how rows are cut into batches
    afterwards, nor in which order they come.

    Args:
        model: a run's model file or folder, or what `load_model` read.
        people: those to be decided about, where they come together as one task and prices are to be
            found on them, or a fair sample: at most 4,096 rows are looked at, drawn at random.
            Without them the model's standing rule decides: prices of people met lately.
        support: labelled rows of a population, to adapt to.
        policy: another one than the run's, such as "approve=0.8", to see what it would do.
    """
    if not isinstance(model, SavedModel):
        path = Path(model)
        model = load_model(path / MODEL if path.is_dir() else path)
    if people is None and support is None and policy is None and model.decides_by_params:
        return Scorer(model)
    from ffml.scoring.rules import find

    labelled, others = (None if table is None else open_data(table) for table in (support, people))
    return Scorer(model, find(model, labelled, others, policy), policy)


def score(
    scorer: Scorer, batches: Iterable[pa.RecordBatch | pa.Table], keep: Sequence[str] = ()
) -> Iterator[pa.RecordBatch | pa.Table]:
    """Decide about batches of rows: ``[kept columns], probability, decision``.

    A batch gives a batch with as many rows, in their order. One thread computes, since an engine
    runs a worker for each core.
    """
    names = list(scorer.preprocessor.names)
    for batch in batches:
        with one_thread():
            decisions = scorer.decide(scorer.preprocessor.transform(batch.select(names)))
        yield type(batch).from_pydict(decided_columns(decisions, batch, keep))
