"""People exactly at the threshold come to lie where bounds are kept, and nobody else moves."""

import numpy as np
import pytest

from ffml.wrappers._edges import MARGINS, Edge, off_the_edge


def decided(effect, margin, people, worth, excess):
    move = off_the_edge(Edge(effect, margin, np.array(people, int)), worth, excess)
    return margin - effect @ move > 0, move


@pytest.mark.parametrize("gain", [-1.0, 1.0])
def test_without_bounds_the_gain_decides(gain):
    effect, margin = np.array([[1.0], [2.0], [1.0]]), np.array([0.0, 0.3, -0.3])
    worth = np.full((3, 1), gain)
    positive, move = decided(effect, margin, [0], worth, lambda t: np.zeros(len(t)))
    assert positive.tolist() == [gain > 0, True, False]
    assert abs(move[0]) == pytest.approx(MARGINS[0])


@pytest.mark.parametrize("wanted", [0, 1, 2, 3, 4, 5])
def test_bounds_come_before_gain(wanted):
    """Five people at the threshold, each with a price; as many as asked for, and the best."""
    effect, gains = np.eye(5), np.array([1.0, 5.0, 2.0, 4.0, 3.0])
    worth = np.stack([np.ones(5), gains], axis=1)
    positive, _ = decided(effect, np.zeros(5), range(5), worth, lambda t: abs(t[:, 0] - wanted))
    assert set(np.flatnonzero(positive)) == set(np.argsort(-gains)[:wanted])


def test_people_next_to_the_edge_stay_where_they_are():
    """Somebody is nearer to the threshold than the larger of the margins."""
    effect, margin = np.ones((2, 1)), np.array([0.0, 1e-6])
    positive, move = decided(
        effect, margin, [0], np.array([[1.0, 0], [1.0, 0]]), lambda t: abs(t[:, 0] - 1)
    )
    assert positive.tolist() == [False, True] and 0 < move[0] < 1e-6


def test_nobody_at_the_edge():
    positive, move = decided(
        np.ones((2, 1)), np.array([1.0, -1.0]), [], np.ones((2, 1)), lambda t: t[:, 0]
    )
    assert positive.tolist() == [True, False] and not move.any()
