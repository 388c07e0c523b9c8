"""Comparing methods: many runs at a time, kept one by one, summed up with intervals."""

from ffml.studies.compare._by_task import summarise_tasks, task_means
from ffml.studies.compare._check import check_cells
from ffml.studies.compare._evenness import evenness, gap_columns, root
from ffml.studies.compare._figure import draw_comparison
from ffml.studies.compare._kinds import known_kinds
from ffml.studies.compare._protocols import PAPER_DATA, PROTOCOLS, Protocol, Variant, plan
from ffml.studies.compare._results import write_results
from ffml.studies.compare._run import Event, event_of, locked, run_cells, unfinished
from ffml.studies.compare._spec import RunSpec
from ffml.studies.compare._store import Store, packed_cell
from ffml.studies.compare._study import Compared, compare_methods, plan_on_tables
from ffml.studies.compare._summary import (
    MIN_VALIDATION,
    enough_rows,
    paired_differences,
    summarise_results,
)
from ffml.studies.compare._tables import DataTable, data_tables, markdown_tables
from ffml.studies.compare._tradeoff import at_equal_fairness

__all__ = [
    "MIN_VALIDATION",
    "PAPER_DATA",
    "PROTOCOLS",
    "Compared",
    "DataTable",
    "Event",
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
    "evenness",
    "event_of",
    "gap_columns",
    "known_kinds",
    "locked",
    "markdown_tables",
    "packed_cell",
    "paired_differences",
    "plan",
    "plan_on_tables",
    "root",
    "run_cells",
    "summarise_results",
    "summarise_tasks",
    "task_means",
    "unfinished",
    "write_results",
]
