"""Decisions under prices by group, found for people whose groups are estimated.

With p the probability that a person's label is 1, whoever is above a threshold τ is decided
positively. Prices c turn this into

    positive  where  p - Σ_g c_g a_g/A_g > τ

with a_g the probability to count as one of group g and A_g the share of those who do
(`ffml.wrappers._group_prices`). They are such that expected rates of any two groups keep the bound,
once what these are off by is added. That is known of gaps between a group and all others; where
the rate of all is right, a gap that is off by o means rates that are off by ``o`` times the share
of the others, and theirs by ``-o`` times the share of the group.
"""

from typing import NamedTuple

import numpy as np

from ffml.base import Problem
from ffml.problem.gaps import bounds
from ffml.wrappers._group_prices import GroupPrices, Groups, Pool, Pricing
from ffml.wrappers._people import People, Places, by_group, influence, places, weighed
from ffml.wrappers._thresholds import Threshold

HIGHEST_PRICE = 8.0  # in units of probability over typical influences: beyond it p does not matter
LEAST_INFLUENCE = 1e-4  # where features tell less than that of groups, there is nothing to price
MOST_GROUPS = 32  # of a column that are priced, the largest; time grows with their square
TURNS = 20  # most times that offsets are adjusted to prices
SETTLED = 1e-4  # offsets that change by less are as they will be


class Prices(NamedTuple):
    """A price on each group's rate, what it is a share of, and the threshold."""

    price: np.ndarray  # (G,) c, 0 where nothing is told of a group
    size: np.ndarray  # (G,) A: share of the people who count as one of the group
    told: np.ndarray  # (G,) whether a group is priced: features tell of it, and it is not too small
    threshold: np.ndarray  # () τ
    unpriced: np.ndarray  # () τ without any price; another one where a share is selected


class Correction(NamedTuple):
    """How far gaps are from what is expected: as they were on tasks so far, and in this task.

    The labelled rows of the task show it too, mostly by chance. The more it differed from task to
    task beyond chance, the more they are listened to.
    """

    bias: np.ndarray  # (m,) mean of earlier tasks
    trust: np.ndarray  # (m,) between 0 and 1: how much the task's own rows are listened to
    rows: People  # what is expected of the labelled rows
    weight: np.ndarray  # what each of them counts
    known: People  # what they are, by what each of them counts


def smallest_prices(
    problem: Problem,
    people: People,
    weight: np.ndarray,
    correction: Correction,
    threshold: Threshold,
) -> Prices:
    """Find the prices with which expected rates keep their bounds and the gain is highest.

    Args:
        problem: its constraints say the bounds.
        people: those to be decided about.
        weight: what each of them counts, 0 for padding.
        correction: what is added to expected gaps: how far off they are.
        threshold: τ, or the share of positive decisions.
    """
    there = weight > 0
    people = People(*(part[there] for part in people))
    share = weight[there] / max(weight.sum(), 1e-30)
    groups = places(problem)
    typical = _typical_influence(people, share)
    prices = _without(groups, people, share, typical, threshold)
    if not prices.told.any():
        return prices
    pool = Pool(people.p, share, threshold.value, threshold.rate)
    pricing = Pricing(pool, _alike(problem, groups, people, prices.told, typical))
    offset = _Offsets(problem, correction, groups, weighed(people, share))
    return _consistent(pricing, offset, prices)


def _consistent(pricing: Pricing, offset: "_Offsets", prices: Prices) -> Prices:
    """Find prices for the offsets that labelled rows show at just these prices.

    Offsets move towards what is shown, by half as much once that turns around. Where it jumps
    across a bound, the prices on the feasible side are taken.
    """
    off, told = offset.shown(prices), prices.told
    step, before, best, least = np.ones(len(off)), np.zeros(len(off)), prices, np.inf
    for _ in range(TURNS):
        rates = offset.by_group(off)[told]
        found = pricing.settled(pricing.best(rates), rates)
        trial = _with(prices, found)
        shown = offset.shown(trial)
        excess = round(
            float(pricing.excess(pricing.totals(found), offset.by_group(shown)[told])), 3
        )
        if excess <= least:
            best, least = trial, max(excess, 0.0)
        missed = shown - off
        step, before = np.where(missed * before < 0, step / 2, step), missed
        if np.abs(step * missed).max() <= SETTLED:
            break
        off = off + step * missed
    return best


