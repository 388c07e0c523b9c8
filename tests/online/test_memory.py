import numpy as np
import pytest
from conftest import random_task
from hypothesis import given, settings
from hypothesis import strategies as st

from ffml.base import FFMLError, Schema, SensitiveColumn
from ffml.online.memory import Memory, MemorySettings, bounded, draw_tasks, padded_tasks, remember

SCHEMA = Schema(("a", "b", "c"), (SensitiveColumn("sex", ("M", "F")),))


SMALL = MemorySettings(tasks_per_round=4, rows_per_task=16, capacity=3)


def filled(policy, tasks, seed=0):
    memory, settings = Memory(), SMALL._replace(policy=policy)
    for i in range(tasks):
        task = random_task(i, 5 + 7 * i % 40, SCHEMA)
        marked = task._replace(x=np.full_like(task.x, i))
        rng = np.random.default_rng([seed, i])
        memory, _ = remember(memory, marked, SCHEMA, settings, rng)
    return memory


def kept(memory):
    return [int(task.x[0, 0]) for task in memory.tasks]


def drawn_from(memory, seed, settings=SMALL, width=3):
    return padded_tasks(draw_tasks(memory, settings, np.random.default_rng(seed)), settings, width)


def test_policies_keep_what_they_say():
    assert kept(filled("all", 10)) == list(range(10))
    assert kept(filled("recent", 10)) == [7, 8, 9]
    assert len(kept(filled("reservoir", 10))) == 3


def test_reservoir_keeps_every_task_equally_often():
    counts = np.zeros(8)
    for seed in range(3000):
        memory, few = Memory(), MemorySettings(4, 4, "reservoir", 2)
        rng = np.random.default_rng(seed)
        for i in range(8):
            task = random_task(0, 4, SCHEMA)
            marked = task._replace(x=np.full_like(task.x, i))
            memory, _ = remember(memory, marked, SCHEMA, few, rng)
        counts[kept(memory)] += 1
    np.testing.assert_allclose(counts / 3000, 0.25, atol=0.04)


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 200), st.integers(4, 60), st.integers(0, 100))
def test_bounded_tasks_keep_both_labels_as_evenly_as_they_allow(size, limit, seed):
    task = random_task(seed, size, SCHEMA)
    one = bounded(task, SCHEMA, limit, np.random.default_rng(0))
    totals = np.bincount(task.y, minlength=2)
    np.testing.assert_array_equal(one.totals, totals)
    assert one.counts.sum() == len(one.x) == min(size, limit)
    assert (one.counts <= totals).all()
    if limit < size:
        assert (one.counts >= np.minimum(totals, limit // 2)).all()
    original = {tuple(row) for row in task.x[task.y == 1].tolist()}
    assert {tuple(row) for row in one.x[one.counts[0] :].tolist()} <= original


def test_draws_have_the_same_shape_whatever_was_seen():
    shapes = set()
    for tasks in (1, 3, 4, 9):
        drawn = drawn_from(filled("all", tasks), 0)
        shapes.add(tuple(leaf.shape for leaf in drawn))
        assert (drawn.totals.sum(1) > 0).sum() == min(tasks, 4)
    assert shapes == {((4, 16, 3), (4, 16, 1), (4, 2), (4, 2))}


def test_a_full_round_is_drawn_without_repetition_and_at_random():
    memory = filled("all", 9)
    draws = [drawn_from(memory, seed).x[:, 0, 0] for seed in range(50)]
    assert all(len(set(draw)) == 4 for draw in draws)
    assert set(np.concatenate(draws)) == set(range(9))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (MemorySettings(tasks_per_round=0), "tasks_per_round must be >= 1, got 0"),
        (MemorySettings(rows_per_task=2), "rows_per_task must be >= 4, got 2"),
        (
            MemorySettings(policy="recents"),
            "unknown memory policy 'recents'; did you mean 'recent'? Known: all, recent, reservoir",
        ),
    ],
)
def test_bad_settings_are_refused(settings, message):
    with pytest.raises(FFMLError) as caught:
        settings.validate()
    assert str(caught.value) == message


def test_wide_tables_take_as_much_memory_as_there_are_rows():
    schema = Schema(tuple(f"f{i}" for i in range(2000)), (SensitiveColumn("sex", ("M", "F")),))
    memory, shapes, many = Memory(), [], MemorySettings()
    for i in range(10):
        task, rng = random_task(i, 20 + i, schema), np.random.default_rng(i)
        memory, _ = remember(memory, task, schema, many, rng)
        shapes.append(drawn_from(memory, i, many, 2000).x.shape)
    assert shapes[0] == (2, 64, 2000)  # 1 MB, where all 32 × 1,024 places would take 262
    assert shapes[-1] == (32, 64, 2000)
    assert len(set(shapes)) == 3


def test_narrow_tables_have_one_shape():
    memory, shapes, many = Memory(), set(), MemorySettings()
    for i in range(10):
        task, rng = random_task(i, 20 + 100 * i, SCHEMA), np.random.default_rng(i)
        memory, _ = remember(memory, task, SCHEMA, many, rng)
        shapes.add(drawn_from(memory, i, many).x.shape)
    assert shapes == {(32, 1024, 3)}
