"""Sums of hinges: the corner found is lowest, by the linear program that it is the dual of."""

import numpy as np
import pytest
from scipy.optimize import linprog

from ffml.wrappers._hinges import Hinges, lowest


def height(hinges, linear, y):
    return linear @ y + hinges.weight @ np.maximum(hinges.kink - hinges.slope @ y, 0)


def corner_of(hinges, corner):
    return np.linalg.solve(hinges.slope[corner], hinges.kink[corner])


def some_hinges(seed, decimals=12):
    """Draw hinges, and a box that keeps y within ±5."""
    rng = np.random.default_rng(seed)
    size, count = rng.integers(1, 8), rng.integers(1, 200)
    box = np.concatenate([np.eye(size), -np.eye(size)])
    slope = np.concatenate([rng.normal(size=(count, size)).round(decimals), box])
    kink = np.concatenate([rng.normal(size=count).round(decimals), np.full(2 * size, -5.0)])
    weight = np.concatenate([rng.uniform(size=count), np.full(2 * size, 1e3)])
    return Hinges(slope, kink, weight), rng.normal(size=size), count + np.arange(size)


@pytest.mark.parametrize("decimals", [12, 0], ids=["different", "alike"])
@pytest.mark.parametrize("seed", range(20))
def test_the_corner_is_the_lowest(seed, decimals):
    hinges, linear, start = some_hinges(seed, decimals)
    found = corner_of(hinges, lowest(hinges, linear, start))
    bounds = np.stack([np.zeros(len(hinges.weight)), hinges.weight], axis=1)
    dual = linprog(-hinges.kink, A_eq=hinges.slope.T, b_eq=linear, bounds=bounds)
    assert height(hinges, linear, found) == pytest.approx(-dual.fun, abs=1e-6)


def test_who_starts_at_the_lowest_corner_stays():
    hinges, linear, start = some_hinges(3)
    corner = lowest(hinges, linear, start)
    np.testing.assert_array_equal(lowest(hinges, linear, corner), corner)


def test_a_weighted_median():
    """In one dimension with slopes of ±1 it is the median."""
    values = np.array([3.0, 1.0, 4.0, 1.5, 9.0])
    both = np.concatenate([np.ones(5), -np.ones(5)])[:, None]
    hinges = Hinges(both, np.concatenate([values, -values]), np.ones(10))
    assert corner_of(hinges, lowest(hinges, np.zeros(1), np.array([4])))[0] == 3.0
