"""Whether the alarm by betting has come: see `ffml.metrics.alarm`."""

from collections.abc import Sequence

from ffml.metrics.alarm import column_alarms, strongest_alarm, wealth, wealth_words
from ffml.runs.gate._finding import NO_ALARM, VIOLATED, Finding
from ffml.runs.judged import JudgedRounds


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
    whom, alarm = strongest_alarm(column_alarms(run.tables, run.columns, most, notion))
    most_won, needed = wealth(alarm.log_largest), wealth(alarm.log_needed)
    words = f"bets that the gap ({whom}) exceeds {100 * most:g} points turned 1 into "
    if alarm.round is None:
        words += f"at most {wealth_words(most_won)}; an alarm takes {wealth_words(needed)}"
    else:
        when = f"round {alarm.round + 1}" + (f" ({tasks[alarm.round]})" if tasks else "")
        rate = "higher" if alarm.higher else "lower"
        words = f"alarm in {when}, the rate of the group being {rate}: {words}"
        words += f"{wealth_words(most_won)}; an alarm takes {wealth_words(needed)}"
    answer = NO_ALARM if alarm.round is None else VIOLATED
    return Finding(f"alarm ({whom})", "at most", needed, most_won, None, None, answer, words)