def _with(prices: Prices, groups: GroupPrices) -> Prices:
    """Put prices where they belong; without any, the threshold is that of nobody priced."""
    if not groups.price.any():
        return prices
    price = np.zeros(len(prices.price))
    price[prices.told] = groups.price
    return prices._replace(price=price, threshold=np.asarray(groups.threshold))


def _without(
    groups: Places, people: People, share: np.ndarray, typical: np.ndarray, threshold: Threshold
) -> Prices:
    """Decide by the threshold alone, and say which groups can be priced."""
    size = share @ by_group(groups, people)
    told = (size > 0) & (typical[groups.entry] > LEAST_INFLUENCE)
    same = groups.comparison[:, None] == groups.comparison
    told &= (same & (size > size[:, None])).sum(1) < MOST_GROUPS
    told &= np.bincount(groups.comparison, told)[groups.comparison] >= 2
    value = np.asarray(threshold(people.p, share), float)
    return Prices(np.zeros(len(size)), size, told, value, value)


def _typical_influence(people: People, share: np.ndarray) -> np.ndarray:
    """Return how much somebody's decision typically moves each gap, times all people ``(m,)``."""
    moved = influence(weighed(people, share))
    return np.sqrt((moved**2 / share[:, None]).sum(0))


def _alike(
    problem: Problem, groups: Places, people: People, told: np.ndarray, typical: np.ndarray
) -> list[Groups]:
    """Say whose rates are to be alike, and how nearly."""
    chance, (_, width, relative) = by_group(groups, people), bounds(problem)
    groups_alike = []
    for number in np.unique(groups.comparison[told]):
        these = told & (groups.comparison == number)
        entries = groups.entry[these]
        highest = HIGHEST_PRICE / float(typical[entries].min())
        bound = float(np.min(width[entries])), float(np.max(relative[entries]))
        groups_alike.append(Groups(chance[:, these], *bound, highest))
    return groups_alike


class _Offsets:
    """What expected rates are off by."""

    def __init__(
        self, problem: Problem, correction: Correction, groups: Places, people: People
    ) -> None:
        self.problem, self.correction, self.groups = problem, correction, groups
        self.center = np.asarray(bounds(problem).center, float)
        expectation = weighed(correction.rows, correction.weight)
        self.real = influence(correction.known) - influence(expectation)
        inside, outside = people.inside.sum(0), people.outside.sum(0)
        total = np.maximum(inside + outside, 1e-30)
        self.inside, self.outside = inside / total, outside / total

    def shown(self, prices: Prices) -> np.ndarray:
        """Return what gaps between a group and all others are off by ``(m,)``, at given prices."""
        bias, trust = self.correction.bias, self.correction.trust
        positive = priced(self.problem, prices, self.correction.rows) > prices.threshold
        return (1 - trust) * bias + trust * (positive @ self.real) - self.center

    def by_group(self, off: np.ndarray) -> np.ndarray:
        """Return what rates are off by ``(G,)``, if the rate of all is right."""
        of_members, of_others = (off * self.outside), -(off * self.inside)
        entry = self.groups.entry
        return np.where(self.groups.is_member, of_members[entry], of_others[entry])


def priced(problem: Problem, prices: Prices, people: People) -> np.ndarray:
    """Return scores that are above the threshold where the rule decides positively."""
    effect = by_group(places(problem), people) / np.where(prices.size > 0, prices.size, 1.0)
    return people.p - effect @ prices.price
