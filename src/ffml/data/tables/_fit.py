"""Learning what a column is, one batch of rows at a time, within bounded memory."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from ffml.base import FFMLError
from ffml.data.tables._columns import is_number, is_text, is_time, numbers, refuse_extremes, texts
from ffml.data.tables._encoders import Categorical, Encoder, Numeric

MAX_CATEGORIES = 50


class ColumnFit:
    """What has been seen of one column so far.

    Args:
        name: the column's name.
        parse: take a column of texts as numbers if every text is one, as a CSV file needs.
    """

    def __init__(self, name: str, parse: bool = False) -> None:
        self.name = name
        self._parse = parse
        self._type_is_number: bool | None = None  # None: no batch seen
        self._may_be_numbers: bool | None = None  # None: no value seen
        self._missing = False
        self._categories: set[str] = set()

    def add(self, values: Any) -> None:
        """See the column's values in one more batch."""
        import pyarrow as pa

        if pa.types.is_null(values.type):
            self._missing = self._missing or len(values) > 0
            return
        self._refuse_kind(values.type)
        if self._type_is_number not in (None, is_number(values.type)):
            raise FFMLError(
                f"column {self.name!r} holds numbers in one place and texts in another; make them "
                "all numbers or all texts"
            )
        self._type_is_number = is_number(values.type)
        if self._type_is_number:
            self._add_numbers(numbers(values, self.name))
        else:
            self._add_texts(texts(values))

    @property
    def is_numeric(self) -> bool:
        """Whether all values seen so far are numbers; False if there are none."""
        return bool(self._may_be_numbers)

    def finish(self, medians: Mapping[str, float]) -> Encoder:
        """Return the column's encoder, or refuse a column that cannot be a feature.

        Args:
            medians: what a missing number becomes, by column of numbers.
        """
        if self._may_be_numbers is None:
            raise FFMLError(f"column {self.name!r} holds no values; drop it (--drop {self.name})")
        if self._may_be_numbers:
            return Numeric(self.name, medians[self.name])
        if len(self._categories) > MAX_CATEGORIES:
            examples = ", ".join(repr(text) for text in sorted(self._categories)[:3])
            raise FFMLError(
                f"column {self.name!r} has more than {MAX_CATEGORIES} different texts ({examples}, "
                f"...) and looks like an id; drop it (--drop {self.name}), group its values, or "
                "write its numbers with a decimal point"
            )
        missing = (None,) if self._missing else ()
        return Categorical(self.name, (*sorted(self._categories), *missing))

    def _refuse_kind(self, kind: Any) -> None:
        if is_number(kind) or is_text(kind):
            return
        what = "dates or times" if is_time(kind) else f"values of the nested or raw type {kind}"
        raise FFMLError(
            f"column {self.name!r} holds {what}, which cannot be a feature; drop it "
            f"(--drop {self.name}) or turn it into numbers or texts"
        )

    def _add_numbers(self, found: np.ndarray) -> None:
        present = found[~np.isnan(found)]
        self._missing = self._missing or len(present) < len(found)
        if len(present) and self._may_be_numbers is None:
            self._may_be_numbers = True

    def _add_texts(self, values: Any) -> None:
        import pyarrow as pa

        self._missing = self._missing or values.null_count > 0
        if len(values) == values.null_count:
            return
        if len(self._categories) <= MAX_CATEGORIES:
            unique = values.unique().drop_null().to_pylist()
            self._categories.update(unique[: MAX_CATEGORIES + 1])
        if self._parse and self._may_be_numbers is not False:
            try:
                found = np.asarray(values.cast(pa.float64()))
            except pa.ArrowInvalid:
                self._may_be_numbers = False
                return
            refuse_extremes(found, self.name)
            self._add_numbers(found)
        else:
            self._may_be_numbers = False
