"""Texts that differ in nothing but their spelling, and may be one value."""

from collections import defaultdict
from collections.abc import Iterable

from ffml.base import Schema
from ffml.tables._encoders import Categorical
from ffml.tables._preprocess import Preprocessor


def same_spellings(texts: Iterable[str]) -> list[list[str]]:
    """Group texts that are equal but for case, spaces, hyphens, dots and underscores.

    >>> same_spellings(["F", "f", "M", "self-employed", "Self employed"])
    [['F', 'f'], ['Self employed', 'self-employed']]
    """
    alike = defaultdict(list)
    for text in sorted(texts):
        letters = "".join(mark for mark in text.casefold() if mark.isalnum())
        if letters:
            alike[letters].append(text)
    return [texts for texts in alike.values() if len(texts) > 1]


def spelling_warnings(schema: Schema, preprocessor: Preprocessor | None) -> list[str]:
    """Say which groups and categories look like one; to merge them would be a guess."""
    columns = [("sensitive column", c.name, c.groups) for c in schema.sensitive]
    for column in preprocessor.columns if preprocessor else ():
        if isinstance(column, Categorical):
            known = tuple(text for text in column.categories if text is not None)
            columns.append(("feature", column.name, known))
    return [
        f"{what} {name!r} tells {', '.join(map(repr, alike))} apart: are they one? If so, spell "
        "them alike"
        for what, name, texts in columns
        for alike in same_spellings(texts)
    ]
