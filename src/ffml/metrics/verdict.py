"""Was it kept? One rule, wherever the question is answered.

For a notion and its bound there are three times:

- *now*: the newest period, a fact;
- *so far*: everybody decided about. The fact is the largest difference between any two groups, all
  people pooled. The rule behind it is judged by an interval of that difference and, where people of
  different groups meet within tasks, of the long-run and the typical gap;
- *ever*: the alarm, that some period broke the bound.

The verdict follows:

- **not kept**: the alarm was raised, or the pooled gap is beyond the bound by more than chance
  among these people, or the interval of the rule lies beyond it;
- **kept**: nothing of that, the fact is within the bound, and so is the whole interval of the rule;
- **cannot be measured**: it needs labels, and who has one depends on the decision;
- **cannot be told yet**: all else.

The interval of the largest difference counts comparisons: its lower end is the largest of the lower
ends, each at 97.5 % divided among all comparisons; its upper end is the largest of the upper ends
at 97.5 % each, as the truth must exceed the end of its own comparison to be missed.
"""

import math
from typing import NamedTuple

KEPT, NOT_KEPT, UNCLEAR = "kept", "not kept", "cannot be told yet"
UNMEASURABLE = "cannot be measured"


class Evidence(NamedTuple):
    """What a verdict follows from, all of it "how far apart": a gap, or 1 - ratio."""

    most: float  # how far is allowed
    fact: float  # how far it is among the people decided about
    beyond_chance: float  # how far it is at least, chance among these people taken out
    low: float  # the rule: how far at least, NaN if that cannot be told
    high: float  # and at most
    alarm: bool  # some period was further than allowed


def verdict(found: Evidence) -> str:
    """Apply the rule.

    >>> verdict(Evidence(0.05, 0.03, 0.0, 0.0, 0.045, False))
    'kept'
    >>> verdict(Evidence(0.05, 0.03, 0.0, 0.0, 0.045, True))
    'not kept'
    >>> verdict(Evidence(0.05, 0.06, 0.01, 0.0, 0.045, False))
    'cannot be told yet'
    """
    if found.alarm or found.beyond_chance > found.most or found.low > found.most:
        return NOT_KEPT
    within = found.fact <= found.most and found.high <= found.most  # NaN is not
    return KEPT if within else UNCLEAR


def more_people(most: float, value: float, high: float, people: int) -> int | None:
    """Estimate how many more people would tell, if all stays as it is; None: no number would.

    The reach of an interval shrinks with the root of the number of people.

    >>> more_people(0.05, 0.03, 0.07, 1000)
    3000
    """
    if not math.isfinite(high) or high <= most or value >= most:
        return None
    return round(people * (((high - value) / (most - value)) ** 2 - 1))
