"""Tasks that are named by times must come in the order of time."""

import re
from collections.abc import Sequence

from ffml.base import FFMLError
from ffml.tables._time import TIME_OF_DAY, UNCLEAR, Moment, both_orders, parse_time


def refuse_disorder(column: str, tasks: Sequence[str]) -> None:
    """Refuse tasks that are named by times and come in another order.

    >>> refuse_disorder("month", ["2024-01", "2024-02"])
    """
    readings = [_all_moments(tasks, f) for f in (None, *(_both_orders(tasks)))]
    known = [moments for moments in readings if moments]
    if not known or any(moments == sorted(moments) for moments in known):
        return
    moments = known[0]
    late = next(i for i in range(1, len(tasks)) if moments[i] < moments[i - 1])
    by = " --by day" if moments[0].unit == "day" else ""
    raise FFMLError(
        f"task column {column!r} looks like time, but {tasks[late - 1]!r} comes before "
        f"{tasks[late]!r}; play the tasks in time order with --time '{column}'{by}, or by another "
        "column with --set data.order=COLUMN"
    )


def _all_moments(tasks: Sequence[str], date_format: str | None) -> list[Moment]:
    """Read all names as times of one unit; nothing if they are not."""
    moments: list[Moment] = []
    for task in tasks:
        moment = parse_time(_without_time_of_day(task), date_format)
        if moment is None or (moments and moment.unit != moments[0].unit):
            return []
        if task.isdigit() and not 1900 <= moment.date.year <= 2100:  # rather a number
            return []
        moments.append(moment)
    return moments


def _without_time_of_day(text: str) -> str:
    return re.sub(TIME_OF_DAY, "", text.strip())


def _both_orders(tasks: Sequence[str]) -> tuple[str, ...]:
    found = UNCLEAR.fullmatch(_without_time_of_day(tasks[0])) if tasks else None
    return both_orders(found[2]) if found else ()
