"""The paper's tables and figures, by name, from stored results or by running what is missing."""

from ffml.reproduce._items import ITEMS, Item
from ffml.reproduce._made import Entry, Made, TextTable
from ffml.reproduce._run import Reproduction, duration
from ffml.reproduce._setting import QUICK, Setting

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
