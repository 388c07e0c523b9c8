"""The front door: runs are started, opened, asked and gone on with."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # the same names for type checkers and editors
    from ffml.runs._labels import LabelsAdded
    from ffml.runs._run import Run, Watcher, open_run
    from ffml.runs._run import open as open
    from ffml.runs.starting import run

_NAMES = {
    "LabelsAdded": "_labels",
    "Run": "_run",
    "Watcher": "_run",
    "open": "_run",
    "open_run": "_run",
    "run": "starting",
}
__all__ = ["LabelsAdded", "Run", "Watcher", "open_run", "run"]


def __getattr__(name: str) -> Any:
    if name not in _NAMES:
        raise AttributeError(f"module 'ffml.runs' has no attribute '{name}'")
    return getattr(import_module(f"ffml.runs.{_NAMES[name]}"), name)
