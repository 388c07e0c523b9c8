"""Gaps of any two groups over many rounds, as text."""

from ffml.metrics import GapStatistics
from ffml.metrics.by_column import gaps_by_column
from ffml.report._view import RunView
from ffml.report.numbers import points, points_interval

NOTIONS = {"demographic-parity": "Decisions", "equalized-odds": "Decisions by label"}


def gap_rows(run: RunView) -> list[dict[str, str]]:
    """Write the gaps of every column and comparison."""
    return [
        {"column": column, "comparison": found.comparison, "whose": whose, **gap_cells(found)}
        for notion, whose in NOTIONS.items()
        for column, several in gaps_by_column(run.summary, notion).items()
        for found in several
    ]


def gap_cells(found: GapStatistics) -> dict[str, str]:
    """Write one comparison: all people pooled, and within tasks."""
    cells = {"rounds": f"{found.rounds}"}
    for kind in ("pooled", "typical", "long_run"):
        value, low, high = (getattr(found, f"{kind}{end}") for end in ("", "_low", "_high"))
        cells |= {kind: points(value), f"{kind}_interval": points_interval(low, high)}
    return cells
