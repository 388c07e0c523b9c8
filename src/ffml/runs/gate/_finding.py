"""One thing asked of a run, and its answer."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ffml.metrics.promise import KEPT, MIN_ROUNDS, NOT_KEPT, verdict_at_most
from ffml.metrics.promise import UNCLEAR as CANNOT_TELL

MET, VIOLATED, UNCLEAR = "met", "violated", "too little data to tell"
UNFINISHED = "unfinished"
NO_ALARM = "no alarm"  # which shows nothing: others have to say whether it is met
ANSWERS = (UNFINISHED, VIOLATED, UNCLEAR, MET, NO_ALARM)  # the first that was given counts
EXIT_CODES = {MET: 0, VIOLATED: 1, UNCLEAR: 3, UNFINISHED: 3}

_ANSWER_OF = {KEPT: MET, NOT_KEPT: VIOLATED, CANNOT_TELL: UNCLEAR}


@dataclass(frozen=True)
class Finding:
    """One thing asked, with the value, its 95 % interval, the answer, and all of it in words."""

    what: str
    relation: str  # of the value to the limit: "at least" or "at most"
    limit: float | None
    value: float | None
    low: float | None
    high: float | None
    answer: str
    words: str

    def sentence(self) -> str:
        """Say it in words."""
        return self.words


def unmeasured(what: str, relation: str, limit: float, why: str) -> Finding:
    """Say why something could not be measured."""
    words = f"{what} could not be measured ({why}); asked: {relation} {limit:g}"
    return Finding(what, relation, limit, None, None, None, UNCLEAR, words)


def at_least(what: str, limit: float, value: float, low: float, high: float) -> Finding:
    """Compare a ratio with the least that it may be."""
    if not math.isfinite(value + low + high):
        return unmeasured(what, "at least", limit, "too few rows")
    answer = MET if low >= limit else VIOLATED if high < limit else UNCLEAR
    words = f"{what} {value:.3f}, interval {low:.3f} to {high:.3f}; asked: at least {limit:g}"
    return Finding(what, "at least", limit, value, low, high, answer, words)


def at_most(
    what: str, limit: float, value: float, low: float, high: float, scale: float = 1
) -> Finding:
    """Compare something that should be near 0, on either side, with the most that it may be.

    A ``scale`` of 100 makes the words speak of percentage points.
    """
    unit, digits = (" points", 1) if scale == 100 else ("", 3)
    if not math.isfinite(value + low + high):
        return unmeasured(what, "at most", limit, "too few rows")
    answer = _ANSWER_OF[verdict_at_most(limit, low, high)]
    number, start, end = (f"{scale * part:.{digits}f}" for part in (value, low, high))
    asked = f"at most {scale * limit:g}{unit}"
    words = f"{what} {number}{unit}, interval {start} to {end}; asked: {asked}"
    return Finding(what, "at most", limit, value, low, high, answer, words)


def if_enough_rounds(finding: Finding, rounds: int) -> Finding:
    """Give no answer that rests on fewer rounds than can bear one."""
    if rounds >= MIN_ROUNDS or finding.value is None:
        return finding
    words = f"{finding.words}; that takes {MIN_ROUNDS} rounds, and {rounds} could be measured"
    return replace(finding, answer=UNCLEAR, words=words)


def decisive(findings: Sequence[Finding]) -> Finding:
    """Return the finding that answers for all: the worst answer, and of those the worst value."""

    def how_good(finding: Finding) -> tuple[int, float]:
        value = -math.inf if finding.value is None else finding.value
        if finding.relation == "at most" and finding.value is not None:
            value = -abs(value)
        return ANSWERS.index(finding.answer), value

    return min(findings, key=how_good)
