"""The table by group that people know: rates, impact ratios, errors, from counts alone.

The impact ratio is a group's rate over the highest rate of a group that is large enough to be
compared. The smallest of them is the ratio of `ffml.metrics.answer`: one number for one question.
"""

from typing import Any

import numpy as np

from ffml.base import SensitiveColumn
from ffml.metrics._gaps import pairs
from ffml.metrics._judgement import group_rows
from ffml.metrics._statistics import ratio_statistics
from ffml.metrics.facts import compared_groups
from ffml.metrics.labels import measurable
from ffml.metrics.rates import divide


def by_group(tables: np.ndarray, column: SensitiveColumn) -> list[dict[str, Any]]:
    """Return a record for each group with people, the lowest impact ratio first, small ones last.

    What needs labels is of those who have one, and NaN where labels depend on the decision.
    Intervals of ratios are of more people like these.

    Args:
        tables: ``(T, k, 3, 2)`` counts of T tasks.
        column: the groups.

    >>> counts = np.array([[[[60, 10], [10, 20], [0, 0]], [[30, 20], [10, 40], [0, 0]]]])
    >>> low, high = by_group(counts, SensitiveColumn("sex", ("F", "M")))
    >>> low["group"], low["rate"], low["impact_ratio"], low["precision"], high["reference"]
    ('F', 0.3, 0.5, 0.6666666666666666, True)
    """
    large = compared_groups(tables, column).names
    rows = [
        _record(row, row["group"] not in large)
        for row in group_rows(measurable(tables).sum(0), column.groups)
        if row["n"]
    ]
    highest = max((row for row in rows if not row["small"]), key=lambda row: row["rate"])["group"]
    ratios = _ratios(tables, column.groups, highest)
    records = [row | ratios[row["group"]] | {"reference": row["group"] == highest} for row in rows]
    return sorted(
        records, key=lambda row: (row["small"], np.nan_to_num(row["impact_ratio"], nan=9))
    )


def _record(row: dict[str, Any], small: bool) -> dict[str, Any]:
    """Name a group's counts and rates as people do, and add the errors that follow from them."""
    names = {"n": "people", "n_selected": "selected", "selection_rate": "rate"}
    chosen = row["n_selected_label_0"] + row["n_selected_label_1"]
    known = chosen if np.isfinite(row["accuracy"]) else 0
    return {names.get(name, name): value for name, value in row.items()} | {
        "small": small,
        "false_negative_rate": 1 - row["true_positive_rate"],
        "precision": float(divide(np.float64(row["n_selected_label_1"]), np.float64(known))),
    }


def _ratios(tables: np.ndarray, names: tuple[str, ...], highest: str) -> dict[str, dict[str, Any]]:
    """Return each group's rate over that of the highest, with its interval."""
    rates = divide(tables[..., 1].sum((0, 2)), tables.sum((0, 2, 3)))
    statistics = ratio_statistics(tables, names, by_task=False)
    two = zip(*pairs(len(names)), strict=True)
    place = {
        frozenset((names[a], names[b])): one for (a, b), one in zip(two, statistics, strict=True)
    }
    ratios = {}
    for name, rate in zip(names, rates, strict=True):
        ratio = float(divide(rate, rates[names.index(highest)]))
        one = place.get(frozenset((name, highest)))
        ends = (one.low, one.high) if one and ratio <= 1 else (np.nan, np.nan)
        ratios[name] = {"impact_ratio": ratio, "impact_low": ends[0], "impact_high": ends[1]}
    return ratios
