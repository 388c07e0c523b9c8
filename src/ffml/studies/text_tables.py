"""Tables as people read them: rows of texts, and the same as Markdown."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ffml.report import markdown


class Best(str):
    """A cell that is the best of its line."""


class TextTable(NamedTuple):
    """A table; the first ``names`` columns say what a line is about."""

    title: str
    header: Sequence[str]
    lines: Sequence[Sequence[str]]
    names: int = 1


def as_markdown(tables: Iterable[TextTable]) -> str:
    """Write tables one below the other; the best of a line is bold.

    >>> print(as_markdown([TextTable("T", ["a", "b"], [["x", Best("1")]])]))
    **T**
    <BLANKLINE>
    | a | b |
    | --- | ---: |
    | x | **1** |
    """
    parts = []
    for table in tables:
        header = [markdown.escape(name) for name in table.header]
        lines = [[*map(_cell, line)] for line in table.lines]
        shown = markdown.table(header, lines, numbers_from=table.names)
        parts.append(f"**{markdown.escape(table.title)}**\n\n{shown}")
    return "\n\n".join(parts)


def _cell(text: str) -> str:
    escaped = markdown.escape(text)
    return f"**{escaped}**" if isinstance(text, Best) else escaped
