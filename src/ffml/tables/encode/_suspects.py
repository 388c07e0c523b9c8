"""Columns of many texts that cannot be categories: ids, dates, numbers with a stray text."""

import re
from typing import Any

from ffml.base import FFMLError
from ffml.tables._values import BadValue, no_number

FEW = 50  # so many different texts can be categories, whatever they look like
LOOKED_AT = 10_000  # how many texts are looked at, from the first row on
NEARLY_ALL = 0.9


class FirstTexts:
    """The texts of a column's first rows.

    Args:
        name: the column's name.
        parse: whether its numbers come as texts.
    """

    def __init__(self, name: str, parse: bool = False) -> None:
        self._name, self._parse = name, parse
        self._rows = 0
        self._distinct: set[str] = set()

    def add(self, values: Any) -> None:
        """See the texts of one more batch."""
        if self._rows < LOOKED_AT:
            head = values.slice(0, LOOKED_AT).drop_null().slice(0, LOOKED_AT - self._rows)
            self._rows += len(head)
            self._distinct.update(head.to_pylist())

    def refuse_suspects(self) -> None:
        """Refuse texts that are no categories."""
        if len(self._distinct) <= FEW:
            return
        most = NEARLY_ALL * len(self._distinct)
        quantities = sum(map(is_quantity, self._distinct)) > most
        strays = sorted(text for text in self._distinct if not is_plain_number(text))
        if len(self._distinct) - len(strays) > most and (self._parse or (quantities and strays)):
            but = f" but for {strays[0]!r}" if len(strays) == 1 else ", but not in every row"
            raise BadValue(
                self._name,
                f"column {self._name!r} holds numbers{but}",
                "correct what is no number, or leave it empty",
                no_number,
            )
        drop = f"drop it (--drop {self._name})"
        examples = ", ".join(repr(text) for text in sorted(self._distinct)[:3])
        if quantities:
            raise FFMLError(
                f"column {self._name!r} holds dates, times or numbers in a form that is not read "
                f"({examples}, ...); {drop}, or write its numbers with a decimal point"
            )
        if len(self._distinct) > NEARLY_ALL * self._rows:
            raise FFMLError(
                f"column {self._name!r} has a different text in nearly every row ({examples}, "
                f"...), like an id; {drop} or group its values"
            )


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
