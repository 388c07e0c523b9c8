"""The paper's tables and figures, by name, from stored results or by running what is missing."""

from ffml.research.reproduce._items import ITEMS, Item
from ffml.research.reproduce._made import Entry, Made, TextTable
from ffml.research.reproduce._run import Reproduction, duration
from ffml.research.reproduce._setting import QUICK, Setting

__all__ = [
    "ITEMS",
    "QUICK",
    "Entry",
    "Item",
    "Made",
    "Reproduction",
    "Setting",
    "TextTable",
    "duration",
]
