"""A state comes back from its bytes to the last bit; bytes that do not fit are refused."""

import hashlib
from itertools import permutations, product

import jax
import numpy as np
import pytest
from conftest import random_task

from ffml.base import FFMLError, LabelledTask, Schema, SensitiveColumn
from ffml.features import FEATURES
from ffml.methods import METHODS
from ffml.online.drift import InputWatch
from ffml.online.judge import Decided
from ffml.online.memory import Memory
from ffml.online.state import LoopState
from ffml.online.trees import leaves_by_name, restored_tree
from ffml.online.waiting import Waiting
from ffml.recipe.build import build_for
from ffml.recipe.config import RunConfig
from ffml.recipe.recipes import Recipe
from ffml.runs._state import StateWriter, read_state
from ffml.store.container import DamagedFileError, pack, unpack
from ffml.tables import Preprocessor
from ffml.tables.scaling import RunningScaler
from ffml.wrappers import WRAPPERS

SCHEMA = Schema(("a", "b", "c"), (SensitiveColumn("sex", ("M", "F")),))
AROUND = [(), *((name,) for name in FEATURES | WRAPPERS), *product(FEATURES, WRAPPERS)]
AROUND += [*permutations(WRAPPERS, 2)]
WATCH = InputWatch.of(Preprocessor.fit({name: [1.0, 2.0] for name in SCHEMA.features}))
ARRAYS = {
    "scalar": np.float32(1.5),
    "empty": np.zeros((0, 3), np.float32),
    "flags": np.array([True, False]),
    "undefined": np.array([np.nan, np.inf, -0.0]),
    "columns": np.asfortranarray(np.arange(6, dtype=np.int32).reshape(2, 3)),
}


def exact(tree):
    """Return all arrays of a tree by name, to the last bit."""
    leaves = leaves_by_name(tree, "")
    return {name: (a.dtype.str, a.shape, a.tobytes()) for name, a in leaves.items()}


def start_of(method, around, seed=0):
    """Return what a loop with this method knows before its first round."""
    built = build_for(RunConfig("", recipe=Recipe(method, around), shots=5), SCHEMA)
    learner = jax.device_get(built.learner.init(jax.random.key(seed)))
    features = None if built.features is None else built.features.init()
    none, scaler = np.zeros(2), RunningScaler.empty(np.ones(3, bool))
    people = np.zeros((0, 3), np.float32)
    return LoopState(0, learner, features, scaler, WATCH, Memory(), (), none, none, people)


def waiting(number, learned=False):
    task = random_task(number, 9, SCHEMA)
    ids = np.array([f"id {i} ü" for i in range(9)], object)
    y = np.where(np.arange(9) % 3, task.y, -1)
    numbers = np.random.default_rng(number).normal(size=(2, 5)).astype(np.float32)
    decided = Decided(np.arange(0, 9, 2), numbers[0], numbers[1], numbers[0] > 0)
    return Waiting(number, task._replace(y=y, ids=ids), decided, learned)


