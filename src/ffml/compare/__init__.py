"""Comparing methods: runs in parallel processes, kept one by one, summed up with intervals."""

from ffml.compare._by_task import summarise_tasks, task_means
from ffml.compare._cell import Cell
from ffml.compare._check import check_cells
from ffml.compare._figure import draw_comparison
from ffml.compare._protocols import PAPER_DATA, PROTOCOLS, Protocol, Variant, plan
from ffml.compare._results import write_results
from ffml.compare._run import Event, run_cells, unfinished
from ffml.compare._store import Store
from ffml.compare._summary import (
    MIN_VALIDATION,
    enough_rows,
    paired_differences,
    summarise_results,
)
from ffml.compare._tables import DataTable, data_tables, markdown_tables
from ffml.compare._tradeoff import at_equal_fairness

__all__ = [
    "MIN_VALIDATION",
    "PAPER_DATA",
    "PROTOCOLS",
    "Cell",
    "DataTable",
    "Event",
    "Protocol",
    "Store",
    "Variant",
    "at_equal_fairness",
    "check_cells",
    "data_tables",
    "draw_comparison",
    "enough_rows",
    "markdown_tables",
    "paired_differences",
    "plan",
    "run_cells",
    "summarise_results",
    "summarise_tasks",
    "task_means",
    "unfinished",
    "write_results",
]
