"""A data set's card, and the way from its table of people to a stream of tasks.

Columns are encoded as those of any table (`ffml.tables`). Two things are the data sets' own:
tasks arrive in an order that the seed draws, and numbers are standardised within each task.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from ffml.base import SensitiveColumn, Stream, Task
from ffml.tables import FrameSource, table_stream
from ffml.tables.scaling import RunningScaler

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Dataset:
    """A data set's card. ``load`` takes ``seed`` and the data set's own options, by keyword."""

    name: str
    summary: str
    load: Callable[..., Stream]
    num_tasks: int  # with default options, like all that follows
    num_rows: int
    task: str  # what one task is
    label: str  # what label 1 means
    sensitive: str  # what the protected attribute is
    citation: str
    licence: str
    shipped: bool  # False: downloaded on first use, and ``load`` takes ``data_home``


def read_shipped(name: str) -> "pd.DataFrame":
    """Read one of the package's own tables, columns as published.

    >>> read_shipped("crime").shape
    (1994, 125)
    """
    content = files("ffml.datasets").joinpath("files", f"{name}.parquet").read_bytes()
    return parquet.read_table(pa.BufferReader(content)).to_pandas()


def people_stream(
    frame: "pd.DataFrame",
    *,
    name: str,
    task: str,
    label: str,
    sensitive: Mapping[str, Sequence[str]],
    seed: int | None,
    intersect: bool = False,
) -> Stream:
    """Cut a table into tasks. All columns without a part are features.

    Numbers get mean 0 and standard deviation 1 within each task, without a look at its labels; a
    number that is constant in a task is 0 there. Rows keep the order of the table.

    Args:
        frame: one row per person.
        name: the stream's name.
        task: the column whose values are the tasks.
        label: a column of booleans.
        sensitive: the groups of each protected column, in the order of their codes.
        seed: draws the order of the tasks; None: as in the table.
        intersect: make one protected attribute of the combinations of all.

    >>> import pandas as pd
    >>> frame = pd.DataFrame(
    ...     {"town": ["a", "b", "a"], "age": [20, 33, 40], "sex": ["F", "F", "M"], "y": [0, 1, 1]}
    ... )
    >>> groups = {"sex": ("M", "F")}
    >>> stream = people_stream(frame, name="t", task="town", label="y", sensitive=groups, seed=0)
    >>> for task in stream.tasks():
    ...     print(task.name, task.x.tolist(), task.y.tolist(), task.groups.tolist())
    a [[-1.0], [1.0]] [0, 1] [[1], [0]]
    b [[0.0]] [1] [[1]]
    """
    table = table_stream(
        FrameSource(_in_order(frame, task, seed), name),
        task=task,
        label=label,
        sensitive=tuple(sensitive),
        intersect=intersect,
    )
    columns = table.schema.sensitive
    if not intersect:
        columns = tuple(SensitiveColumn(c, tuple(groups)) for c, groups in sensitive.items())
    codes = [
        np.array([column.groups.index(group) for group in sorted_column.groups], np.int32)
        for column, sorted_column in zip(columns, table.schema.sensitive, strict=True)
    ]
    unscaled = RunningScaler.empty(table.preprocessor.scaled)

    def tasks() -> Iterator[Task]:
        for rows in table.tasks():
            x = unscaled.update(rows.x).transform(rows.x)
            groups = [code[rows.groups[:, i]] for i, code in enumerate(codes)]
            yield rows._replace(x=x, groups=np.stack(groups, axis=1))

    schema = replace(table.schema, sensitive=columns, label=label)
    return Stream(name, schema, tasks, table.num_tasks)


def _in_order(frame: "pd.DataFrame", task: str, seed: int | None) -> "pd.DataFrame":
    """Sort the rows by task, the tasks in an order that does not depend on that of the rows."""
    if seed is None:
        return frame
    names = sorted(frame[task].unique())
    order = np.random.default_rng(seed).permutation(len(names))
    places = {names[i]: place for place, i in enumerate(order)}
    return frame.iloc[np.argsort(frame[task].map(places), kind="stable")]
