"""Tables and figures of the paper by name: the runs each needs, and how it is made of them."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import pandas as pd

from ffml.research.reproduce._figures import (
    efficiency_by_round,
    metric_by_round,
    variants_by_round,
)
from ffml.research.reproduce._made import Made
from ffml.research.reproduce._paper import DATA, LABELS
from ffml.research.reproduce._paper_tables import end_task_table, hyper_parameters
from ffml.research.reproduce._setting import Setting
from ffml.studies.cells import RunSpec
from ffml.studies.efficiency import SUPPORT_SIZES

# The variants of figures 5 and 7: FFML with other parts, or without its augmented term.
ABLATIONS: dict[str, dict[str, Any]] = {
    "FFML": {},
    "without inner constraints": {"inner": "gradient"},
    "without augmented term": {"damping": 0.0},
    "without augmented term and outer constraints": {
        "damping": 0.0,
        "outer": "loss-only",
        "wrappers": (),  # the package's own correct the bounds of the outer level
    },
}
BUFFER_SIZES = (4, 8, 16, 32)  # |U| of figure 6; the paper names none but 32


class Item(NamedTuple):
    """A table or figure of the paper.

    Attributes:
        title: its number and what it shows.
        cells: the runs it needs.
        make: from the rounds of those runs (`Store.load`), or from their learning curves
            (`Store.load_curves`) if they have ``sizes``, to what it shows; None if it needs no
            runs.
    """

    title: str
    cells: Callable[[Setting], list[RunSpec]]
    make: Callable[[Setting, Any], Made]


def _all_methods(setting: Setting) -> list[RunSpec]:
    return setting.cells(DATA, list(LABELS))


def _with_curves(setting: Setting) -> list[RunSpec]:
    return [replace(cell, sizes=SUPPORT_SIZES) for cell in _all_methods(setting)]


def _all_methods_and_shares(setting: Setting) -> list[RunSpec]:
    return setting.cells(DATA, list(LABELS), shares=setting.shares)


def _ablations(*data: str) -> Callable[[Setting], list[RunSpec]]:
    return lambda setting: [
        cell
        for label, settings in ABLATIONS.items()
        for cell in setting.cells(data, ["ffml"], label=label, **settings)
    ]


def _buffer_sizes(setting: Setting) -> list[RunSpec]:
    return [
        cell
        for size in BUFFER_SIZES
        for cell in setting.cells(
            ["bank"],
            ["ffml"],
            label=f"|U| = {size}",
            tasks_per_round=size,
        )
    ]


ITEMS: dict[str, Item] = {
    "table2": Item("Table 2: end-task performance of all methods", _all_methods, end_task_table),
    "figure2": Item(
        "Figure 2: DP by round, all methods", _all_methods_and_shares, metric_by_round("dp", 2)
    ),
    "figure3": Item(
        "Figure 3: EO by round, all methods", _all_methods_and_shares, metric_by_round("eo", 3)
    ),
    "figure4": Item(
        "Figure 4: rows needed to learn each new task", _with_curves, efficiency_by_round
    ),
    "figure5": Item(
        "Figure 5: ablations of FFML on Bank",
        _ablations("bank"),
        variants_by_round(5, "FFML without some of its parts, on Bank"),
    ),
    "figure6": Item(
        "Figure 6: buffer sizes |U| on Bank",
        _buffer_sizes,
        variants_by_round(6, "FFML with buffers of |U| tasks, on Bank"),
    ),
    "figure7": Item(
        "Figure 7: ablations of FFML on Adult and Crime",
        _ablations("adult", "crime"),
        variants_by_round(7, "FFML without some of its parts, on Adult and Crime"),
    ),
    "table3": Item("Table 3: hyper-parameters of FFML", lambda setting: [], hyper_parameters),
}


def make(item: Item, setting: Setting, frame: pd.DataFrame | None) -> Made:
    """Make an item, its numbers marked with the setting they come from."""
    made = item.make(setting, frame)
    marked = made.numbers.assign(setting=setting.note or "as in the paper")
    return made._replace(numbers=marked)
