"""One thing asked of a run, and its answer."""

import math
from dataclasses import dataclass

from ffml.metrics.verdict import KEPT, NOT_KEPT, SO_FAR, UNMEASURABLE
from ffml.metrics.verdict import UNCLEAR as CANNOT_TELL

MET, VIOLATED, UNCLEAR = "met", "violated", "too little data to tell"
UNFINISHED = "unfinished"
NO_ALARM = "no alarm"  # which shows nothing: others have to say whether it is met
FACT = "fact"  # of the people decided about; the rule behind it answers
ANSWERS = (UNFINISHED, VIOLATED, UNMEASURABLE, UNCLEAR, MET, NO_ALARM, FACT)  # the first counts
EXIT_CODES = {MET: 0, VIOLATED: 1, UNCLEAR: 3, UNMEASURABLE: 3, UNFINISHED: 3}

ANSWER_OF = {
    KEPT: MET,
    NOT_KEPT: VIOLATED,
    SO_FAR: UNCLEAR,
    CANNOT_TELL: UNCLEAR,
    UNMEASURABLE: UNMEASURABLE,
}


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


def unmeasured(what: str, relation: str, limit: float, why: str) -> Finding:
    """Say why something could not be measured."""
    words = f"{what} could not be measured ({why}); asked: {relation} {limit:g}"
    return Finding(what, relation, limit, None, None, None, UNCLEAR, words)


def finite(value: float | None) -> float | None:
    """Return a number, or None for one that could not be measured."""
    return value if value is not None and math.isfinite(value) else None
