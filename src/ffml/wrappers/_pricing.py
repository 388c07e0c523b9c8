"""Decisions under a price on gaps: who is decided positively, and which prices keep the bounds.

With p the probability that a person's label is 1, whoever is above a threshold τ is decided
positively. A positive decision moves the expected gap i by

    u_i = Σ_y P(y) n_i(y) ( q(x, y)/Q_i - (1 - q(x, y))/R_i )

with q the probability that the person belongs to the group, n_i(y) whether people with label y
count in comparison i (1 for demographic parity), and Q_i, R_i the shares of people who count and
belong to the group or to the others. With prices c the rule is

    positive  where  p - Σ_i c_i u_i > τ

Where the lower of two rates shall be a share r of the higher, the bound on the gap G is
``(1 - r) · higher rate``. Decisions show the rate s of all who count; with it the higher rate is
``s + |G| · share of the other side``.
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from ffml.base import Batch, Problem
from ffml.problem.gaps import bounds
from ffml.wrappers._membership import shares
from ffml.wrappers._thresholds import Threshold

BISECTIONS = 40
SWEEPS = 6  # over several entries, each solved while the others stay
HIGHEST_PRICE = 8.0  # in units of probability over typical influences: beyond it p does not matter
ROUNDING = 1e-6  # of highest prices: this much more, or people at the threshold fall on either side
LEAST_INFLUENCE = 1e-4  # where features tell less than that of groups, there is nothing to price


class Prices(NamedTuple):
    """A price on each gap, what a person's influence on it needs, and the threshold."""

    price: np.ndarray  # (m,) c
    inside: np.ndarray  # (m,) Q: share of the people who count in a comparison, of its group
    outside: np.ndarray  # (m,) R: and of those who count and do not belong to it
    threshold: np.ndarray  # () τ
    unpriced: np.ndarray  # () τ without any price; another one where a share is selected


class People(NamedTuple):
    """What is to be expected of people: their labels, and who counts where as what."""

    p: np.ndarray  # (n,) probability of label 1
    inside: np.ndarray  # (n, m) probability to count in a comparison, as one of the group
    outside: np.ndarray  # (n, m) and as one of the others


class Correction(NamedTuple):
    """How far gaps are from what is expected: as they were on tasks so far, and in this task.

    The labelled rows of the task show it too, mostly by chance. The more it differed from task to
    task beyond chance, the more they are listened to.
    """

    bias: np.ndarray  # (m,) mean of earlier tasks
    trust: np.ndarray  # (m,) between 0 and 1: how much the task's own rows are listened to
    rows: People  # what is expected of the labelled rows
    known: People  # what they are


def expected(problem: Problem, weights: np.ndarray, p: np.ndarray, x: np.ndarray) -> People:
    """Describe people whose labels and groups nobody knows.

    Args:
        problem: its notions say who counts in which comparison.
        weights: how features and labels tell groups, see `ffml.wrappers._membership.of_task`.
        p: their probabilities of label 1.
        x: their features.
    """
    everyone = np.ones(len(x))
    by_label = []
    for label in (0.0, 1.0):
        s = shares(weights, x, label)
        batch = Batch(x, label * everyone, s, everyone, everyone, len(x))
        by_label.append(observed(problem, batch))
    negative, positive = by_label
    share = p[:, None]
    return People(
        p,
        (1 - share) * negative.inside + share * positive.inside,
        (1 - share) * negative.outside + share * positive.outside,
    )


def observed(problem: Problem, batch: Batch) -> People:
    """Describe people whose labels and groups are known, by what each of them counts."""
    nobody = np.zeros((len(batch.y), 0))
    rows = [np.asarray(part.rows(batch)) for c in problem.constraints for part in c.conditions]
    counts = np.concatenate([nobody, *(part[:, None] for part in rows)], axis=1)
    counts = np.repeat(counts, batch.s.shape[1], axis=1)
    member = np.tile(np.asarray(batch.s, float), len(rows))
    return People(np.asarray(batch.y, float), counts * member, counts * (1 - member))


def gaps_met(positive: np.ndarray, people: People) -> np.ndarray:
    """Return the gaps of decisions ``(m,)``, 0 where a side has nobody."""
    return positive @ _by_person(people)


def rows_behind(people: People) -> np.ndarray:
    """Return the rows ``1/(1/n₁ + 1/n₀)`` that gaps rest on, 0 where a side has nobody."""
    weights = np.stack([people.inside, people.outside])  # (2, n, m)
    totals = weights.sum(1)
    both = (totals > 0).all(0)
    sizes = totals**2 / np.where(both, (weights**2).sum(1), 1.0)  # rows that count differently
    return both * sizes.prod(0) / np.where(both, sizes.sum(0), 1.0)


def influence(prices: Prices, people: People) -> np.ndarray:
    """Return u: what each person's positive decision adds to each expected gap, ``(n, m)``."""
    both = (prices.inside > 0) & (prices.outside > 0)
    inside, outside = np.where(both, prices.inside, 1.0), np.where(both, prices.outside, 1.0)
    return both * (people.inside / inside - people.outside / outside)


