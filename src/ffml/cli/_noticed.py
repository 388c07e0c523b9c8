"""What ``ffml run`` noticed about a table before the first round."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console


def show_noticed(console: Console, config: Mapping[str, Any]) -> None:
    """Print it, a line each."""
    if guessed := config["guessed"]:
        columns = ", ".join(f"--{part} {column}" for part, column in guessed.items())
        _line(console, f"note: taken by the columns' names: {columns}")
    show_warnings(console, config["warnings"])


def show_warnings(console: Console, warnings: Sequence[str]) -> None:
    """Print warnings, a line each."""
    for warning in warnings:
        _line(console, f"warning: {warning}")


def _line(console: Console, text: str) -> None:
    console.print(text, highlight=False, markup=False, soft_wrap=True)
