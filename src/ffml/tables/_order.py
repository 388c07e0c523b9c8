"""Tasks that are named by times come in the order of time, each period once and none left out."""

import datetime
import re
from collections.abc import Iterable, Sequence

from ffml.base import FFMLError
from ffml.tables._time import (
    TIME_OF_DAY,
    UNCLEAR,
    Moment,
    both_orders,
    next_period,
    parse_time,
    period_name,
)


def refuse_disorder(column: str, tasks: Sequence[str]) -> None:
    """Refuse tasks that are named by times and come in another order, or twice.

    >>> refuse_disorder("month", ["2024-01", "2024-02"])
    """
    _refuse_twins(column, tasks)
    readings = [_all_moments(tasks, f) for f in (None, *(_both_orders(tasks)))]
    readings = [moments for moments in readings if moments]
    if not readings or any(moments == sorted(moments) for moments in readings):
        return
    moments = readings[0]
    late = next(i for i in range(1, len(tasks)) if moments[i] < moments[i - 1])
    by = " --by day" if moments[0].unit == "day" else ""
    raise FFMLError(
        f"task column {column!r} looks like time, but {tasks[late - 1]!r} comes before "
        f"{tasks[late]!r}; play the tasks in time order with --time '{column}'{by}, or by another "
        "column with --set data.order=COLUMN"
    )


def in_time_order(column: str, tasks: Sequence[str]) -> list[str]:
    """Put tasks that are named by times in their order; others stay as they come.

    >>> in_time_order("month", ["2024-02", "2024-01"]), in_time_order("site", ["b", "a"])
    (['2024-01', '2024-02'], ['b', 'a'])
    """
    _refuse_twins(column, tasks)
    moments = _all_moments(tasks, None)
    return [task for _, task in sorted(zip(moments, tasks, strict=True))] if moments else [*tasks]


def _refuse_twins(column: str, tasks: Sequence[str]) -> None:
    names: dict[str, str] = {}
    for task in tasks if _all_moments(tasks, None) else ():
        other = names.setdefault(canonical_period(task), task)
        if other != task:
            raise FFMLError(
                f"tasks {other!r} and {task!r} are one period written in two ways; write it in "
                f"one way, or give --time '{column}'"
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
    match = UNCLEAR.fullmatch(_without_time_of_day(tasks[0])) if tasks else None
    return both_orders(match[2]) if match else ()


def canonical_period(name: str) -> str:
    """Write the name of a period as ISO does, so that one period has one name.

    >>> canonical_period("2024-9"), canonical_period("Sep 2024"), canonical_period("site 7")
    ('2024-09', '2024-09', 'site 7')
    """
    moment = parse_time(name)
    if moment is None or (name.isdigit() and not 1900 <= moment.date.year <= 2100):
        return name
    return period_name(moment.date, moment.unit)


def is_period(name: str) -> bool:
    """Tell whether a task is named by a time.

    >>> is_period("2024-09"), is_period("site 7")
    (True, False)
    """
    return bool(_all_moments([name], None))


def twin_period(name: str, played: Iterable[str]) -> str | None:
    """Return a task that is the same period as this one, written in another way.

    >>> twin_period("2024-9", ["2024-08", "2024-09"])
    '2024-09'
    """
    own = canonical_period(name)
    return next((p for p in played if p != name and canonical_period(p) == own), None)


def earlier_period(name: str, played: Sequence[str]) -> str | None:
    """Return the last of the periods played that comes after this one; None if none does.

    >>> earlier_period("2023-05", ["2024-07", "2024-08"]), earlier_period("site 7", ["site 8"])
    ('2024-08', None)
    """
    if not (own := _all_moments([name], None)):
        return None
    moments = [(m[0], p) for p in played if (m := _all_moments([name, p], None)[1:])]
    return max(((moment, p) for moment, p in moments if moment > own[0]), default=(None, None))[1]


def far_ahead(names: Iterable[str], today: datetime.date) -> str | None:
    """Return a period that begins more than a year after today; bare numbers are left alone.

    >>> far_ahead(["2024-05", "2042-05", "2077"], datetime.date(2024, 5, 1))
    '2042-05'
    """
    latest = today + datetime.timedelta(days=366)
    moments = ((name, _all_moments([name], None)) for name in names if not name.isdigit())
    return next((name for name, moment in moments if moment and moment[0].date > latest), None)


def empty_warning(names: Sequence[str], played: Sequence[str] = ()) -> list[str]:
    """Say which periods nobody came in; of those before the last one played it was said then.

    >>> empty_warning(["2024-01", "2024-03"])
    ['nobody came in 2024-02; is a table missing?']
    >>> empty_warning(["2024-05"], ["2024-01", "2024-03"])
    ['nobody came in 2024-04; is a table missing?']
    """
    empty = empty_periods([*played[-1:], *names])
    some = ", ".join(empty[:3]) + (f" and {len(empty) - 3} more" if len(empty) > 3 else "")
    return [f"nobody came in {some}; is a table missing?"] if empty else []


def empty_periods(names: Sequence[str]) -> list[str]:
    """Return the periods between the first and the last of these tasks that none of them is.

    Args:
        names: tasks, in any order; where one is no period, or of another length, none is empty.

    >>> empty_periods(["2023-11", "2024-02"]), empty_periods(["2024-01", "site 7"])
    (['2023-12', '2024-01'], [])
    """
    moments = _all_moments(names, None)
    if not moments:
        return []
    unit, there = moments[0].unit, {period_name(m.date, moments[0].unit) for m in moments}
    day, last, empty = min(moments).date, max(moments).date, []
    while day < last:
        if (name := period_name(day, unit)) not in there:
            empty.append(name)
        day = next_period(day, unit)
    return empty
