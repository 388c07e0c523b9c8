"""Tasks that are periods of time: charts name them on their axis."""

import re
from dataclasses import replace

from ffml.report._charts import Chart
from ffml.report._files import Run

# ISO names of periods alone: no text of the user's own enters a chart.
_NAMES = {
    "day": re.compile(r"\d{4}-\d\d-\d\d"),
    "week": re.compile(r"\d{4}-W\d\d"),
    "month": re.compile(r"\d{4}-\d\d"),
    "quarter": re.compile(r"\d{4}-Q[1-4]"),
    "year": re.compile(r"(19|20)\d\d"),
}


def dated(chart: Chart, run: Run) -> Chart:
    """Give a chart the periods of its rounds, if the tasks are periods in their order."""
    return with_periods(chart, tuple(run.rounds.text("task")))


def with_periods(chart: Chart, names: tuple[str, ...]) -> Chart:
    """Give a chart these names of its rounds, if they are periods in their order."""
    if list(names) != sorted(names):
        return chart
    for unit, pattern in _NAMES.items():
        if all(pattern.fullmatch(name) for name in names):
            return replace(chart, unit=unit, periods=names)
    return chart
