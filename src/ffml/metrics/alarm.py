"""The alarm: in some period a bound was broken. See `ffml.metrics.gap_alarms`.

All comparisons of all columns and notions share one chance of a false alarm, 5 %, however often one
looks. What was raised once stands: pass the alarms that were raised before as ``raised``, and they
stay, in whatever order labels come and change the counts of past rounds.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from ffml.base import Ratio, SensitiveColumn
from ffml.metrics._betting import GapAlarm, gap_alarms
from ffml.metrics._gaps import NOTIONS, comparisons
from ffml.metrics.labels import why_unmeasured

FALSE_ALARMS = 0.05  # largest chance of one, in all rounds and comparisons together
LARGEST_SHOWN = 1e12  # wealth beyond it says nothing more, and may be too large for a number

Tables = Mapping[str, np.ndarray]  # sensitive column -> counts (T, k, labels, 2) of all rounds
Bound = float | Ratio | None  # the largest gap, or the least ratio; None: none was asked for
Asked = Sequence[tuple[str, Bound]]  # notions with their bounds


def column_alarms(
    tables: Tables, columns: Sequence[SensitiveColumn], asked: Asked
) -> dict[tuple[str, Bound, str], list[GapAlarm]]:
    """Return the alarms of each notion, bound and column that can be measured.

    A gap and a ratio may be asked of one notion: each has alarms of its own.

    Args:
        tables: column -> counts of all rounds, from the first one on.
        columns: their names and groups.
        asked: notions with their bounds.
    """
    watched = [(n, bound) for n, bound in asked if bound is not None and n in NOTIONS]
    count = sum(len(comparisons(len(c.groups), None, n)) for n, _ in watched for c in columns)
    return {
        (notion, bound, column.name): gap_alarms(
            tables[column.name], bound, column.groups, notion, FALSE_ALARMS, count
        )
        for notion, bound in watched
        for column in columns
        if can_be_measured(tables[column.name], notion)
    }


def can_be_measured(tables: np.ndarray, notion: str) -> bool:
    """Tell whether a notion can be measured: what needs labels cannot if they are selective."""
    return NOTIONS[notion] == (None,) or not why_unmeasured(tables)


def allows_no_more(bound: Bound, other: Bound) -> bool:
    """Tell whether whatever breaks the other bound breaks this one too.

    >>> allows_no_more(0.04, 0.05), allows_no_more(0.05, 0.04), allows_no_more(0.05, Ratio(0.8))
    (True, False, False)
    >>> allows_no_more(Ratio(0.9), Ratio(0.8))
    True
    """
    if isinstance(bound, Ratio):
        return isinstance(other, Ratio) and bound.least >= other.least
    return isinstance(other, float | int) and bound is not None and bound <= other


def notion_alarm(
    by_column: Mapping[tuple[str, Bound, str], Sequence[GapAlarm]],
    notion: str,
    bound: Bound,
    tasks: Sequence[str],
    raised: Iterable[Mapping[str, Any]] = (),
) -> dict[str, Any] | None:
    """Return the strongest evidence against what was asked of a notion, as JSON values.

    Args:
        by_column: see `column_alarms`.
        notion: which of them.
        bound: what was asked of it.
        tasks: names of the rounds.
        raised: alarms of earlier looks at what was asked. The first that was raised stands.
    """
    earlier = [one for one in raised if one["notion"] == notion and one["round"] is not None]
    if earlier:
        return dict(min(earlier, key=lambda one: one["round"]))
    alarms = [
        (column, one)
        for (*asked, column), several in by_column.items()
        if asked == [notion, bound]
        for one in several
    ]
    if not alarms:
        return None
    column, alarm = max(alarms, key=lambda pair: (_raised(pair[1]), pair[1].log_largest))
    at = alarm.round
    return {
        "notion": notion,
        "column": column,
        "comparison": alarm.comparison,
        "round": None if at is None else at + 1,
        "task": None if at is None else tasks[at],
        "higher": alarm.higher,
        "evidence": wealth(alarm.log_largest),
        "needed": wealth(alarm.log_needed),
    }


def _raised(alarm: GapAlarm) -> bool:
    return alarm.round is not None


def wealth(log: float) -> float:
    """Return a wealth, cut at the largest that is shown."""
    return math.exp(min(log, math.log(LARGEST_SHOWN)))


def wealth_words(amount: float) -> str:
    """Write a wealth.

    >>> wealth_words(1.234), wealth_words(2345.6), wealth_words(1e12)
    ('1.2', '2,346', 'more than 10^12')
    """
    if amount >= 0.999 * LARGEST_SHOWN:
        return "more than 10^12"
    return f"{amount:,.0f}" if amount >= 10 else f"{amount:.1f}"


def alarm_sentence(alarm: Mapping[str, Any], bound: str) -> str:
    """Write an alarm in words.

    Args:
        alarm: see `notion_alarm`.
        bound: what was asked for, in words.
    """
    evidence, needed = wealth_words(alarm["evidence"]), wealth_words(alarm["needed"])
    whom = f"{alarm['column']}: {alarm['comparison']}"
    if alarm["round"] is None:
        return (
            f"No alarm so far, however often one looks: evidence that a task broke {bound} is at"
            f" most {evidence} ({whom}), and an alarm takes {needed}."
        )
    above = whom.replace(" against ", " above " if alarm["higher"] else " below ", 1)
    when = f"Alarm in round {alarm['round']} ({alarm['task']}): up to then some task broke {bound}"
    if not alarm["task"]:
        when = f"Alarm: among these people {bound} were broken by more than chance"
    return f"{when} ({above}; evidence {evidence}, an alarm takes {needed}), and it stands."
