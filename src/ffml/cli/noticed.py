"""What ``ffml run`` noticed about a table before the first round."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rich.console import Console

from ffml.base import Stream

if TYPE_CHECKING:
    from ffml.recipe.sources import Found


def noticed(found: "Found", stream: Stream) -> dict[str, Any]:
    """Return what config.json keeps of it: columns that were guessed, and likely mistakes."""
    from ffml.tables import TableStream, inspect

    mistakes = inspect(stream).mistakes if isinstance(stream, TableStream) else ()
    return {"guessed": dict(found.guessed), "warnings": list(mistakes)}


def show_noticed(console: Console, config: Mapping[str, Any]) -> None:
    """Print it, a line each."""
    lines = [f"warning: {warning}" for warning in config["warnings"]]
    if guessed := config["guessed"]:
        columns = ", ".join(f"--{part} {column}" for part, column in guessed.items())
        lines.insert(0, f"note: taken by the columns' names: {columns}")
    for line in lines:
        console.print(line, highlight=False, markup=False, soft_wrap=True)
