"""Was it kept? One rule, wherever the question is answered; docs/metrics.md says it in words.

For a notion and its bound there are three times:

- *now*: the newest period, a fact;
- *so far*: everybody decided about. The fact is the largest difference between any two groups, all
  people pooled. The rule behind it has two intervals. One is about more people of the tasks that
  were, pooled and, where people of different groups meet within tasks, within tasks: chance alone,
  so that any number of tasks will do. The other is about tasks to come: of the pooled, the long-run
  and the typical gap. It needs several tasks that do not merely go on as the one before, and a
  newest one whose own interval does not lie wholly beyond the bound;
- *ever*: the alarm, that some period broke the bound. Once raised it stands.

The verdict follows, the first that applies:

- **not kept**: the alarm was raised, or one of the two intervals lies wholly beyond the bound, be
  it that of a group too small to be compared otherwise;
- **cannot be measured**: it needs labels, and these are of selected people;
- **kept**: the fact and the typical gap are within the bound, and so is all of both intervals;
- **kept so far**: the fact and the typical gap are within the bound, and so is all of the interval
  about more people of these tasks; of those to come it cannot be told;
- **cannot be told yet**: all else.
"""

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from ffml.base import Ratio

KEPT, SO_FAR, NOT_KEPT = "kept", "kept so far", "not kept"
UNCLEAR, UNMEASURABLE = "cannot be told yet", "cannot be measured"
WORST_FIRST = (NOT_KEPT, UNMEASURABLE, UNCLEAR, SO_FAR, KEPT, None)  # None: nothing was asked
MOST_TIMES = 100  # so many times more people are no help to anybody


class Interval(NamedTuple):
    """How far apart at least and at most; NaN where that cannot be told."""

    low: float
    high: float


class Evidence(NamedTuple):
    """What a verdict follows from, all of it "how far apart": a gap, or 1 - ratio."""

    most: float  # how far is allowed
    fact: float  # how far it is among the people decided about
    so_far: Interval  # the rule, with more people of the tasks that were
    to_come: Interval  # the rule, in tasks to come
    typical: float  # the typical gap within tasks, of opposite signs as well; 0 if none is judged
    alarm: bool  # some period was further than allowed
    measurable: bool = True  # False: labels depend on the decision


def verdict(evidence: Evidence) -> str:
    """Apply the rule.

    >>> kept = Evidence(0.05, 0.03, Interval(0.01, 0.04), Interval(0.0, 0.045), 0.03, False)
    >>> verdict(kept), verdict(kept._replace(alarm=True))
    ('kept', 'not kept')
    >>> verdict(kept._replace(to_come=Interval(0.0, 0.07))), verdict(kept._replace(fact=0.06))
    ('kept so far', 'cannot be told yet')
    """
    most, fact = evidence.most, evidence.fact
    if evidence.alarm or evidence.so_far.low > most or evidence.to_come.low > most:
        return NOT_KEPT
    if not evidence.measurable:
        return UNMEASURABLE
    if not math.isfinite(fact) or is_beyond(max(fact, evidence.typical), most):
        return UNCLEAR
    if not evidence.so_far.high <= most:  # NaN is not
        return UNCLEAR
    return KEPT if evidence.to_come.high <= most else SO_FAR


def most_apart(bound: float | Ratio | None) -> float:
    """Return how far apart rates may be: by how much, or by what part of the higher one.

    >>> most_apart(0.05), most_apart(Ratio(0.75)), most_apart(None)
    (0.05, 0.25, 1.0)
    """
    if bound is None:
        return 1.0
    return 1 - bound.least if isinstance(bound, Ratio) else bound


def apart(fact: Mapping[str, Any], bound: float | Ratio | None) -> float:
    """Return how far apart rates are, in the measure of a bound; see `ffml.metrics.facts.fact`."""
    return float(1 - fact["ratio"] if isinstance(bound, Ratio) else fact["gap"])


def is_beyond(apart: float, most: float) -> bool:
    """Tell whether rates are further apart than allowed, whatever floating point makes of a tie.

    >>> is_beyond(0.55 - 0.5, 0.05), is_beyond(0.0501, 0.05)
    (False, True)
    """
    return apart > most + 1e-9


def more_people(most: float, value: float, high: float, people: int) -> int | None:
    """Estimate how many more people would tell, if all stays as it is; None: no number would.

    The reach of an interval shrinks with the root of the number of people. It is an estimate, of
    which two digits are said.

    >>> more_people(0.05, 0.03, 0.07, 1000), more_people(0.05, 0.03, 0.0707, 1000)
    (3000, 3100)
    """
    if not math.isfinite(high) or high <= most or value >= most:
        return None
    more = people * (((high - value) / (most - value)) ** 2 - 1)
    return int(float(f"{more:.2g}")) if more < MOST_TIMES * people else None
