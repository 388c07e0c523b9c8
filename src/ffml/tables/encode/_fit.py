"""Learning what a column is, one batch of rows at a time, within bounded memory."""

from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
import pyarrow as pa

from ffml.base import FFMLError
from ffml.tables._values import is_number, is_text, is_time, numbers, refuse_extremes, texts
from ffml.tables.encode._encoders import (
    MAX_CATEGORIES,
    Categorical,
    Encoder,
    Numeric,
    first_categories,
    middle,
)
from ffml.tables.encode._suspects import FirstTexts

MAX_CODES = 10_000  # different texts of a column that are told by number; more stay texts


class TextAfterNumbers(Exception):
    """A column of texts that all were numbers so far holds another text."""


class ColumnFit:
    """What has been seen of one column so far, and how its values are kept.

    Numbers are kept as float64 (NaN where missing), texts by their numbers in ``codes`` (-1 where
    missing), or as they are where a column has too many.

    Args:
        name: the column's name.
        parse: take a column of texts as numbers if every text is one, as a CSV file needs.
        encoder: what the column is, if that was settled before.
    """

    def __init__(self, name: str, parse: bool = False, encoder: Encoder | None = None) -> None:
        self.name, self.encoder = name, encoder
        self.codes: dict[str, int] = {}
        self.holds_numbers: bool | None = None  # None: no value seen
        self._clean = parse  # texts of a CSV file have lost their spaces
        self._parse = parse and encoder is None
        self._missing = False
        self._first_texts = FirstTexts(name, parse)

    def typed(self, values: Any) -> Any:
        """Return values as float64, or as texts with a dictionary; nothing is changed here."""
        kind = values.type
        if pa.types.is_null(kind):
            return np.full(len(values), np.nan)
        if self.encoder is None:
            self._refuse_kind(kind)
        if isinstance(self.encoder, Numeric) or (self.encoder is None and is_number(kind)):
            return numbers(values, self.name)
        if isinstance(self.encoder, Categorical):
            self.encoder.refuse_kind(kind)
        found = values if self._clean else texts(values)
        if self._parse and self.holds_numbers is not False:
            with suppress(pa.ArrowInvalid):
                parsed = np.asarray(found.cast(pa.float64()))
                refuse_extremes(parsed, self.name)
                return parsed
        return found.dictionary_encode()

    def add(self, typed: Any, values: Any) -> Any:
        """See one more batch, and what `typed` made of it; return what is kept of it."""
        empty = isinstance(typed, np.ndarray) and bool(np.isnan(typed).all())
        are_numbers = isinstance(typed, np.ndarray)
        if self._parse and are_numbers and self.holds_numbers is False and not empty:
            typed, are_numbers = values.dictionary_encode(), False
        if are_numbers:
            self._missing = self._missing or bool(np.isnan(typed).any())
        else:
            empty = typed.null_count == len(typed)
            self._missing = self._missing or typed.null_count > 0
        if not empty:
            if self.holds_numbers not in (None, are_numbers):
                self._refuse_both()
            self.holds_numbers = are_numbers
        return typed if are_numbers else self._coded(typed)

    def finish(self, tasks: Iterable[Sequence[Any]]) -> Encoder:
        """Return the column's encoder; one that is of no use is refused.

        Args:
            tasks: what was kept of each task, in pieces, in the order of play.
        """
        if self.encoder is not None:
            return self.encoder
        self._refuse_useless()
        if self.holds_numbers:
            return Numeric(self.name, *middle(np.concatenate(pieces) for pieces in tasks))
        many = len(self.codes) > MAX_CATEGORIES
        categories = first_categories(map(self._counts, tasks)) if many else sorted(self.codes)
        return Categorical(self.name, (*categories, *((None,) if self._missing else ())), many)

    def _refuse_useless(self) -> None:
        """Refuse a column without values, and one of texts that cannot be categories."""
        if self.holds_numbers is None:
            raise FFMLError(f"column {self.name!r} holds no values; drop it (--drop {self.name})")
        if not self.holds_numbers:
            self._first_texts.refuse_suspects()

    def _counts(self, pieces: Sequence[Any]) -> Counter[str]:
        """Count the texts of a task."""
        known, counts = list(self.codes), Counter[str]()
        for piece in pieces:
            if not isinstance(piece, np.ndarray):
                counts.update(piece.drop_null().to_pylist())
            elif piece.dtype == np.int32:
                numbers = np.bincount(piece[piece >= 0])
                counts.update({known[i]: int(n) for i, n in enumerate(numbers) if n})
        return counts

    def _coded(self, encoded: Any) -> Any:
        """Replace texts by their numbers, as long as there are not too many."""
        self._first_texts.add(encoded)
        if len(self.codes) > MAX_CODES:
            return encoded.cast(pa.string())
        dictionary = encoded.dictionary.to_pylist()
        lookup = [self.codes.setdefault(text, len(self.codes)) for text in dictionary]
        indices = np.asarray(encoded.indices.fill_null(len(lookup)))
        return np.array([*lookup, -1], np.int32)[indices]

    def _refuse_kind(self, kind: Any) -> None:
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
