"""Comparing methods: many runs at a time, kept one by one, summed up with intervals."""

from ffml.studies._evenness import gap_columns
from ffml.studies.cells import RunSpec, Store
from ffml.studies.compare._by_task import summarise_tasks, task_means
from ffml.studies.compare._figure import draw_comparison
from ffml.studies.compare._protocols import (
    PROTOCOLS,
    Choose,
    Protocol,
    Variant,
    known_kinds,
    plan,
)
from ffml.studies.compare._results import write_results
from ffml.studies.compare._study import compare_methods, plan_on_tables
from ffml.studies.compare._summary import (
    enough_rows,
    paired_differences,
    summarise_results,
)
from ffml.studies.compare._tables import data_tables, markdown_tables
from ffml.studies.compare._tradeoff import at_equal_fairness, trade_off_curve
from ffml.studies.play import check_cells, run_cells, unfinished

__all__ = [
    "PROTOCOLS",
    "Choose",
    "Protocol",
    "RunSpec",
    "Store",
    "Variant",
    "at_equal_fairness",
    "check_cells",
    "compare_methods",
    "data_tables",
    "draw_comparison",
    "enough_rows",
    "gap_columns",
    "known_kinds",
    "markdown_tables",
    "paired_differences",
    "plan",
    "plan_on_tables",
    "run_cells",
    "summarise_results",
    "summarise_tasks",
    "task_means",
    "trade_off_curve",
    "unfinished",
    "write_results",
]
