"""The paper's tables and figures, by name, from stored results or by running what is missing."""

from ffml.research.reproduce._items import ITEMS
from ffml.research.reproduce._run import Reproduction, duration
from ffml.research.reproduce._setting import QUICK, Setting

__all__ = [
    "ITEMS",
    "QUICK",
    "Reproduction",
    "Setting",
    "duration",
]