def lived(start):
    """Fill a state as rounds would."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(7, 3)).astype(np.float32)
    tasks = tuple(
        LabelledTask(x + i, np.ones(7, np.int32), np.ones((7, 1), np.int32), np.ones(7, bool))
        for i in range(2)
    )
    task = random_task(5, 50, SCHEMA)
    return start._replace(
        round=7,
        scaler=start.scaler.update(task.x),
        watch=start.watch.update(task),
        memory=Memory(tasks, 5),
        waiting=(waiting(6, learned=True), waiting(7)),
        violation=rng.normal(size=2),
        clipped_violation=rng.random(2),
        recent=x,
    )


def plain(state):
    """Return a state without what is no array."""
    told = [(one.round, one.task.name, list(one.task.ids), one.learned) for one in state.waiting]
    bare = [one._replace(task=one.task._replace(name=0, ids=0)) for one in state.waiting]
    arrays = state._replace(waiting=bare, watch=state.watch._replace(columns=()))
    return told, state.watch.columns, exact(arrays)


@pytest.mark.parametrize("method", METHODS)
def test_the_state_of_every_method_in_every_pair_comes_back(method):
    for around in AROUND:
        try:
            state, other = lived(start_of(method, around)), start_of(method, around, seed=1)
        except FFMLError:
            assert "corrected" in around  # of a method that prices nothing
            continue
        saved = StateWriter().write(state)
        again = read_state(other, saved.data, saved.new)
        assert plain(again) == plain(state)
        assert jax.tree.structure(again.learner) == jax.tree.structure(state.learner)
        assert StateWriter().write(again) == saved


def test_parts_are_written_once_and_named_by_their_content():
    writer, state = StateWriter(), lived(start_of("ffml", ()))
    first = writer.write(state)
    assert set(first.parts) == set(first.new) and len(first.parts) == 4
    assert all(hashlib.sha256(data).hexdigest() == name for name, data in first.new.items())
    one = state.waiting[1]
    labelled = one._replace(task=one.task._replace(y=np.ones(9, np.int32)))  # labels have come
    after = state._replace(waiting=(labelled,), memory=Memory(state.memory.tasks[1:], 6))
    second = writer.write(after)
    assert second.new == {} and set(second.parts) < set(first.parts)
    parts = {name: first.new[name] for name in second.parts}
    assert plain(read_state(start_of("ffml", ()), second.data, parts)) == plain(after)


def test_a_state_of_another_loop_is_refused():
    saved = StateWriter().write(lived(start_of("ffml", ())))
    with pytest.raises(FFMLError, match="unlike that of this method; use the settings"):
        read_state(start_of("ffml", ("corrected",)), saved.data, saved.new)
    with pytest.raises(FFMLError, match="scaled in another way"):
        read_state(start_of("ffml", ())._replace(scaler=None), saved.data, saved.new)
    columns = Preprocessor.fit({"a": [1.0, 2.0]})
    with pytest.raises(FFMLError, match="other input columns"):
        other = start_of("ffml", ())._replace(watch=InputWatch.of(columns))
        read_state(other, saved.data, saved.new)


@pytest.mark.parametrize(
    ("like", "message"),
    [
        ({}, r"the saved state has state\['w'\], unlike that of this method; use the settings"),
        ({"w": np.zeros(3, np.float32), "v": np.zeros(1)}, r"the saved state lacks state\['v'\]"),
        ({"w": np.zeros(4, np.float32)}, r"is float32\[3\], but this method has float32\[4\]"),
        ({"w": np.zeros(3)}, r"is float32\[3\], but this method has float64\[3\]"),
        ({"w": "text"}, r"holds numbers only, and state\['w'\]"),
    ],
)
def test_a_tree_of_another_kind_is_refused(like, message):
    saved = leaves_by_name({"w": np.zeros(3, np.float32)}, "state")
    with pytest.raises(FFMLError, match=message):
        restored_tree(like, "state", saved)


def test_a_state_that_is_one_array_comes_back():
    named = leaves_by_name(np.arange(3.0), "state")
    assert restored_tree(np.zeros(3), "state", named).tolist() == [0.0, 1.0, 2.0]


def test_bytes_give_back_what_was_put_in():
    document, arrays = unpack(pack({"words": "größer \ud800", "none": None}, ARRAYS).data)
    assert document["words"] == "größer \ud800" and document["none"] is None
    assert exact(arrays) == exact({name: np.asarray(array) for name, array in ARRAYS.items()})
    assert pack(document, arrays) == pack(document, dict(reversed(arrays.items())))


def test_every_flipped_byte_and_every_cut_is_seen():
    data = pack({"kind": "example"}, {"x": np.arange(5.0)}).data
    assert unpack(data)
    for i in range(len(data)):
        for flipped in (data[i] ^ 1, data[i] ^ 0x80):
            with pytest.raises(DamagedFileError):
                unpack(data[:i] + bytes([flipped]) + data[i + 1 :])
        with pytest.raises(DamagedFileError):
            unpack(data[:i])
    with pytest.raises(DamagedFileError):
        unpack(data + b"\0")