def smallest_prices(
    problem: Problem,
    people: People,
    weight: np.ndarray,
    correction: Correction,
    threshold: Threshold,
) -> Prices:
    """Find the smallest prices with which expected gaps keep their bounds, by bisection.

    Args:
        problem: its constraints say the bounds.
        people: those to be decided about.
        weight: what each of them counts, 0 for padding.
        correction: what is added to expected gaps: how far off they are.
        threshold: τ, as a function of scores where it depends on them.
    """
    share = weight / max(weight.sum(), 1e-30)
    there = share > 0
    share, people = share[there], People(*(part[there] for part in people))
    center, width, relative = (np.asarray(part, float) for part in bounds(problem))
    nothing = np.zeros(len(center))
    found = Prices(
        nothing, share @ people.inside, share @ people.outside, np.zeros(()), np.zeros(())
    )
    effect = influence(found, people)
    size = np.sqrt(share @ effect**2)
    told = size > LEAST_INFLUENCE
    price = nothing.copy()
    own = _Own(correction, found)
    all_scores = _Scores(people.p, effect)
    counting = people.inside + people.outside
    counted = np.maximum(found.inside + found.outside, 1e-30)

    def at(i: int, trial: float) -> tuple[float, float]:
        """Return gap i and its bound, if its price were another one and all others stayed."""
        scores = all_scores.at(i, trial)
        cut = threshold(scores, share)
        chosen = (scores > cut) * share
        gap = float(chosen @ all_scores.effect[i] + own.off(i, trial, cut) - center[i])
        if not relative[i]:
            return gap, width[i]
        lower = found.outside[i] if gap > 0 else found.inside[i]
        higher = (chosen @ counting[:, i] + abs(gap) * lower) / counted[i]
        return gap, width[i] + relative[i] * float(higher)

    for k in range(len(price) * (SWEEPS if len(price) > 1 else 1)):
        i = k % len(price)
        if told[i]:
            price[i] = _solved(partial(at, i), HIGHEST_PRICE / size[i])
            all_scores.set(i, price[i])
            own.scores.set(i, price[i])
    scores = people.p - effect @ price
    return found._replace(
        price=price,
        threshold=np.asarray(threshold(scores, share), float),
        unpriced=np.asarray(threshold(people.p, share), float),
    )


class _Scores:
    """Scores of people under prices of which one changes at a time: no matrix is multiplied."""

    def __init__(self, p: np.ndarray, effect: np.ndarray) -> None:
        self.effect = np.ascontiguousarray(effect.T)  # (m, n)
        self.price, self.now = np.zeros(len(self.effect)), p

    def at(self, i: int, price: float) -> np.ndarray:
        """Return the scores if price i were another one."""
        return self.now - (price - self.price[i]) * self.effect[i]

    def set(self, i: int, price: float) -> None:
        """Change price i."""
        self.now, self.price[i] = self.at(i, price), price


class _Own:
    """What is added to an expected gap, for decisions at given prices."""

    def __init__(self, correction: Correction, prices: Prices) -> None:
        self.bias, self.trust, rows, known = correction
        self.scores = _Scores(rows.p, influence(prices, rows))
        self.real = _by_person(known) - _by_person(rows)

    def off(self, i: int, price: float, threshold: float) -> float:
        if not self.trust[i]:
            return self.bias[i]
        positive = self.scores.at(i, price) > threshold
        return (1 - self.trust[i]) * self.bias[i] + self.trust[i] * (positive @ self.real[:, i])


def _by_person(people: People) -> np.ndarray:
    """Return what each person's positive decision adds to the gaps among just these people."""
    inside, outside = people.inside.sum(0), people.outside.sum(0)
    both = (inside > 0) & (outside > 0)
    return both * (
        people.inside / np.where(both, inside, 1.0) - people.outside / np.where(both, outside, 1.0)
    )


def _solved(at: Callable[[float], tuple[float, float]], highest: float) -> float:
    """Find the smallest price on one gap, while the others stay.

    Args:
        at: a price -> the gap, and its bound there.
        highest: the largest price to try.
    """
    start, width = at(0.0)
    if abs(start) <= width:
        return 0.0
    sign, low, high = np.sign(start), 0.0, highest
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        gap, width = at(sign * middle)
        if sign * gap <= width:
            high = middle
        else:
            low = middle
    before = sign * max(low - ROUNDING * highest, 0.0)
    after = sign * (high + ROUNDING * highest)
    # Where many people are alike, the gap may jump across the bound: take the nearer side.
    return after if abs(at(after)[0]) <= abs(at(before)[0]) else before


def priced(prices: Prices, people: People) -> np.ndarray:
    """Return scores that are above the threshold where the rule decides positively."""
    return people.p - influence(prices, people) @ prices.price
