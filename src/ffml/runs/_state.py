"""A loop's state as bytes, and back.

Tasks in memory and tasks that wait for labels never change once kept. Each is a part of its own,
named by its checksum, so that a version of the state stays small.
"""

import hashlib
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from ffml.base import FFMLError, LabelledTask, Task
from ffml.online.arrays import scaler_arrays, scaler_from, watch_arrays, watch_from
from ffml.online.judge import Decided
from ffml.online.memory import Memory
from ffml.online.state import LoopState
from ffml.online.trees import leaves_by_name, restored_tree
from ffml.online.waiting import Waiting
from ffml.store.container import Packed, pack, unpack

LEARNER, FEATURES = "learner", "features"
_LABELS = "labels."


class SavedState(NamedTuple):
    """The bytes of a state, the parts that it refers to, and those of them that are new."""

    data: bytes
    parts: tuple[str, ...]
    new: dict[str, bytes]


class StateWriter:
    """Turns states into bytes; remembers which parts it has written before."""

    def __init__(self) -> None:
        self._names: dict[int, tuple[Any, str]] = {}  # by identity; the object is kept alive

    def write(self, state: LoopState) -> SavedState:
        """Return a state as bytes."""
        before, self._names = self._names, {}
        new: dict[str, bytes] = {}

        def name_of(value: Any, of: Any, packed: Callable[[Any], Packed]) -> str:
            known = before.get(id(of)) or self._names.get(id(of))
            if known is None:
                data = packed(value).data
                known = (of, hashlib.sha256(data).hexdigest())
                new[known[1]] = data
            self._names[id(of)] = known
            return known[1]

        tasks = [name_of(task, task, _pack_task) for task in state.memory.tasks]
        waiting: list[dict[str, Any]] = [
            {"part": name_of(one, one.task.x, _pack_waiting)}
            | {"round": one.round, "name": one.task.name, "learned": one.learned}
            for one in state.waiting
        ]
        document = {
            "kind": "state",
            "round": state.round,
            "memory": {"seen": state.memory.seen, "tasks": tasks},
            "waiting": waiting,
        }
        parts = tuple(dict.fromkeys([*tasks, *(one["part"] for one in waiting)]))
        return SavedState(pack(document, state_arrays(state)).data, parts, new)


def state_arrays(state: LoopState) -> dict[str, np.ndarray]:
    """Name all arrays of a state but those of its parts."""
    return {
        "violation": state.violation,
        "clipped_violation": state.clipped_violation,
        "recent": state.recent,
        **leaves_by_name(state.learner, LEARNER),
        **leaves_by_name(state.features, FEATURES),
        **scaler_arrays(state.scaler),
        **watch_arrays(state.watch),
        **{f"{_LABELS}{one.round}": np.asarray(one.task.y) for one in state.waiting},
    }


def read_state(start: LoopState, data: bytes, parts: Mapping[str, bytes]) -> LoopState:
    """Read a state back.

    Args:
        start: the state that the same loop begins with; it says which arrays there are.
        data: of `SavedState`.
        parts: the bytes of its parts by name.

    Raises:
        FFMLError: it is damaged, or belongs to a loop that was built in another way.
    """
    document, arrays = unpack(data, "the saved state")
    scaler = scaler_from(arrays)
    if (scaler is None) != (start.scaler is None):
        raise FFMLError("the saved state has features scaled in another way; use the ffml of then")
    return start._replace(
        round=document["round"],
        learner=restored_tree(start.learner, LEARNER, arrays),
        features=restored_tree(start.features, FEATURES, arrays),
        scaler=scaler,
        watch=watch_from(start.watch, arrays),
        memory=Memory(
            tuple(
                LabelledTask(**unpack(parts[name], "a task in memory").arrays)
                for name in document["memory"]["tasks"]
            ),
            document["memory"]["seen"],
        ),
        waiting=tuple(
            _read_waiting(one, parts[one["part"]], arrays[f"{_LABELS}{one['round']}"])
            for one in document["waiting"]
        ),
        violation=arrays["violation"],
        clipped_violation=arrays["clipped_violation"],
        recent=arrays["recent"],
    )


def _pack_task(task: LabelledTask) -> Packed:
    return pack({"kind": "task"}, task._asdict())


def _pack_waiting(one: Waiting) -> Packed:
    """Pack all of a waiting task but its labels, which change."""
    ids = None if one.task.ids is None else [str(name) for name in one.task.ids]
    arrays = {"x": one.task.x, "groups": one.task.groups, **one.decided._asdict()}
    return pack({"kind": "waiting", "ids": ids}, arrays)


def _read_waiting(entry: Mapping[str, Any], data: bytes, labels: np.ndarray) -> Waiting:
    document, arrays = unpack(data, "a waiting task")
    ids = None if document["ids"] is None else np.array(document["ids"], object)
    task = Task(entry["name"], arrays["x"], labels, arrays["groups"], ids=ids)
    decided = Decided(*(arrays[name] for name in Decided._fields))
    return Waiting(entry["round"], task, decided, entry["learned"])
