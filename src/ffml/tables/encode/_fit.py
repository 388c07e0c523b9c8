"""Learning what a column is, one batch of rows at a time, within bounded memory."""

from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress

import numpy as np
import pyarrow as pa

from ffml.base import FFMLError
from ffml.tables._values import (
    is_number,
    is_text,
    is_time,
    num_missing,
    numbers,
    refuse_extremes,
    texts,
)
from ffml.tables.encode._encoders import (
    MAX_CATEGORIES,
    Categorical,
    Encoder,
    Numeric,
    first_categories,
    fit_numeric,
)
from ffml.tables.encode._suspects import FirstTexts

LONG = 1000  # texts of a dictionary that is repeated with the rows of each task


class TextAfterNumbers(Exception):
    """A column of texts that all were numbers so far holds another text."""


class ColumnFit:
    """What has been seen of one column so far.

    Args:
        name: the column's name.
        parse: take a column of texts as numbers if every text is one, as a CSV file needs.
        encoder: what the column is, if that was settled before.
    """

    def __init__(self, name: str, parse: bool = False, encoder: Encoder | None = None) -> None:
        self.name, self.encoder = name, encoder
        self.holds_numbers: bool | None = None  # None: no value seen
        self._clean = parse  # texts of a CSV file have lost their spaces
        self._parse = parse and encoder is None
        self._missing = False
        self._texts: dict[str, None] = {}  # some more than can be categories are enough
        self._first_texts = FirstTexts(name, parse)

    def typed(self, values: pa.Array) -> pa.Array:
        """Return values as float64 (missing: NaN) or as texts with a dictionary.

        Batches are typed side by side, so nothing is changed here.
        """
        kind = values.type
        if pa.types.is_null(kind):
            return pa.array(np.full(len(values), np.nan))
        if self.encoder is None:
            self._refuse_kind(kind)
        if isinstance(self.encoder, Numeric) or (self.encoder is None and is_number(kind)):
            return pa.array(numbers(values, self.name))
        if isinstance(self.encoder, Categorical):
            self.encoder.refuse_kind(kind)
        clean = values if self._clean else texts(values)
        if self._parse and self.holds_numbers is not False:
            with suppress(pa.ArrowInvalid):
                parsed = np.asarray(clean.cast(pa.float64()))
                refuse_extremes(parsed, self.name)
                return pa.array(parsed)
        return clean.dictionary_encode()

    def add(self, typed: pa.Array, values: pa.Array) -> pa.Array:
        """See one more batch, and what `typed` made of it; return what is kept of it."""
        missing = num_missing(typed)
        empty = missing == len(typed)
        are_numbers = pa.types.is_floating(typed.type)
        if self._parse and are_numbers and self.holds_numbers is False and not empty:
            typed, are_numbers = values.dictionary_encode(), False
        self._missing = self._missing or missing > 0
        if not empty:
            if self.holds_numbers not in (None, are_numbers):
                self._refuse_both()
            self.holds_numbers = are_numbers
        if are_numbers:
            return typed
        self._first_texts.add(typed)
        if len(self._texts) <= MAX_CATEGORIES:
            self._texts |= dict.fromkeys(typed.dictionary.to_pylist())
        return short(typed)

    def finish(self, tasks: Iterable[Sequence[pa.Array]]) -> Encoder:
        """Return the column's encoder; one that is of no use is refused.

        Args:
            tasks: what was kept of each task, in pieces, in the order of play.
        """
        if self.encoder is not None:
            return self.encoder
        if self.holds_numbers is None:
            raise FFMLError(f"column {self.name!r} holds no values; drop it (--drop {self.name})")
        if self.holds_numbers:
            return fit_numeric(self.name, (np.concatenate(pieces) for pieces in tasks))
        self._first_texts.refuse_suspects()
        many = len(self._texts) > MAX_CATEGORIES
        categories = first_categories(map(_counts, tasks)) if many else sorted(self._texts)
        return Categorical(self.name, (*categories, *((None,) if self._missing else ())), many)

    def _refuse_kind(self, kind: pa.DataType) -> None:
        if is_number(kind) or is_text(kind):
            return
        what = "dates or times" if is_time(kind) else f"values of the nested or raw type {kind}"
        raise FFMLError(
            f"column {self.name!r} holds {what}, which cannot be a feature; drop it "
            f"(--drop {self.name}) or turn it into numbers or texts"
        )

    def _refuse_both(self) -> None:
        if self._parse:
            raise TextAfterNumbers
        raise FFMLError(
            f"column {self.name!r} holds numbers in one place and texts in another; make them "
            "all numbers or all texts"
        )


def short(encoded: pa.DictionaryArray) -> pa.Array:
    """Return texts with a dictionary, or without one where it is long."""
    return encoded if len(encoded.dictionary) <= LONG else encoded.cast(pa.string())


def _counts(pieces: Sequence[pa.Array]) -> Counter[str]:
    """Count the texts of a task; pieces without any text are numbers, all missing."""
    counts = Counter[str]()
    for piece in pieces:
        if not pa.types.is_floating(piece.type):
            texts, rows = piece.drop_null().value_counts().flatten()
            counts.update(dict(zip(texts.to_pylist(), rows.to_pylist(), strict=True)))
    return counts
