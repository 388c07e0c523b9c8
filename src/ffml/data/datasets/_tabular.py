"""From a table of people to a stream of tasks; every tabular data set goes through here.

Nothing crosses from one task to another, and nothing from labels to features: a task's features
depend on that task's raw features only.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from ffml.base import FFMLError, Schema, SensitiveColumn, Stream, Task

if TYPE_CHECKING:
    import pandas as pd

MISSING = "?"  # the category of a value that is not there


@dataclass(frozen=True)
class Layout:
    """Which column of a table plays which part.

    ``sensitive`` and ``categorical`` map a column to its vocabulary: all values that it may
    take, in the order of their codes. A missing value counts as the value ``"?"``.
    """

    task: str
    label: str  # a column of 0/1 or booleans
    sensitive: Mapping[str, tuple[str, ...]]
    numeric: tuple[str, ...] = ()
    categorical: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def features(self) -> tuple[str, ...]:
        """The numeric columns, then one ``column=category`` for each category."""
        return self.numeric + tuple(
            f"{column}={category}"
            for column, categories in self.categorical.items()
            for category in categories
        )


def from_frame(
    frame: "pd.DataFrame",
    layout: Layout,
    *,
    name: str,
    seed: int | None = 0,
    intersect: bool = False,
) -> Stream:
    """Cut a table into tasks.

    Numeric columns are standardised per task with the mean and standard deviation of that task's
    rows; a column that is constant in a task is 0 there, and so is a missing number (the task's
    mean). Categories are one-hot. Rows keep the order of the table.

    Args:
        frame: one row per person.
        layout: which column is what.
        name: the stream's name.
        seed: draws the order of the tasks; ``None`` keeps the order of their first rows.
        intersect: make one protected attribute out of all sensitive columns, whose groups are
            the combinations that occur.

    >>> import pandas as pd
    >>> frame = pd.DataFrame(
    ...     {"town": ["a", "a", "b"], "age": [20, 40, 33], "sex": ["F", "M", "F"], "y": [0, 1, 1]}
    ... )
    >>> layout = Layout("town", "y", sensitive={"sex": ("F", "M")}, numeric=("age",))
    >>> for task in from_frame(frame, layout, name="towns", seed=None).tasks():
    ...     print(task.name, task.x.tolist(), task.y.tolist(), task.groups.tolist())
    a [[-1.0], [1.0]] [0, 1] [[0], [1]]
    b [[0.0]] [1] [[0]]
    """
    _check_columns(frame, layout)
    numbers = _numbers(frame, layout.numeric)
    one_hots = [(_codes(frame[c], words), len(words)) for c, words in layout.categorical.items()]
    labels = _labels(frame[layout.label])
    columns, groups = _sensitive(frame, layout, intersect)
    names, rows_by_task = _split(frame[layout.task])
    if seed is None:
        order = sorted(range(len(names)), key=lambda i: rows_by_task[i][0])
    else:
        order = np.random.default_rng(seed).permutation(len(names)).tolist()

    def tasks() -> Iterator[Task]:
        for i in order:
            rows = rows_by_task[i]
            hot = [codes[rows, None] == np.arange(size) for codes, size in one_hots]
            x = np.concatenate([standardise(numbers[rows]), *hot], axis=1, dtype=np.float32)
            yield Task(names[i], x, labels[rows], groups[rows])

    return Stream(name, Schema(layout.features, columns, layout.label), tasks, len(names))


def standardise(numbers: np.ndarray) -> np.ndarray:
    """Give each column mean 0 and standard deviation 1; missing values and constants become 0.

    >>> standardise(np.array([[1.0, 0.1], [3.0, 0.1], [np.nan, 0.1]])).tolist()
    [[-1.0, 0.0], [1.0, 0.0], [0.0, 0.0]]
    """
    seen = ~np.isnan(numbers)
    counts = np.maximum(seen.sum(axis=0), 1)
    # Through the range 0-1, which changes no standardised value but keeps the rounding errors of
    # a constant such as 0.1 from becoming a feature.
    low = np.where(seen, numbers, np.inf).min(axis=0)
    spread = np.where(seen, numbers, -np.inf).max(axis=0) - low
    varies = spread > 0
    unit = np.where(seen & varies, (numbers - low) / np.where(varies, spread, 1), 0)
    centred = np.where(seen, unit - unit.sum(axis=0) / counts, 0)
    deviation = np.sqrt((centred**2).sum(axis=0) / counts)
    return centred / np.where(varies, deviation, 1)


def vocabulary(values: "pd.Series") -> tuple[str, ...]:
    """Return all values of a categorical column in alphabetic order, missing ones last.

    >>> import pandas as pd
    >>> vocabulary(pd.Series(["red", None, "blue", "red"]))
    ('blue', 'red', '?')
    """
    import pandas as pd

    seen, distinct = pd.factorize(values)
    words = {str(value) for value in distinct} | ({MISSING} if (seen < 0).any() else set())
    return tuple(sorted(words, key=lambda word: (word == MISSING, word)))


def _check_columns(frame: "pd.DataFrame", layout: Layout) -> None:
    features = {*layout.numeric, *layout.categorical}
    kept_out = {layout.task, layout.label, *layout.sensitive}
    if missing := sorted((features | kept_out) - set(frame.columns)):
        raise FFMLError(f"the table has no column {missing[0]!r}; it has {list(frame.columns)}")
    if shared := sorted(features & kept_out):
        raise FFMLError(f"column {shared[0]!r} is task, label or sensitive: not also a feature")
    if frame.empty:
        raise FFMLError("the table has no rows; a stream needs at least one")


def _numbers(frame: "pd.DataFrame", columns: tuple[str, ...]) -> np.ndarray:
    numbers = np.empty((len(frame), len(columns)))
    for i, column in enumerate(columns):
        try:
            numbers[:, i] = frame[column].to_numpy(dtype=np.float64, na_value=np.nan)
        except (TypeError, ValueError) as error:
            raise FFMLError(f"column {column!r} is not numeric; list it as categorical") from error
        if np.isinf(numbers[:, i]).any():
            raise FFMLError(f"column {column!r} holds infinite values; make them missing")
    return numbers


def _codes(values: "pd.Series", words: tuple[str, ...]) -> np.ndarray:
    """Return the place of each value in the vocabulary."""
    import pandas as pd

    positions = {word: i for i, word in enumerate(words)}
    seen, distinct = pd.factorize(values)
    # factorize codes missing values as -1, which picks the last entry.
    lookup = np.array([positions.get(str(v), -1) for v in (*distinct, MISSING)])
    codes = lookup[seen]
    if (codes < 0).any():
        stray = values.iloc[int(np.argmax(codes < 0))]
        raise FFMLError(
            f"column {values.name!r} has the value {stray!r}, expected one of {list(words)}: "
            "drop such rows or add the value"
        )
    return codes


def _labels(values: "pd.Series") -> np.ndarray:
    if not values.isin([0, 1]).all():
        raise FFMLError(f"label column {values.name!r} must hold only 0 and 1")
    return values.to_numpy(dtype=np.int32)


def _sensitive(
    frame: "pd.DataFrame", layout: Layout, intersect: bool
) -> tuple[tuple[SensitiveColumn, ...], np.ndarray]:
    columns = tuple(SensitiveColumn(c, tuple(words)) for c, words in layout.sensitive.items())
    if not columns:
        raise FFMLError("a stream needs at least one sensitive column")
    codes = np.stack([_codes(frame[c.name], c.groups) for c in columns], axis=1)
    if intersect:
        columns, codes = _intersection(columns, codes)
    for column in columns:
        if len(column.groups) < 2:
            raise FFMLError(f"sensitive column {column.name!r} needs at least two groups")
    return columns, codes.astype(np.int32)


def _intersection(
    columns: tuple[SensitiveColumn, ...], codes: np.ndarray
) -> tuple[tuple[SensitiveColumn, ...], np.ndarray]:
    occurring, crossed = np.unique(codes, axis=0, return_inverse=True)
    groups = tuple(
        "×".join(column.groups[code] for column, code in zip(columns, combination, strict=True))
        for combination in occurring
    )
    name = "×".join(column.name for column in columns)
    return (SensitiveColumn(name, groups),), crossed.reshape(-1, 1)


def _split(values: "pd.Series") -> tuple[tuple[str, ...], list[np.ndarray]]:
    """Return the tasks' names in alphabetic order, and the rows of each in the table's order."""
    if values.isna().any():
        raise FFMLError(f"task column {values.name!r} has missing values; drop those rows")
    names = vocabulary(values)
    codes = _codes(values, names)
    order = np.argsort(codes, kind="stable")
    return names, np.split(order, np.cumsum(np.bincount(codes))[:-1])
