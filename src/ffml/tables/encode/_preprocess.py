"""From columns as people keep them to a matrix of numbers, always the same way."""

import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from ffml.base import FFMLError, Schema, SensitiveColumn
from ffml.tables._columns import as_matrix, as_table, refuse_sparse
from ffml.tables._values import texts
from ffml.tables.encode._encoders import Categorical, Encoder, Numeric, encoder_from_json
from ffml.tables.encode._fit import ColumnFit

FORMAT = 1


@dataclass(frozen=True)
class Preprocessor:
    """Encodes tables as `fit` saw the first one; serialised as plain JSON, without pickle.

    Its policies, column by column:

    - Numbers and booleans are taken as they are (`ffml.tables.scaling` standardises them later,
      along the stream). Only where they lie so far from 0, for what they differ by, that single
      precision could not tell them apart, the first task's median is taken off. A missing number
      becomes the column's median in the first task that has a number there (of its first 65,536),
      so that no later task is looked at. Infinite numbers, and those beyond 1e30, are refused.
    - Texts and categories are one-hot, in alphabetic order; missing values are a category of
      their own if fitting saw any. Which ones there are is read from all tasks; the feature of
      one that comes late is 0 until then. A category that fitting did not see is all zeros.
    - Of a column with more than 100 texts, those that are met first along the stream have a
      feature each, in one task the most frequent first; all others, and those that fitting did
      not see, share the feature ``column=(other)``. No label is looked at, and no later task.
    - A column whose texts are nearly all different is refused, since it is an id. So is one
      with more than 50 texts that look like dates or like numbers with a comma.
    - White space around a text does not count: "F " is "F".
    - Dates, times, lists and other nested values are refused, and so is a column without values.
    - A column that fitting did not see is ignored, with one warning; one that is not there is
      refused; the order of the columns does not matter. The columns of an array have no names,
      so they must be as many as at fitting.

    >>> import pandas as pd
    >>> frame = pd.DataFrame({"age": [20, None, 50], "town": ["Ulm", "Bonn", "Ulm"]})
    >>> preprocessor = Preprocessor.fit(frame)
    >>> preprocessor.features
    ('age', 'town=Bonn', 'town=Ulm')
    >>> preprocessor.transform(frame).tolist()
    [[20.0, 0.0, 1.0], [35.0, 1.0, 0.0], [50.0, 0.0, 1.0]]
    >>> preprocessor.transform(pd.DataFrame({"town": ["Rome"], "age": [33]})).tolist()
    [[33.0, 0.0, 0.0]]
    """

    columns: tuple[Encoder, ...]
    groups: tuple[SensitiveColumn, ...] = ()  # known where decisions are made, see `Schema`
    _warned: set[str] = field(default_factory=set, init=False, repr=False, compare=False)

    @classmethod
    def fit(cls, data: Any, tasks: np.ndarray | None = None) -> "Preprocessor":
        """Learn the columns of a table: a 2-D array, a pandas, polars or Arrow table.

        Args:
            data: the table.
            tasks: the place of each row's task in the stream; all rows are one task if None.
        """
        table = as_table(data)
        if not table.num_columns:
            raise FFMLError("the table has no feature columns; at least one is needed")
        if not table.num_rows:
            raise FFMLError("the table has no rows; at least one is needed")
        places = np.zeros(table.num_rows, int) if tasks is None else np.asarray(tasks)
        order = np.argsort(places, kind="stable")
        rows = np.split(order, np.flatnonzero(np.diff(places[order])) + 1)
        return cls(tuple(_fitted(name, table[name], rows) for name in table.column_names))

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that `transform` needs."""
        return tuple(column.name for column in (*self.columns, *self.groups))

    def needed(self, name: str, why: str) -> str:
        """Name a column, and say why decisions need it."""
        if name in {column.name for column in self.groups}:
            why = "decisions go by, since they are made with groups (decide_with_groups)"
        return f"{name!r}, which {why}"

    @property
    def features(self) -> tuple[str, ...]:
        """The columns of the matrix: a number's own name, or ``column=category``."""
        return tuple(feature for column in self.columns for feature in column.features)

    @property
    def width(self) -> int:
        """The columns of the matrix: features, and memberships where groups are known."""
        return len(self.features) + len(Schema((), self.groups).contrasts)

    @property
    def categories(self) -> tuple[tuple[int, ...], ...]:
        """Positions of the features that came from each column of categories."""
        return tuple(
            tuple(range(start, start + len(column.features)))
            for column, start in zip(self.columns, self.starts, strict=True)
            if isinstance(column, Categorical)
        )

    @property
    def starts(self) -> tuple[int, ...]:
        """The place of each column's first feature."""
        widths = [len(column.features) for column in self.columns]
        return tuple(np.cumsum([0, *widths[:-1]]).tolist())

    @property
    def scaled(self) -> np.ndarray:
        """Which features are numbers, to be standardised; one-hot ones are not."""
        return np.repeat(
            [isinstance(column, Numeric) for column in self.columns],
            [len(column.features) for column in self.columns],
        )

    def transform(self, data: Any) -> np.ndarray:
        """Encode a table as ``(n, features)`` float64, neither scaled nor centred."""
        refuse_sparse(data)
        if hasattr(data, "columns") or isinstance(data, Mapping):
            table = as_table(data)
        else:
            table = self._array_table(as_matrix(data))
        if missing := [name for name in self.names if name not in table.column_names]:
            raise FFMLError(
                f"the table has no column {self.needed(missing[0], 'was there at fitting')}; it "
                f"has {', '.join(table.column_names) or 'none'}"
            )
        self.warn_of_new(table.column_names)
        matrix = np.empty((table.num_rows, self.width))
        matrix[:, len(self.features) :] = self._memberships(table)
        for column, start in zip(self.columns, self.starts, strict=True):
            stop = start + len(column.features)
            matrix[:, start:stop] = column.encode(table[column.name])
        return matrix

    def _memberships(self, table: Any) -> np.ndarray:
        """Return who belongs to which group ``(n, contrasts)``; everybody must say it."""
        if not self.groups:
            return np.zeros((table.num_rows, 0))
        codes = []
        for column in self.groups:
            places = Categorical(column.name, column.groups).places(texts(table[column.name]))
            if (places < 0).any():
                raise FFMLError(
                    f"decisions are made with groups (decide_with_groups), and column "
                    f"{column.name!r} has rows without one of {', '.join(column.groups)}; fill "
                    "them in"
                )
            codes.append(places)
        return Schema((), self.groups).memberships(np.stack(codes, axis=1))

    def _array_table(self, array: np.ndarray) -> pa.Table:
        if array.shape[1] != len(self.columns) or self.groups:
            raise FFMLError(
                f"the array has {array.shape[1]} columns; at fitting there were {len(self.columns)}"
                + " and groups; give a table with named columns" * bool(self.groups)
            )
        return as_table(array, self.names)

    def warn_of_new(self, columns: Iterable[str]) -> None:
        """Warn, once each, of columns that fitting did not see."""
        if new := [name for name in columns if name not in (*self.names, *self._warned)]:
            self._warned.update(new)
            ignored = ", ".join(repr(name) for name in new)
            warnings.warn(f"columns not seen at fitting are ignored: {ignored}", stacklevel=3)

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values; ``from_json`` makes an equal preprocessor of them."""
        groups = [{"name": c.name, "groups": list(c.groups)} for c in self.groups]
        return {
            "format": FORMAT,
            "columns": [column.to_json() for column in self.columns],
            **({"groups": groups} if groups else {}),
        }

    @classmethod
    def from_json(cls, saved: dict[str, Any]) -> "Preprocessor":
        """Read back what ``to_json`` wrote."""
        version = saved.get("format") if isinstance(saved, dict) else None
        if version != FORMAT:
            raise FFMLError(
                f"the preprocessing has format {version!r}, and this version of ffml "
                f"reads format {FORMAT}; install the version that wrote it"
            )
        try:
            groups = saved.get("groups", ())
            return cls(
                tuple(encoder_from_json(column) for column in saved["columns"]),
                tuple(SensitiveColumn(c["name"], tuple(c["groups"])) for c in groups),
            )
        except (LookupError, TypeError, ValueError) as error:
            raise FFMLError(
                f"the preprocessing cannot be read ({type(error).__name__}: {error}); restore a "
                "copy of the file"
            ) from error


def _fitted(name: str, values: Any, tasks: Iterable[np.ndarray]) -> Encoder:
    """Learn a column that is in memory; ``tasks`` are the rows of each."""
    column = ColumnFit(name)
    values = values.combine_chunks()
    kept = column.add(column.typed(values), values)
    return column.finish([kept.take(pa.array(rows))] for rows in tasks)
