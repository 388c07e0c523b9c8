"""Whether the alarm by betting has come: see `ffml.online.metrics.gap_alarms`."""

import math
from collections.abc import Sequence

from ffml.online.metrics import GapAlarm, gap_alarms
from ffml.runs.gate._finding import NO_ALARM, VIOLATED, Finding
from ffml.runs.judged import JudgedRounds

FALSE_ALARMS = 0.05  # largest chance of one, in all rounds and comparisons together
LARGEST_SHOWN = 1e12  # wealth beyond it says nothing more, and may be too large for a number


def alarm_finding(
    run: JudgedRounds, most: float, notion: str, tasks: Sequence[str] | None = None
) -> Finding:
    """Say whether a gap was shown to be above the largest that is allowed, in some round.

    All columns and comparisons share one chance of a false alarm, 5 %, however often one looks.
    The comparison with the strongest evidence answers. That no alarm came shows nothing.

    Args:
        run: the rounds, from the first one on.
        most: the largest gap that is allowed.
        notion: among whom decisions are compared.
        tasks: the rounds' names, to be said beside the number of a round.
    """
    found = [
        (f"{name}: {alarm.comparison}", alarm)
        for name, alarms in column_alarms(run, most, notion).items()
        for alarm in alarms
    ]
    whom, alarm = max(found, key=lambda pair: pair[1].log_largest - pair[1].log_needed)
    wealth, needed = (_wealth(log) for log in (alarm.log_largest, alarm.log_needed))
    words = f"bets that the gap ({whom}) exceeds {100 * most:g} points turned 1 into "
    if alarm.round is None:
        words += f"at most {_shown(wealth)}; an alarm takes {_shown(needed)}"
    else:
        when = f"round {alarm.round + 1}" + (f" ({tasks[alarm.round]})" if tasks else "")
        rate = "higher" if alarm.higher else "lower"
        words = f"alarm in {when}, the rate of the group being {rate}: {words}{_shown(wealth)}; "
        words += f"an alarm takes {_shown(needed)}"
    answer = NO_ALARM if alarm.round is None else VIOLATED
    return Finding(f"alarm ({whom})", "at most", needed, wealth, None, None, answer, words)


def column_alarms(run: JudgedRounds, most: float, notion: str) -> dict[str, list[GapAlarm]]:
    """Return the alarms of each column; all of them share one chance of a false one."""
    alpha = FALSE_ALARMS / len(run.columns)
    return {
        column.name: gap_alarms(run.tables[column.name], most, column.groups, notion, alpha)
        for column in run.columns
    }


def _wealth(log: float) -> float:
    return math.exp(min(log, math.log(LARGEST_SHOWN)))


def _shown(wealth: float) -> str:
    """Write a wealth.

    >>> _shown(1.234), _shown(2345.6), _shown(1e12)
    ('1.2', '2,346', 'more than 10^12')
    """
    if wealth >= 0.999 * LARGEST_SHOWN:
        return "more than 10^12"
    return f"{wealth:,.0f}" if wealth >= 10 else f"{wealth:.1f}"
