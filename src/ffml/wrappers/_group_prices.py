"""One price a group: the best decisions whose rates differ by no more than a bound.

People have weights w (they add up to 1), scores s and, in each comparison, chances a_g to count as
one of group g. With A_g = Σ w a_g, decisions d have the rates ``r_g = Σ w a_g d / A_g``. Asked for
is

    max Σ w d (s - τ)   with   (1 - share) T - width <= r_g + b_g <= T

in each comparison, T free: no two rates differ by more than ``width``, plus ``share`` of the
highest rate, which makes it a ratio. b_g is what rates are known to be off by. Decisions are
positive where ``s - Σ_g c_g a_g/A_g > τ``. The prices ``c = u - l`` of the two bounds are where
the dual of this linear program is lowest:

    Σ w (s - τ - c·a/A)₊ - c·b + width Σ l   with   u, l >= 0,   Σ u = (1 - share) Σ l <= highest

All of it is hinges (`ffml.wrappers._hinges`). That Σ l has a highest value means that a bound that
nothing can keep is missed by as little as possible. Where a rate of positive decisions is to be
kept, its price is τ.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from ffml.wrappers._edges import Edge, off_the_edge
from ffml.wrappers._hinges import Hinges, lowest

SLACK = 10.0  # no rate, offset or difference of them is larger than this
SMALL = 1500  # people: of more, a part is solved for first
PART = 8  # one in so many


class Groups(NamedTuple):
    """Groups whose rates are to be alike; each of them has a chance of somebody."""

    chance: np.ndarray  # (n, k) a
    width: float
    share: float = 0.0
    highest: float = 1e4


class Pool(NamedTuple):
    """Those to be decided about."""

    score: np.ndarray  # (n,) s
    weight: np.ndarray  # (n,) w > 0
    threshold: float = 0.0  # τ, where no rate is to be kept
    rate: float | None = None  # share of positive decisions to be kept


class GroupPrices(NamedTuple):
    """Prices of all groups, comparison by comparison, and the threshold."""

    price: np.ndarray  # (G,) c, per unit of a/A
    threshold: float


class Pricing:
    """The prices of people in comparisons, for one offset after the other."""

    def __init__(self, people: Pool, comparisons: Sequence[Groups]) -> None:
        """Write down the dual."""
        self.people = people._replace(weight=people.weight / people.weight.sum())
        self.comparisons = comparisons
        nobody = np.zeros((len(people.score), 0))
        chance = np.concatenate([nobody, *(part.chance for part in comparisons)], axis=1)
        self.effect = chance / (self.people.weight @ chance)
        self.hinges = self._hinges()
        self.corner: np.ndarray | None = None

    def best(self, offset: np.ndarray) -> GroupPrices:
        """Find the best prices for offsets ``(G,)``; the next search starts from these."""
        linear = self._linear(offset)
        if self.corner is None:
            self.corner = _in_parts(self.hinges, linear, self._start(), len(self.people.score))
        else:
            self.corner = lowest(self.hinges, linear, self.corner)
        at_kinks = self.hinges.slope[self.corner], self.hinges.kink[self.corner]
        y = np.linalg.solve(*at_kinks)
        groups = self.effect.shape[1]
        threshold = self.people.threshold if self.people.rate is None else float(y[-1])
        return GroupPrices(y[:groups] - y[groups : 2 * groups], threshold)

    def settled(self, prices: GroupPrices, offset: np.ndarray) -> GroupPrices:
        """Move prices by so little that only people exactly at the threshold are concerned.

        Everybody is then decided about, on the side where bounds are kept, or nearly so.
        """
        people, groups = self.people, self.effect.shape[1]
        assert self.corner is not None, "prices are found before they are settled"
        at_it = self.corner[self.corner < len(people.score)]
        rate = np.ones((len(people.score), 0 if people.rate is None else 1))
        edge = Edge(np.concatenate([self.effect, rate], axis=1), self.margin(prices), at_it)
        gain = people.score - people.threshold
        worth = np.concatenate([self.effect, rate, gain[:, None]], axis=1)
        move = off_the_edge(edge, people.weight[:, None] * worth, lambda t: self.excess(t, offset))
        threshold = prices.threshold + float(move[groups:].sum())
        return GroupPrices(prices.price + move[:groups], threshold)

    def margin(self, prices: GroupPrices) -> np.ndarray:
        """Return how far everybody is above the threshold."""
        return self.people.score - self.effect @ prices.price - prices.threshold

    def totals(self, prices: GroupPrices) -> np.ndarray:
        """Return the rates of decisions, and the share of positive ones."""
        chosen = (self.margin(prices) > 0) * self.people.weight
        return np.append(chosen @ self.effect, chosen.sum())

    def excess(self, rates: np.ndarray, offset: np.ndarray) -> np.ndarray:
        """Return by how much totals (rates, share of positives) miss the bound missed most."""
        shown = rates[..., : len(offset)] + offset
        worst = np.zeros(rates.shape[:-1])
        if self.people.rate is not None:
            worst = np.abs(rates[..., len(offset)] - self.people.rate)
        for part, groups in self._blocks():
            high, low = shown[..., groups].max(-1), shown[..., groups].min(-1)
            worst = np.maximum(worst, (1 - part.share) * high - part.width - low)
        return worst

    def _blocks(self) -> Iterator[tuple[Groups, slice]]:
        first = 0
        for part in self.comparisons:
            last = first + part.chance.shape[1]
            yield part, slice(first, last)
            first = last

    def _hinges(self) -> Hinges:
        """Put people first, then ``u >= 0``, ``l >= 0``, and two balances and a cap each."""
        people, groups = self.people, self.effect.shape[1]
        fixed = people.rate is None
        ones = np.ones((len(people.score), 0 if fixed else 1))
        width = 2 * groups + ones.shape[1]
        rows = [
            np.concatenate([self.effect, -self.effect, ones], axis=1),
            np.eye(width)[: 2 * groups],
        ]
        kinks = [people.score - (people.threshold if fixed else 0.0), np.zeros(2 * groups)]
        for part, block in self._blocks():
            upper, lower = np.zeros(width), np.zeros(width)
            upper[block], lower[groups:][block] = 1.0, 1.0
            balance = upper - (1 - part.share) * lower
            rows.append(np.stack([balance, -balance, -lower]))
            kinks.append(np.array([0.0, 0.0, -part.highest]))
        slope, kink = np.concatenate(rows), np.concatenate(kinks)
        weight = np.full(len(kink), SLACK)
        weight[: len(people.weight)] = people.weight
        return Hinges(slope, kink, weight)

    def _linear(self, offset: np.ndarray) -> np.ndarray:
        widths = [np.full(part.chance.shape[1], part.width) for part in self.comparisons]
        rate = [] if self.people.rate is None else [self.people.rate]
        return np.concatenate([-offset, offset + np.concatenate([[], *widths]), rate])

    def _start(self) -> np.ndarray:
        """Start without prices, at the threshold of the rate."""
        n, groups = self.effect.shape
        corner = n + np.arange(2 * groups)
        if self.people.rate is None:
            return corner
        order = np.argsort(-self.people.score, kind="stable")
        place = np.searchsorted(np.cumsum(self.people.weight[order]), self.people.rate)
        return np.append(corner, order[min(place, n - 1)])


def _in_parts(hinges: Hinges, linear: np.ndarray, corner: np.ndarray, people: int) -> np.ndarray:
    """Solve for some people first, if they are many: what is best for all is near."""
    if people > SMALL:
        some = np.union1d(np.arange(0, people, PART), corner[corner < people])
        kept = np.concatenate([some, np.arange(people, len(hinges.weight))])
        weight = hinges.weight.copy()
        weight[some] *= weight[:people].sum() / weight[some].sum()
        part = Hinges(hinges.slope[kept], hinges.kink[kept], weight[kept])
        corner = kept[_in_parts(part, linear, np.searchsorted(kept, corner), len(some))]
    return lowest(hinges, linear, corner)
