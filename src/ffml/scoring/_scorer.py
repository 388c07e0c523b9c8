"""What a batch of rows needs to be decided about, found once and sent to wherever the rows are."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ffml.runs.artifact import SavedModel, load_model
from ffml.runs.predict import Rule, decided_columns, preprocessor_of
from ffml.tables import Source, open_frame, open_table
from ffml.threads import one_thread

if TYPE_CHECKING:
    import pyarrow as pa

    from ffml.runs.adapting import Settled

Table = str | Path | Any  # a file or folder, or a pandas, polars or Arrow table


class Scorer(NamedTuple):
    """A model that is ready to decide: arrays and plain values, so that it can be pickled."""

    model: SavedModel
    settled: "Settled | None" = None  # None: θ alone decides

    def rule(self) -> Rule | None:
        """Return how to decide; None: by θ alone, which needs nothing but NumPy."""
        if self.settled is None:
            return None
        from ffml.runs.adapting import rule_of

        return rule_of(self.settled)


def prepare(
    model: str | Path | SavedModel,
    people: Table | None = None,
    support: Table | None = None,
    threshold: str | None = None,
) -> Scorer:
    """Make a model ready to decide about the people of one task.

    Prices and thresholds depend on who is decided about. They are found here, once, so that it
    does not matter how rows are cut into batches afterwards, nor in which order they come.

    Args:
        model: a run's folder or its model file, or what `load_model` read from it.
        people: those to be decided about, or a fair sample of them: at most 4,096 rows are looked
            at, drawn at random. It can be left out where the model does not look at people.
        support: labelled rows of the same task, to adapt to.
        threshold: another goal than the run's, see `ffml.wrappers.evened`.
    """
    saved = model if isinstance(model, SavedModel) else load_model(model)
    if support is None and threshold is None and saved.decides_by_params:
        return Scorer(saved)
    from ffml.runs.adapting import settle

    return Scorer(saved, settle(saved, _source(support), _source(people), threshold))


def score(
    scorer: Scorer, batches: "Iterable[pa.RecordBatch | pa.Table]", keep: Sequence[str] = ()
) -> "Iterator[pa.RecordBatch | pa.Table]":
    """Decide about batches of rows: ``[kept columns], probability, decision``.

    A batch gives a batch with as many rows, in their order. One thread computes, since an engine
    runs a worker for each core.
    """
    preprocessor, rule = preprocessor_of(scorer.model), scorer.rule()
    for batch in batches:
        with one_thread():
            columns = decided_columns(scorer.model, preprocessor, batch, keep, rule)
        yield type(batch).from_pydict(columns)


def _source(table: Table | None) -> Source | None:
    if table is None:
        return None
    return open_table(table) if isinstance(table, str | Path) else open_frame(table)
