"""Decisions for the rows of a table, in batches, with NumPy alone."""

import itertools
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa

from ffml.base import FFMLError
from ffml.border import cannot_connect, public_address
from ffml.online.arrays import watch_from
from ffml.online.drift import InputWatch, drift_words
from ffml.store import durable
from ffml.tables import Preprocessor, Source, located, num_missing
from ffml.tables.csvfile import guarded_batch

if TYPE_CHECKING:
    import pandas as pd

    from ffml.scoring._scorer import Scorer

MOST_WATCHED = 50_000  # rows of a table whose inputs are compared with those learned from


class Decisions(NamedTuple):
    """What is said of some rows: probabilities of label 1, and 0/1 decisions."""

    probability: np.ndarray
    decision: np.ndarray
    unpriced: np.ndarray  # the decision if no gap were bounded


def predict_table(
    scorer: "Scorer", source: Source, keep: Sequence[str] = (), warned: list[str] | None = None
) -> Iterator[pa.RecordBatch]:
    """Decide about a table of any size: ``row, [kept columns], probability, decision``.

    Args:
        scorer: a model that is ready to decide.
        source: the table.
        keep: columns that are carried over.
        warned: after the last batch, it holds what differs about the inputs, a line a column.
    """
    preprocessor, first = scorer.preprocessor, 0
    inputs = _Inputs(scorer.model.inputs, preprocessor)
    for batch in source.batches(needed_columns(preprocessor, source.columns, keep, source.name)):
        with located(source):
            x = preprocessor.transform(batch.select(preprocessor.names))
        inputs.add(x, batch)
        rows = {"row": pa.array(np.arange(first, first + len(batch)))}
        yield pa.RecordBatch.from_pydict(rows | decided_columns(scorer.decide(x), batch, keep))
        first += len(batch)
    if warned is not None:
        warned += inputs.warnings()


class _Inputs:
    """The first rows of a table: are its inputs like those that the model learned from?"""

    def __init__(self, learned: Mapping[str, np.ndarray], preprocessor: Preprocessor) -> None:
        self._columns = [column.name for column in preprocessor.columns]
        self._watch = watch_from(InputWatch.of(preprocessor), learned)
        self._x: list[np.ndarray] = []
        self._rows, self._missing = 0, np.zeros(len(self._columns))

    def add(self, x: np.ndarray, batch: pa.RecordBatch) -> None:
        if self._rows < MOST_WATCHED:
            self._x.append(x)
            self._rows += len(x)
            self._missing += [num_missing(batch.column(name)) for name in self._columns]

    def warnings(self) -> list[str]:
        if self._watch is None or not self._x:
            return []
        return drift_words(self._watch.compare_inputs(np.concatenate(self._x), self._missing))


def needed_columns(
    preprocessor: Preprocessor, columns: Sequence[str], keep: Sequence[str], table: str
) -> list[str]:
    """Return the columns that decisions need and that are kept; refuses a table without them."""
    names = set(preprocessor.names)
    if missing := [name for name in keep if name not in columns]:
        raise FFMLError(f"{table} has no column {missing[0]!r} to keep")
    if missing := [name for name in preprocessor.names if name not in columns]:
        needed = preprocessor.needed(missing[0], "the model needs")
        raise FFMLError(f"{table} has no column {needed}")
    return [name for name in columns if name in names or name in keep]


def decided_columns(
    decisions: Decisions, batch: pa.RecordBatch | pa.Table, keep: Sequence[str]
) -> dict[str, pa.Array]:
    """Return the columns of decisions about a batch: ``[kept columns], probability, decision``."""
    return {name: batch.column(name) for name in keep} | {
        "probability": pa.array(decisions.probability),
        "decision": pa.array(decisions.decision),
    }


def write_decisions(batches: Iterator[pa.RecordBatch], path: Path) -> int:
    """Write decisions to a .csv or .parquet file, whole or not at all; return the rows.

    In a .csv file, a kept text that a spreadsheet would run (``=1+1``) has an apostrophe before it.
    """
    if path.suffix not in (".csv", ".parquet"):
        raise FFMLError(f"--out must end in .csv or .parquet, got {path.name}")
    if not path.parent.is_dir():
        raise FFMLError(
            f"the folder {path.parent} does not exist; make it, or choose another --out"
        )
    if path.suffix == ".csv":
        batches = map(guarded_batch, batches)
    first = next(batches, None)
    if first is None:
        raise FFMLError("the table has no rows to decide about")
    rows = 0
    with _whole_file(path) as temporary, _writer(path, temporary, first.schema) as writer:
        for batch in itertools.chain([first], batches):
            writer.write(batch.cast(first.schema))
            rows += len(batch)
    return rows


def frame_batches(frame: "pd.DataFrame") -> Iterator[pa.RecordBatch]:
    """Cut a frame of decisions into batches, to be written."""
    return iter(pa.Table.from_pandas(frame, preserve_index=False).to_batches())


def write_to_database(
    batches: Iterator[pa.RecordBatch], address: str, table: str
) -> Iterator[pa.RecordBatch]:
    """Add decisions to a table of a database on the way, all of them or none.

    Args:
        batches: of decisions; they are handed on as they are.
        address: ``sqlite:///…`` or ``postgresql://…``.
        table: made where it is missing.
    """
    import pandas as pd
    import sqlalchemy as sa

    scheme, _, rest = address.partition("://")
    if scheme.partition("+")[0] not in ("sqlite", "postgresql", "postgres"):
        raise FFMLError("--to is a database: sqlite:///decisions.db or postgresql://user@host/db")
    driver = "sqlite" if scheme.startswith("sqlite") else "postgresql+psycopg"
    try:
        engine = sa.create_engine(f"{driver}://{rest}", hide_parameters=True)
        with engine.begin() as connection:
            for batch in batches:
                batch.to_pandas().to_sql(table, connection, if_exists="append", index=False)
                yield batch
    except sa.exc.OperationalError as error:
        raise cannot_connect(address, error) from None
    except (sa.exc.SQLAlchemyError, ValueError, pd.errors.DatabaseError) as error:
        cause = error.__cause__ if isinstance(error, pd.errors.DatabaseError) else error
        reason = str(getattr(cause, "orig", cause)).splitlines()[0]
        raise FFMLError(
            f"cannot write to table {table!r} of {public_address(address)} ({reason}); choose "
            "another --table"
        ) from None
    finally:
        with suppress(UnboundLocalError):
            engine.dispose()


def _writer(path: Path, temporary: Path, schema: pa.Schema) -> Any:
    import pyarrow.csv
    import pyarrow.parquet

    if path.suffix == ".csv":
        return pyarrow.csv.CSVWriter(temporary, schema)
    repeated = [name for name in schema.names if name not in ("row", "probability")]
    return pyarrow.parquet.ParquetWriter(temporary, schema, use_dictionary=repeated)


@contextmanager
def _whole_file(path: Path) -> Iterator[Path]:
    """Give a file to write to, which becomes ``path`` once it is whole, or vanishes."""
    temporary = durable.temporary(path)
    try:
        yield temporary
        durable.sync(temporary)
        durable.rename(temporary, path)
        durable.sync_folder(path.parent)
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else str(error)
        raise FFMLError(f"cannot write {path}: {reason}; mend that, or choose another --out") from (
            error
        )
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError) as error:
        reason = str(error).splitlines()[0]
        raise FFMLError(
            f"a kept column cannot be written to {path.name} ({reason}); leave it out of --keep"
        ) from error
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
