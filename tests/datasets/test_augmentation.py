"""The paper protocol's rotated rows: against scipy and NumPy, and what must not change."""

from dataclasses import replace

import numpy as np
import pytest
from conftest import random_task
from scipy import ndimage

from ffml.base import FFMLError, Stream
from ffml.datasets import load
from ffml.datasets.augmentation import augmented, rotate_rows, rotated
from ffml.recipe.build import assemble, build
from ffml.recipe.config import RunConfig
from ffml.tables.scaling import RunningScaler


def rng(seed=0):
    return np.random.default_rng(seed)


@pytest.mark.parametrize("features", [1, 3, 4, 7, 9, 64, 95])
def test_a_full_turn_is_the_identity(features):
    x = rng().normal(size=(5, features)).astype(np.float32)
    np.testing.assert_allclose(rotate_rows(x, np.full(5, 360)), x, atol=1e-6)


@pytest.mark.parametrize("quarters", [1, 2, 3])
def test_quarter_turns_are_those_of_numpy(quarters):
    x = rng().normal(size=(6, 25)).astype(np.float32)
    turned = rotate_rows(x, np.full(6, 90 * quarters)).reshape(6, 5, 5)
    np.testing.assert_allclose(turned, np.rot90(x.reshape(6, 5, 5), quarters, (1, 2)), atol=1e-6)


def test_each_row_is_turned_by_its_own_angle_as_scipy_does():
    x, angles = rng().normal(size=(60, 47)).astype(np.float32), rng(1).integers(1, 361, size=60)
    padded = np.pad(x, ((0, 0), (0, 2))).reshape(-1, 7, 7)
    for row, image, angle in zip(rotate_rows(x, angles), padded, angles, strict=True):
        expected = ndimage.rotate(image, angle, reshape=False, order=1).ravel()[:47]
        np.testing.assert_allclose(row, expected, atol=1e-5)


def test_padding_is_lost_and_what_turns_in_is_zero():
    """Three features in a 2 × 2 square; a quarter turn brings the zero of the padding in."""
    turned = rotate_rows(np.array([[1.0, 2.0, 3.0]], np.float32), np.array([90]))
    np.testing.assert_allclose(turned, [[2.0, 0.0, 1.0]], atol=1e-6)


def test_added_rows_keep_label_and_group_of_the_row_they_come_from(schema):
    """With one constant feature in the middle of a 3 × 3 image, a row can be told after turning."""
    task = random_task(0, 40, schema)
    marks = np.zeros((40, 9), np.float32)
    marks[:, 4] = np.arange(40)
    filled = rotated(task._replace(x=marks), 500, rng())
    assert filled.x.shape == (500, 9) and filled.x.dtype == np.float32
    source = np.rint(filled.x[:, 4]).astype(int)
    np.testing.assert_array_equal(filled.y, task.y[source])
    np.testing.assert_array_equal(filled.groups, task.groups[source])
    np.testing.assert_array_equal(filled.x[:40], marks)
    assert len(np.unique(source[40:])) == 40  # all rows are drawn from


def test_tasks_with_enough_rows_or_none_are_left_alone(schema):
    task = random_task(0, 12, schema)
    nobody = task._replace(x=task.x[:0], y=task.y[:0], groups=task.groups[:0])
    assert rotated(task, 12, rng()) is task and rotated(nobody, 12, rng()) is nobody


def test_a_stream_is_filled_up_the_same_every_time(make_stream):
    stream = make_stream((30, 5, 200))
    once, again, other = (list(augmented(stream, 100, seed).tasks()) for seed in (1, 1, 2))
    assert [len(task.y) for task in once] == [100, 100, 200]
    for a, b, c in zip(once, again, other, strict=True):
        for one, two in zip(a[1:], b[1:], strict=True):
            np.testing.assert_array_equal(one, two)
        assert np.array_equal(a.y, c.y) == (len(c.y) == 200)  # which had rows enough


def test_rows_depend_on_the_position_not_on_the_tasks_before(make_stream):
    stream = make_stream((30, 30))
    first = next(stream.tasks())
    twice = Stream("twice", stream.schema, lambda: iter([first, first]), 2)
    a, b = augmented(twice, 60, 0).tasks()
    assert not np.array_equal(a.y, b.y)
    whole = list(augmented(stream, 60, 0).tasks())
    np.testing.assert_array_equal(whole[0].y, a.y)


def test_a_run_is_augmented_by_its_config():
    options = {"num_tasks": 3, "rows_per_task": (10, 30)}
    config = RunConfig("synthetic", data_options=options, augment_to=50)
    plain, filled = build(replace(config, augment_to=0)).stream, build(config).stream
    assert filled.num_tasks == 3
    for before, after in zip(plain.tasks(), filled.tasks(), strict=True):
        assert len(after.y) == 50
        np.testing.assert_array_equal(after.x[: len(before.y)], before.x)


def test_bad_values_are_refused(make_stream):
    stream = make_stream()
    config = RunConfig("synthetic", augment_to=-1)
    with pytest.raises(FFMLError, match="augment_to must be >= 0, got -1"):
        build(config)
    scaler = RunningScaler.empty(np.ones(3, bool))
    with pytest.raises(FFMLError, match="leave it out for a table of your own"):
        assemble(replace(config, augment_to=10), stream, scaler)


def test_every_task_of_crime_is_filled_up():
    assert [len(task.y) for task in augmented(load("crime"), 300, 0).tasks()] == [300] * 43
