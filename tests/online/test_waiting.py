"""Tasks that wait for labels: when they are learned from, and from whom."""

import numpy as np
import pytest

from ffml.base import Task
from ffml.online.judge import Decided
from ffml.online.waiting import Waiting


def waiting(y, positive, probability=0.5):
    n = len(y)
    logits = np.where(positive, 1.0, -1.0).astype(np.float32)
    decided = Decided(np.arange(n), logits, np.full(n, probability), np.asarray(positive))
    x = np.arange(n, dtype=np.float32)[:, None]
    return Waiting(1, Task("may", x, np.asarray(y, np.int32), np.zeros((n, 1), np.int32)), decided)


def approved_only(approved=40, refused=60, probability=0.25):
    y = np.r_[np.ones(approved), np.full(refused, -1)]
    return waiting(y, np.arange(approved + refused) < approved, probability)


def rng():
    return np.random.default_rng(0)


def test_labels_of_approved_people_are_enough():
    one = approved_only()
    assert one.one_sided and one.is_due(1, 0, 100) and not one.is_due(1, 1, 100)
    half = one._replace(task=one.task._replace(y=np.where(np.arange(100) < 30, 1, -1)))
    assert half.one_sided and not half.is_due(1, 0, 100) and half.is_due(1, 0, 15)


@pytest.mark.parametrize("probability", [0.0, 0.25, 1.0])
def test_those_refused_stay_with_what_was_believed_of_them(probability):
    task = approved_only(refused=4000, probability=probability).to_learn(rng())
    assert len(task.y) == 4040 and (task.y[:40] == 1).all()
    assert task.y[40:].mean() == pytest.approx(probability, abs=0.03)


def test_true_labels_of_a_few_who_were_refused_are_taken():
    one = approved_only(refused=1000, probability=1.0)
    y = one.task.y.copy()
    y[40:70] = 0  # one in 33
    learned = one._replace(task=one.task._replace(y=y)).to_learn(rng())
    assert (learned.y[40:70] == 0).all() and (learned.y[70:] == 1).all()


def test_approved_people_without_a_label_are_left_out():
    one = approved_only(approved=400)
    y = np.where(np.arange(460) < 390, one.task.y, -1)
    learned = one._replace(task=one.task._replace(y=y)).to_learn(rng())
    assert len(learned.y) == 390 + 60 and learned.x[389, 0] == 389 and learned.x[390, 0] == 400


@pytest.mark.parametrize(
    ("y", "positive"),
    [
        (np.r_[np.ones(19), np.full(30, -1)], np.arange(49) < 19),  # too few to tell
        (np.r_[np.full(30, -1), np.ones(30)], np.arange(60) < 30),  # of those refused
        (np.r_[np.ones(30), np.full(30, -1)], np.arange(60) % 2 == 0),  # of both
        (np.ones(60), np.arange(60) < 30),  # of all
    ],
)
def test_other_labels_are_taken_as_they_are(y, positive):
    one = waiting(y, positive)
    assert not one.one_sided
    assert one.to_learn(rng()).y.tolist() == [label for label in y if label >= 0]


def test_a_pilot_of_labels_is_not_one_sided():
    """Rows that were labelled before the decision say nothing of who gets a label after it."""
    one = waiting(np.r_[np.ones(30), np.full(30, -1)], np.ones(60, bool))
    decided = Decided(np.arange(30, 60), -np.ones(30, np.float32), np.full(30, 0.5), None)
    assert not one._replace(decided=decided).one_sided


def test_nothing_is_drawn_into_the_task_that_waits():
    one = approved_only()
    before = one.task.y.copy()
    one.to_learn(rng())
    np.testing.assert_array_equal(one.task.y, before)
