"""Learning what a column is, one batch of rows at a time, within bounded memory."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from ffml.base import FFMLError
from ffml.tables._categories import MAX_CATEGORIES, FirstCategories
from ffml.tables._columns import is_number, is_text, is_time, numbers, refuse_extremes, texts
from ffml.tables._encoders import Categorical, Encoder, Numeric
from ffml.tables._in_order import OrderedFit
from ffml.tables._medians import MedianFit
from ffml.tables._suspects import FirstTexts


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
        self._first_texts = FirstTexts(name)

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

    def ordered_fit(self) -> OrderedFit | None:
        """Return what is still to be learned of the column, in the order of its tasks, if any.

        A column of texts that cannot be categories is refused.
        """
        if self._may_be_numbers:
            return MedianFit()
        self._first_texts.refuse_suspects()
        return FirstCategories() if len(self._categories) > MAX_CATEGORIES else None

    def finish(self, first: Mapping[str, Any]) -> Encoder:
        """Return the column's encoder; a column without values is refused.

        Args:
            first: what the `ordered_fit` of columns learned.
        """
        if self._may_be_numbers is None:
            raise FFMLError(f"column {self.name!r} holds no values; drop it (--drop {self.name})")
        if self._may_be_numbers:
            return Numeric(self.name, first[self.name])
        many = len(self._categories) > MAX_CATEGORIES
        categories = first[self.name] if many else sorted(self._categories)
        return Categorical(self.name, (*categories, *((None,) if self._missing else ())), many)

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
        self._first_texts.add(values)
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


def ordered_fits(columns: Iterable[ColumnFit]) -> dict[str, OrderedFit]:
    """Return what is still to be learned of each column, in the order of its tasks."""
    fits = ((column.name, column.ordered_fit()) for column in columns)
    return {name: fit for name, fit in fits if fit is not None}
