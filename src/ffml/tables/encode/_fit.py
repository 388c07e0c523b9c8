"""Learning what a column is, one batch of rows at a time, within bounded memory."""

import re
import shlex
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress

import numpy as np
import pyarrow as pa

from ffml.base import FFMLError
from ffml.tables._time import TIME_OF_DAY, UNCLEAR, parse_time
from ffml.tables._values import (
    BadValue,
    is_number,
    is_text,
    is_time,
    no_number,
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

LONG = 1000  # texts of a dictionary that is repeated with the rows of each task
FEW = 50  # so many different texts can be categories, whatever they look like
LOOKED_AT = 10_000  # how many texts are looked at for ids and the like, from the first row on
NEARLY_ALL = 0.9
FEW_DATES = 100  # texts that are enough to tell dates


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
        self._looked_at = 0  # rows with a text ...
        self._distinct: set[str] = set()  # ... and their different texts

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
        if self._looked_at < LOOKED_AT:
            head = typed.slice(0, LOOKED_AT).drop_null().slice(0, LOOKED_AT - self._looked_at)
            self._looked_at += len(head)
            self._distinct.update(head.to_pylist())
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
            raise FFMLError(f"column {self.name!r} holds no values; {self._drop}")
        if self.holds_numbers:
            return fit_numeric(self.name, (np.concatenate(pieces) for pieces in tasks))
        self._refuse_suspects()
        many = len(self._texts) > MAX_CATEGORIES
        categories = first_categories(map(_counts, tasks)) if many else sorted(self._texts)
        return Categorical(self.name, (*categories, *((None,) if self._missing else ())), many)

    @property
    def _drop(self) -> str:
        return f"drop it (--drop {shlex.quote(self.name)})"

    def _refuse_kind(self, kind: pa.DataType) -> None:
        if is_number(kind) or is_text(kind):
            return
        what = "dates or times" if is_time(kind) else f"values of the nested or raw type {kind}"
        raise FFMLError(
            f"column {self.name!r} holds {what}, which cannot be a feature; {self._drop} "
            "or turn it into numbers or texts"
        )

    def _are_dates(self) -> bool:
        some = sorted(self._distinct)[:FEW_DATES]
        days = [re.sub(TIME_OF_DAY, "", text.strip()) for text in some]
        dates = [day for day in days if parse_time(day) or UNCLEAR.fullmatch(day)]
        return len(dates) > NEARLY_ALL * len(days)

    def _refuse_suspects(self) -> None:
        """Refuse texts that are no categories: ids, dates, numbers with a stray text."""
        if len(self._distinct) <= FEW:
            return
        most = NEARLY_ALL * len(self._distinct)
        quantities = sum(map(is_quantity, self._distinct)) > most
        strays = sorted(text for text in self._distinct if not is_plain_number(text))
        if len(self._distinct) - len(strays) > most and (self._parse or (quantities and strays)):
            but = f" but for {strays[0]!r}" if len(strays) == 1 else ", but not in every row"
            raise BadValue(
                self.name,
                f"column {self.name!r} holds numbers{but}",
                "correct what is no number, or leave it empty",
                no_number,
            )
        examples = ", ".join(repr(text) for text in sorted(self._distinct)[:3])
        if quantities and self._are_dates():
            raise FFMLError(
                f"column {self.name!r} holds dates or times ({examples}, ...), which are no inputs;"
                f" {self._drop}, or make numbers of them, such as years of age"
            )
        if quantities:
            raise FFMLError(
                f"column {self.name!r} holds dates, times or numbers in a form that is not read "
                f"({examples}, ...); {self._drop}, or write its numbers with a decimal point"
            )
        if len(self._distinct) > NEARLY_ALL * self._looked_at:
            raise FFMLError(
                f"column {self.name!r} has a different text in nearly every row ({examples}, "
                f"...), like an id; {self._drop}, name it as the id of the rows (--set "
                f"{shlex.quote('data.id=' + self.name)}), or group its values"
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


def is_quantity(text: str) -> bool:
    """Tell a date, a time, or a number with marks that a plain number does not have.

    >>> [is_quantity(text) for text in ("1,50", "12 %", "3.5.2024", "2024-05-03T10:00Z")]
    [True, True, True, True]
    >>> [is_quantity(text) for text in ("02139", "ward 7", "A-12")]
    [False, False, False]
    """
    plain = re.sub(r"(?<=\d)[TZ](?=\d|$)", " ", text)
    return (
        not text.isdigit()
        and any(mark.isdigit() for mark in plain)
        and not any(mark.isalpha() for mark in plain)
    )


def is_plain_number(text: str) -> bool:
    """Tell a number as programs write it.

    >>> is_plain_number("-1.5e3"), is_plain_number("n/a!")
    (True, False)
    """
    try:
        float(text)
    except ValueError:
        return False
    return "_" not in text
