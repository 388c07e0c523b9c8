"""What an item of the paper becomes: numbers, and a figure or tables that show them."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


class Entry(NamedTuple):
    """One cell of a table."""

    text: str
    best: bool = False


class TextTable(NamedTuple):
    """A table as people read it; the first ``names`` columns say what a line is about."""

    title: str
    header: Sequence[str]
    lines: Sequence[Sequence[Entry]]
    names: int = 1


@dataclass(frozen=True)
class Made:
    """An item, made.

    Args:
        caption: what is to be seen, and how it was measured.
        numbers: all numbers that are shown, tidy.
        figure: of matplotlib, if it is a figure.
        tables: if it is a table.
    """

    caption: str
    numbers: "pd.DataFrame"
    figure: "Figure | None" = None
    tables: Sequence[TextTable] = field(default_factory=tuple)


def markdown(table: TextTable) -> str:
    """Write a table as Markdown; the best of a line is bold.

    >>> print(markdown(TextTable("T", ["a", "b"], [[Entry("x"), Entry("1", best=True)]])))
    **T**
    <BLANKLINE>
    | a | b |
    | --- | ---: |
    | x | **1** |
    """
    rule = ["---" if i < table.names else "---:" for i in range(len(table.header))]
    lines = [[f"**{e.text}**" if e.best else e.text for e in line] for line in table.lines]
    rows = [[cell.replace("|", "\\|") for cell in row] for row in (table.header, rule, *lines)]
    return f"**{table.title}**\n\n" + "\n".join(f"| {' | '.join(row)} |" for row in rows)
