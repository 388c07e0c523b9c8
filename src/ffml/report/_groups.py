"""The table by group, and by intersection, as text: the lowest impact ratio first."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ffml.base import SensitiveColumn
from ffml.metrics.by_group import by_group
from ffml.metrics.facts import MIN_PEOPLE
from ffml.metrics.labels import why_unmeasured
from ffml.report._scores import calibration, counts_of
from ffml.report._view import RunView
from ffml.report.numbers import UNDEFINED, interval, rate, whole

HEAD = ["People", "Selected", "Rate", "Impact ratio", "True positive rate", "False positive rate"]
HEAD += ["False negative rate", "Precision", "Accuracy", "Label came", "Probability said"]
COUNTS = 4  # heads of what needs no label
SMALL = f"fewer than {MIN_PEOPLE} people: not compared"


def group_tables(run: RunView) -> list[dict[str, Any]]:
    """Write a table for each protected column, and one for their intersection."""
    found = [
        group_table(column, counts, _said(run, [column.name], counts))
        for column in run.columns
        for counts in [run.counts[column.name]]
    ]
    names = [table["column"] for table in found]
    if len(names) > 1 and run.scores:
        column, counts = counts_of(run.scores, names)
        found.append(group_table(column, counts, _said(run, names, counts)))
    return found


def _said(run: RunView, names: Sequence[str], counts: np.ndarray) -> dict[str, dict[str, Any]]:
    return {} if why_unmeasured(counts) else calibration(run.scores, names)


def group_table(
    column: SensitiveColumn, counts: np.ndarray, said: Mapping[str, Mapping[str, Any]]
) -> dict[str, Any]:
    """Write the groups of a column; what nobody could measure has no cells.

    Args:
        column: the groups.
        counts: ``(T, k, 3, 2)``.
        said: what was said and what came by group, see `calibration`.
    """
    rows = by_group(counts, column) if counts.any() else []
    width = len(HEAD) - (0 if said else 2)
    if not any(math.isfinite(row["accuracy"]) for row in rows):
        width = COUNTS
    return {
        "column": column.name,
        "head": HEAD[:width],
        "rows": [_cells(row, said.get(row["group"], {}))[:width] for row in rows],
        "names": [_name(row) for row in rows],
    }


def _name(row: Mapping[str, Any]) -> dict[str, str]:
    note = SMALL if row["small"] else "highest rate" if row["reference"] else ""
    return {"group": row["group"], "note": note}


def _cells(row: Mapping[str, Any], said: Mapping[str, Any]) -> list[dict[str, str]]:
    """Write one group: each cell a value, and an interval where there is one."""
    ratio = rate(row["impact_ratio"])
    ends = interval(row["impact_low"], row["impact_high"])
    errors = ("true_positive_rate", "false_positive_rate", "false_negative_rate", "precision")
    values = [whole(row["people"]), whole(row["selected"]), rate(row["rate"]), ratio]
    values += [rate(row[name]) for name in (*errors, "accuracy")]
    values += [rate(said[key]) if said else UNDEFINED for key in ("came", "said")]
    return [{"value": v, "range": ends if i == COUNTS - 1 else ""} for i, v in enumerate(values)]
