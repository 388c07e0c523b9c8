"""Minimise a sum of hinges exactly, by walking from kink to kink.

    F(y) = q·y + Σ_j w_j (σ_j - ξ_j·y)₊

This is the dual of a linear program ``max Σ σ_j z_j`` over ``0 <= z_j <= w_j`` with ``Σ z_j ξ_j =
q``, which has few rows and many columns. A corner is where as many hinges as y has entries are at
their kinks. The multipliers of these say along which edge F falls; the walk goes on along it, past
all kinks up to the one where F would rise again (the long-step dual simplex method).
"""

from typing import NamedTuple

import numpy as np

TIES = 1e-11  # kinks are moved by up to that much, so that no two are at the same place
FLAT = 1e-9  # a hinge that changes less along an edge, relative to the others, does not change
OPTIMAL = 1e-12  # a slope above minus that is no descent
FIRST = 256  # kinks looked at before all are put in order
MOST_STEPS = 60  # for each entry of y
REFRESH = 50  # steps after which the inverse is computed anew


class Hinges(NamedTuple):
    """``w (σ - ξ·y)₊`` each, N of them."""

    slope: np.ndarray  # (N, K) ξ
    kink: np.ndarray  # (N,) σ
    weight: np.ndarray  # (N,) w


def lowest(hinges: Hinges, linear: np.ndarray, corner: np.ndarray) -> np.ndarray:
    """Walk to the lowest corner.

    Args:
        hinges: their sum is to be lowest.
        linear: q.
        corner: K hinges whose slopes are independent: those at their kinks, to start from.

    Returns:
        the K hinges at whose kinks F is lowest.
    """
    slope, weight = hinges.slope, hinges.weight
    kink = hinges.kink + TIES * np.random.default_rng(0).uniform(size=len(weight))
    corner = corner.copy()
    inverse = np.linalg.inv(slope[corner])
    value = kink - slope @ (inverse @ kink[corner])
    on = value > 0
    on[corner] = False
    pull = linear - (weight * on) @ slope
    for steps in range(MOST_STEPS * len(linear)):
        multiplier = pull @ inverse
        fall = np.maximum(-multiplier, multiplier - weight[corner])
        place = int(np.argmax(fall / np.linalg.norm(inverse, axis=0)))
        if fall[place] <= OPTIMAL:
            break
        leaving, rises = corner[place], multiplier[place] > 0
        value[corner] = 0.0
        rate = slope @ (inverse[:, place] * (-1.0 if rises else 1.0))
        rate[corner] = 0.0
        passed, entering, step = _along(value, rate, on, weight, fall[place])
        if entering < 0:
            break
        rate[leaving] = -1.0 if rises else 1.0
        value -= step * rate
        pull += (weight[passed] * np.where(on[passed], 1.0, -1.0)) @ slope[passed]
        on[passed] = ~on[passed]
        if on[entering]:
            on[entering] = False
            pull += weight[entering] * slope[entering]
        if rises:
            on[leaving] = True
            pull -= weight[leaving] * slope[leaving]
        corner[place] = entering
        inverse = _replaced(inverse, place, slope[entering])
        if steps % REFRESH == REFRESH - 1:  # rounding adds up
            inverse = np.linalg.inv(slope[corner])
    return corner


def _replaced(inverse: np.ndarray, place: int, row: np.ndarray) -> np.ndarray:
    """Return the inverse of a matrix of which one row is replaced (Sherman & Morrison)."""
    change = row @ inverse
    pivot = change[place]
    change[place] -= 1.0
    return inverse - np.outer(inverse[:, place], change / pivot)


def _along(
    value: np.ndarray, rate: np.ndarray, on: np.ndarray, weight: np.ndarray, fall: float
) -> tuple[np.ndarray, int, float]:
    """Follow an edge: return the hinges that turn, the one at which F is lowest, and how far."""
    flat = FLAT * np.abs(rate).max()
    turns = np.flatnonzero(np.where(on, rate > flat, rate < -flat))
    distance = np.maximum(value[turns] / rate[turns], 0.0)
    if len(turns) > FIRST:
        near = np.argpartition(distance, FIRST)[:FIRST]
        if (weight[turns[near]] * np.abs(rate[turns[near]])).sum() >= fall:
            turns, distance = turns[near], distance[near]
    order = np.argsort(distance, kind="stable")
    turns = turns[order]
    risen = np.cumsum(weight[turns] * np.abs(rate[turns]))
    last = int(np.searchsorted(risen, fall))
    if last >= len(turns):
        return turns[:0], -1, 0.0
    return turns[:last], int(turns[last]), float(distance[order[last]])
