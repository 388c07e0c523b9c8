"""The alarm by betting for all that a run compares: see `ffml.metrics.gap_alarms`."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ffml.base import SensitiveColumn
from ffml.metrics import NOTIONS, GapAlarm, gap_alarms

FALSE_ALARMS = 0.05  # largest chance of one, in all rounds and comparisons together
LARGEST_SHOWN = 1e12  # wealth beyond it says nothing more, and may be too large for a number


def column_alarms(
    tables: Mapping[str, np.ndarray], columns: Sequence[SensitiveColumn], most: float, notion: str
) -> dict[str, list[GapAlarm]]:
    """Return the alarms of each column; all of them share one chance of a false one.

    Args:
        tables: column -> counts ``(T, k, 2, 2)`` of all rounds, from the first one on.
        columns: their names and groups.
        most: the largest gap that is allowed.
        notion: among whom decisions are compared.
    """
    alpha = FALSE_ALARMS / len(columns)
    return {
        column.name: gap_alarms(tables[column.name], most, column.groups, notion, alpha)
        for column in columns
    }


def strongest_alarm(found: Mapping[str, Sequence[GapAlarm]]) -> tuple[str, GapAlarm]:
    """Return the comparison with the strongest evidence, and its alarm."""
    named = [(f"{name}: {one.comparison}", one) for name, alarms in found.items() for one in alarms]
    return max(named, key=lambda pair: pair[1].log_largest - pair[1].log_needed)


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


def alarm_summary(
    tables: Mapping[str, np.ndarray],
    columns: Sequence[SensitiveColumn],
    asked: Sequence[tuple[str, Any]],
    tasks: Sequence[str],
) -> list[dict[str, Any]]:
    """Say of each gap that was asked for whether a larger one has been shown, as JSON values."""
    found = []
    for notion, most in asked:
        if not isinstance(most, float) or notion not in NOTIONS:  # a ratio, or nothing asked
            continue
        whom, alarm = strongest_alarm(column_alarms(tables, columns, most, notion))
        at = alarm.round
        found.append(
            {
                "notion": notion,
                "max_gap": most,
                "whom": whom,
                "round": None if at is None else at + 1,
                "task": None if at is None else tasks[at],
                "higher": alarm.higher,
                "evidence": wealth(alarm.log_largest),
                "needed": wealth(alarm.log_needed),
            }
        )
    return found


def alarm_sentence(found: Mapping[str, Any]) -> str:
    """Write one entry of `alarm_summary` in words."""
    gap, evidence = f"{100 * found['max_gap']:g} points", wealth_words(found["evidence"])
    if found["round"] is None:
        return (
            f"No alarm so far, however often one looks: evidence of a gap beyond {gap} is at most"
            f" {evidence} ({found['whom']}), and an alarm takes {wealth_words(found['needed'])}."
        )
    rate = "higher" if found["higher"] else "lower"
    return (
        f"Alarm in round {found['round']} ({found['task']}): up to then a gap beyond {gap} is shown"
        f" ({found['whom']}, whose rate was the {rate}; evidence {evidence}, an alarm takes"
        f" {wealth_words(found['needed'])}). It stands, however often one looks."
    )
