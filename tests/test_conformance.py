"""What every entry of every registry must do."""

import jax
import numpy as np
import pytest
from conftest import random_task

from ffml.base import Stream
from ffml.constraints import CONSTRAINTS, demographic_parity
from ffml.datasets import DATASETS, load
from ffml.experiment import method_defaults
from ffml.memory import MemorySettings
from ffml.methods import METHODS
from ffml.models import MODELS, linear
from ffml.online import OnlineLoop
from ffml.problem import fair_classification

MEMORY = MemorySettings(tasks_per_round=4, rows_per_task=64)
QUICK = {"num_inner_steps": 1, "num_outer_steps": 3, "num_steps": 3, "shots": 10, "max_iter": 5}


def make_loop(method, schema, constraint=None, model=None, memory=MEMORY, seed=0, wrap=None):
    problem = fair_classification(schema, model or linear(), constraint or demographic_parity(0.02))
    takes = method_defaults(method)
    learner = METHODS[method](problem, **{k: v for k, v in QUICK.items() if k in takes})
    learner = wrap(learner) if wrap else learner
    return OnlineLoop(problem, learner, schema, seed=seed, shots=10, memory_settings=memory)


def same(one, other):
    """Compare all that rounds and states hold, to the last bit, but for the time they took."""
    for a, b in zip(one, other, strict=True):
        left, right = (
            {k: v for k, v in vars(r).items() if k != "seconds"} if hasattr(r, "task") else r
            for r in (a, b)
        )
        jax.tree.map(np.testing.assert_array_equal, left, right)


@pytest.mark.parametrize("method", METHODS)
class TestEveryMethod:
    def test_same_seed_gives_the_same_bytes_and_another_does_not(self, method, make_stream):
        runs = []
        for seed in (0, 0, 1):
            loop = make_loop(method, make_stream().schema, seed=seed)
            runs.append([*(loop.step(t) for t in make_stream().tasks()), loop.state])
        same(runs[0], runs[1])
        assert any(
            a.metrics["loss"] != b.metrics["loss"]
            for a, b in zip(runs[0][:-1], runs[2][:-1], strict=True)
        )

    def test_multipliers_are_never_negative_and_numbers_finite(self, method, make_stream):
        loop = make_loop(method, make_stream().schema)
        for task in make_stream().tasks():
            record = loop.step(task)
            assert (record.multipliers >= 0).all()
            assert np.isfinite(record.metrics["loss"])
            assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(loop.state))

    def test_later_rounds_never_recompile(self, method, make_stream):
        loop = make_loop(method, make_stream().schema)
        if not loop.learner.pure:
            pytest.skip("not compiled")
        for task in make_stream((60, 1, 200, 7, 500, 31)).tasks():
            loop.step(task)
        assert loop._adapt._cache_size() == 1
        assert loop._update._cache_size() == 1

    def test_compiled_equals_uncompiled(self, method, make_stream):
        stream = make_stream((30, 20))
        if not make_loop(method, stream.schema).learner.pure:
            pytest.skip("never compiled")
        runs = []
        for pure in (True, False):
            loop = make_loop(
                method, stream.schema, wrap=lambda learner, pure=pure: learner._replace(pure=pure)
            )
            runs.append([loop.step(task) for task in stream.tasks()])
        for a, b in zip(*runs, strict=True):
            assert a.metrics["loss"] == pytest.approx(b.metrics["loss"], rel=1e-4)
            np.testing.assert_allclose(a.multipliers, b.multipliers, rtol=1e-3, atol=1e-5)

    def test_empty_slots_in_memory_change_nothing(self, method, make_stream):
        tasks = list(make_stream((40, 30, 50)).tasks())
        runs = []
        for slots in (4, 8):
            memory = MemorySettings(tasks_per_round=slots, rows_per_task=64)
            loop = make_loop(method, make_stream().schema, memory=memory)
            # The keys of a task's draws depend on the number of slots: compare without chance,
            # on tasks whose rows are all alike.
            alike = [t._replace(x=np.ones_like(t.x), groups=t.groups * 0) for t in tasks]
            runs.append([loop.step(t) for t in alike])
        for a, b in zip(*runs, strict=True):
            assert a.metrics["loss"] == pytest.approx(b.metrics["loss"], rel=1e-5)

    def test_validation_labels_and_later_tasks_never_reach_a_decision(self, method, make_stream):
        """Scramble them: the logits of the round must not change."""
        tasks = list(make_stream((60, 80, 120)).tasks())

        def logits_of_round_two(scramble):
            seen = []

            def recording(learner):
                def predict(params, x):
                    seen.append(np.asarray(learner.predict(params, x)))
                    return seen[-1]

                return learner._replace(predict=predict)

            loop = make_loop(method, make_stream().schema, wrap=recording)
            played = list(tasks)
            if scramble:
                rows = _validation_rows(loop, 2, tasks[1])
                labels = tasks[1].y.copy()
                labels[rows] = 1 - labels[rows]
                groups = tasks[1].groups.copy()
                groups[rows] = 1 - groups[rows]
                played[1] = tasks[1]._replace(y=labels, groups=groups)
                played[2] = random_task(99, 50, make_stream().schema)
            for task in played:
                loop.step(task)
            return seen[1]

        np.testing.assert_array_equal(logits_of_round_two(False), logits_of_round_two(True))


