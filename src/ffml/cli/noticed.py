"""What ``ffml run`` noticed about a table before the first round."""

from collections.abc import Mapping
from typing import Any

from rich.console import Console


def show_noticed(console: Console, config: Mapping[str, Any]) -> None:
    """Print it, a line each."""
    lines = [f"warning: {warning}" for warning in config["warnings"]]
    if guessed := config["guessed"]:
        columns = ", ".join(f"--{part} {column}" for part, column in guessed.items())
        lines.insert(0, f"note: taken by the columns' names: {columns}")
    for line in lines:
        console.print(line, highlight=False, markup=False, soft_wrap=True)
