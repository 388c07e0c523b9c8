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
    walk = _Walk(hinges, linear, corner)
    for steps in range(MOST_STEPS * len(linear)):
        if not walk.go_on():
            break
        if steps % REFRESH == REFRESH - 1:  # rounding adds up
            walk.inverse = np.linalg.inv(hinges.slope[walk.corner])
    return walk.corner


class _Walk:
    """Where a walk is."""

    def __init__(self, hinges: Hinges, linear: np.ndarray, corner: np.ndarray) -> None:
        self.slope, kink, self.weight = hinges
        kink = kink + TIES * np.random.default_rng(0).uniform(size=len(kink))
        self.corner = corner.copy()
        self.inverse = np.linalg.inv(self.slope[corner])
        self.value = kink - self.slope @ (self.inverse @ kink[corner])
        self.value[corner] = 0.0
        self.on = self.value > 0  # which hinges are beyond their kinks; of a corner, none is
        self.pull = linear - (self.weight * self.on) @ self.slope

    def go_on(self) -> bool:
        """Leave the corner along the steepest edge, up to the next corner; False: it is lowest."""
        multiplier = self.pull @ self.inverse
        fall = np.maximum(-multiplier, multiplier - self.weight[self.corner])
        place = int(np.argmax(fall / np.linalg.norm(self.inverse, axis=0)))
        if not fall[place] > OPTIMAL:
            return False
        leaving, sign = self.corner[place], -1.0 if multiplier[place] > 0 else 1.0
        rate = self.slope @ (sign * self.inverse[:, place])
        rate[self.corner] = 0.0
        passed, entering, distance = self._along(rate, fall[place])
        if entering < 0:
            return False
        rate[leaving] = sign
        self.value -= distance * rate
        self.value[entering] = 0.0
        turned = np.append(passed, [entering] if self.on[entering] else [])
        self._turn(np.append(turned, [leaving] if sign < 0 else []).astype(int))
        self.corner[place] = entering
        self.inverse = _replaced(self.inverse, place, self.slope[entering])
        return True

    def _turn(self, these: np.ndarray) -> None:
        """Let hinges come to lie on the other side of their kinks."""
        self.pull += (self.weight[these] * np.where(self.on[these], 1.0, -1.0)) @ self.slope[these]
        self.on[these] = ~self.on[these]

    def _along(self, rate: np.ndarray, fall: float) -> tuple[np.ndarray, int, float]:
        """Return hinges passed along an edge, the one where F is lowest, and how far that is."""
        flat = FLAT * np.abs(rate).max()
        turns = np.flatnonzero(np.where(self.on, rate > flat, rate < -flat))
        distance = np.maximum(self.value[turns] / rate[turns], 0.0)
        rise = self.weight[turns] * np.abs(rate[turns])
        if len(turns) > FIRST:
            near = np.argpartition(distance, FIRST)[:FIRST]
            if rise[near].sum() >= fall:
                turns, distance, rise = turns[near], distance[near], rise[near]
        order = np.argsort(distance, kind="stable")
        last = int(np.searchsorted(np.cumsum(rise[order]), fall))
        if last >= len(turns):
            return turns[:0], -1, 0.0
        return turns[order[:last]], int(turns[order[last]]), float(distance[order[last]])


def _replaced(inverse: np.ndarray, place: int, row: np.ndarray) -> np.ndarray:
    """Return the inverse of a matrix of which one row is replaced (Sherman & Morrison)."""
    change = row @ inverse
    pivot = change[place]
    change[place] -= 1.0
    return inverse - np.outer(inverse[:, place], change / pivot)
