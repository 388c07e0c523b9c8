"""Every table at the terminal: texts on the left, numbers on the right."""

from collections.abc import Mapping, Sequence
from shutil import get_terminal_size
from typing import Any

from rich.markup import escape
from rich.table import Table

WHOLE = 18  # letters: a word up to so long is not broken, if the terminal is wide enough


def table(
    rows: Sequence[Mapping[str, Any]],
    title: str = "",
    *,
    left: int = 1,
    end_after: Sequence[int] = (),
    **more: Any,
) -> Table:
    """Return a table of rows, whose names are its headings.

    Args:
        rows: from heading to text or whole number, the same headings in each.
        title: what stands above it.
        left: how many columns are texts; whole numbers are on the right anyway.
        end_after: rows after which a line or space is left.
        **more: how it looks, see `rich.table.Table`.
    """
    made = Table(title=escape(title), title_justify="left", header_style="bold", **more)
    texts = [
        {name: f"{v:,}" if isinstance(v, int) else v for name, v in row.items()} for row in rows
    ]
    words = {name: " ".join([name, *(row[name] for row in texts)]).split() for name in rows[0]}
    widths = {name: min(WHOLE, max(map(len, cells), default=0)) for name, cells in words.items()}
    fits = sum(widths.values()) + 3 * len(widths) < get_terminal_size().columns
    for i, (name, value) in enumerate(rows[0].items()):
        made.add_column(
            escape(name),
            justify="right" if i >= left or isinstance(value, int) else "left",
            overflow="fold",
            min_width=widths[name] if fits else None,
        )
    for i, row in enumerate(texts):
        made.add_row(*map(escape, row.values()), end_section=i in end_after)
    return made
