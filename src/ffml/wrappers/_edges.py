"""Decide about people who are exactly at the threshold.

Where prices are best, some people are at the threshold: as many as there are bounds to be met, and
whoever is like them. Prices can be moved by so little that nobody else is concerned and each of
them comes to lie above or below. Taken is the move after which bounds are kept best, and among
those that keep them the one with the highest gain.
"""

from collections.abc import Callable
from functools import lru_cache
from itertools import combinations
from typing import NamedTuple

import numpy as np

MARGINS = (4e-6, 4e-8)  # how far people are moved off the threshold
AT_IT = 1e-9  # who is nearer to the threshold is at it
MANY = 16  # people at the threshold, of whom no pairs are tried
SAME = 1e-11  # an excess that is smaller by less is not smaller


class Edge(NamedTuple):
    """People, and those of them at the threshold."""

    effect: np.ndarray  # (n, K) what prices take off each person's score
    margin: np.ndarray  # (n,) how far everybody is above the threshold
    people: np.ndarray  # (e,) who is at it; their effects are independent


Excess = Callable[[np.ndarray], np.ndarray]  # (p, C) totals -> (p,) by how much they miss


def off_the_edge(edge: Edge, worth: np.ndarray, excess: Excess) -> np.ndarray:
    """Return by how much to move prices ``(K,)``.

    Args:
        edge: who is at the threshold.
        worth: ``(n, C)`` what a positive decision adds to totals; the last of these is the gain.
        excess: by how much totals miss the bounds.
    """
    turn = -np.linalg.pinv(edge.effect[edge.people])  # (K, e)
    reach = np.abs(edge.effect @ turn).sum(1)
    best, move = (np.inf, np.inf), np.zeros(edge.effect.shape[1])
    for margin in MARGINS:
        near = np.abs(edge.margin) <= margin * reach + AT_IT
        rest = ((edge.margin > 0) & ~near) @ worth
        some = Edge(margin * edge.effect[near] @ turn, edge.margin[near], edge.people)
        sides, value = _best_sides(some, worth[near], rest, excess)
        if value < best:
            best, move = value, margin * turn @ sides
        if best[0] == 0:  # bounds are kept
            break
    return move


def _best_sides(
    some: Edge, worth: np.ndarray, rest: np.ndarray, excess: Excess
) -> tuple[np.ndarray, tuple[float, float]]:
    """Turn one or two people at a time, as long as it helps."""
    sides, best = -np.ones(len(some.people)), (np.inf, np.inf)
    while True:
        trials = sides * _flips(len(sides))  # (p, e)
        positive = some.margin - trials @ some.effect.T > 0
        totals = rest + positive @ worth
        missed = np.maximum(np.round(excess(totals) / SAME) * SAME, 0.0)
        first = np.lexsort((-totals[:, -1], missed))[0]
        value = (float(missed[first]), -float(totals[first, -1]))
        if value >= best:
            return sides, best
        sides, best = trials[first], value


@lru_cache(maxsize=64)
def _flips(count: int) -> np.ndarray:
    """Return 1 for who stays and -1 for who is turned: nobody, one, or two unless they are many."""
    sizes = (0, 1, 2) if count <= MANY else (0, 1)
    turned = [people for size in sizes for people in combinations(range(count), size)]
    signs = np.ones((len(turned), count))
    for row, people in zip(signs, turned, strict=True):
        row[list(people)] = -1.0
    return signs
