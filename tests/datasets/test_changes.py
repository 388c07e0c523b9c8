"""Streams that change: when, how far, and in what alone."""

import numpy as np
import pytest

from ffml.base import FFMLError
from ffml.datasets import load
from ffml.datasets._synthetic import CHANGES, direction

MANY = {"num_tasks": 8, "rows_per_task": 4000, "drift": 0.0, "seed": 1}


def what_shows(change, change_in):
    """Return by task: what labels say along w, the mean along w, and the last group's share."""
    w = direction(0, seed=1, drift=0.0)
    shown = []
    for task in load("synthetic", **MANY, change=change, change_in=change_in).tasks():
        along = task.x @ w
        sides = task.y[along > 0.5].mean(), task.y[along < -0.5].mean()
        shown.append((sides[0] - sides[1], along.mean(), task.groups.mean()))
    return np.array(shown).T


@pytest.mark.parametrize(
    ("change", "far"),
    [
        ("none", [0, 0, 0, 0, 0, 0, 0, 0]),
        ("abrupt", [0, 0, 0, 0, 1, 1, 1, 1]),
        ("gradual", [0, 0, 0, 1 / 8, 1 / 2, 7 / 8, 1, 1]),
        ("recurring", [0, 0, 1, 1, 0, 0, 1, 1]),
    ],
)
def test_when_a_stream_changes(change, far):
    assert [CHANGES[change](t, 8) for t in range(8)] == pytest.approx(far)


@pytest.mark.parametrize("change", ["abrupt", "recurring"])
def test_one_thing_changes_and_the_others_stay(change):
    second = np.array([CHANGES[change](t, 8) for t in range(8)]) > 0
    labels, mean, share = what_shows(change, "labels")
    assert (labels[~second] > 0.8).all() and (labels[second] < -0.8).all()
    assert np.abs(mean).max() < 0.1 and np.abs(share - 0.5).max() < 0.05
    labels, mean, share = what_shows(change, "features")
    assert np.abs(mean - 2 * second).max() < 0.1
    assert labels.min() > 0.7 and np.abs(share - 0.5).max() < 0.05
    labels, mean, share = what_shows(change, "groups")
    assert np.abs(share - np.where(second, 0.95, 0.5)).max() < 0.05 and labels.min() > 0.8


def test_streams_that_cannot_be():
    with pytest.raises(FFMLError, match="unknown change 'abrubt'; did you mean 'abrupt'"):
        load("synthetic", change="abrubt")
    with pytest.raises(FFMLError, match="unknown change_in 'label'; did you mean 'labels'"):
        load("synthetic", change_in="label")