def _validation_rows(loop, round_number, task):
    from ffml.evaluation import split_rows
    from ffml.online import SPLIT

    rng = np.random.default_rng([loop.seed, round_number, SPLIT])
    return split_rows(len(task.y), loop.validation_fraction, rng).validation


@pytest.mark.parametrize("name", CONSTRAINTS)
def test_every_constraint_runs_with_several_columns_and_groups(name):
    from ffml.base import Schema, SensitiveColumn

    schema = Schema(
        ("a", "b", "c"),
        (SensitiveColumn("sex", ("M", "F")), SensitiveColumn("race", ("w", "b", "o"))),
    )
    loop = make_loop("ffml", schema, constraint=CONSTRAINTS[name](0.02))
    records = [loop.step(random_task(i, 80, schema)) for i in range(3)]
    entries = (2 if name == "equalized-odds" else 1) * 4
    assert records[-1].multipliers.shape == records[-1].constraint.shape == (entries,)
    assert set(records[-1].tables) == {"sex", "race"}


@pytest.mark.parametrize("name", MODELS)
def test_every_model_predicts_alike_with_numpy_and_jax(name):
    model = MODELS[name]()
    params = jax.tree.map(lambda p: p + 0.1, model.init(jax.random.key(0), 7))
    x = np.random.default_rng(0).normal(size=(20, 7)).astype(np.float32)
    plain = model.apply(jax.device_get(params), x)
    assert type(plain) is np.ndarray and plain.shape == (20,)
    np.testing.assert_allclose(plain, jax.jit(model.apply)(params, x), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", [name for name, d in DATASETS.items() if d.shipped])
def test_every_shipped_data_set_can_be_played(name):
    stream = load(name, seed=3)
    loop = make_loop("ffml", stream.schema)
    tasks = stream.tasks()
    records = [loop.step(next(tasks)) for _ in range(2)]
    assert all(np.isfinite(r.metrics["loss"]) for r in records)
    assert isinstance(stream, Stream) and stream.num_tasks == DATASETS[name].num_tasks


def test_violations_add_up(make_stream):
    loop = make_loop("ffml", make_stream().schema)
    records = [loop.step(task) for task in make_stream((60, 1, 200, 7)).tasks()]
    values = np.nan_to_num([r.constraint[0] for r in records])
    np.testing.assert_allclose([r.violation[0] for r in records], np.cumsum(values))
    np.testing.assert_allclose(
        [r.clipped_violation[0] for r in records], np.cumsum(np.maximum(values, 0))
    )
    assert np.isnan(records[1].constraint[0])  # one row cannot compare groups
    assert records[1].undefined["dp"]
