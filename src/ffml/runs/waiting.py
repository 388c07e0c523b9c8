"""Tasks that wait for labels, in a checkpoint: what never changes in a file, labels beside it."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ffml.base import FFMLError, Task
from ffml.online.judge import Decided
from ffml.online.waiting import Waiting
from ffml.store.container import Contents, Packed, pack, read

_LABELS = "waiting."  # what the names of a checkpoint's arrays of labels begin with


def pack_waiting(one: Waiting) -> Packed:
    """Return the file of a task: all but its labels, which may change."""
    task = one.task
    ids = None if task.ids is None else [str(name) for name in task.ids]
    document = {"kind": "waiting", "round": one.round, "name": task.name, "ids": ids}
    arrays = {"x": task.x, "groups": task.groups, **one.decided._asdict()}
    return pack(document, arrays)


def waiting_document(waiting: Sequence[Waiting], files: Sequence[str]) -> list[dict[str, Any]]:
    """Return what a checkpoint says of the tasks that wait."""
    return [
        {"file": file, "round": one.round, "learned": one.learned}
        for one, file in zip(waiting, files, strict=True)
    ]


def waiting_arrays(waiting: Sequence[Waiting]) -> dict[str, np.ndarray]:
    """Return the labels of the tasks that wait, by name."""
    return {f"{_LABELS}{one.round}": np.asarray(one.task.y) for one in waiting}


def waiting_files(document: Mapping[str, Any]) -> list[str]:
    """Name the files of a checkpoint's waiting tasks; runs of an earlier ffml have none."""
    return [entry["file"] for entry in document.get("waiting", ())]


def read_waiting(folder: Path, contents: Contents) -> tuple[Waiting, ...]:
    """Read the tasks that wait.

    Raises:
        FFMLError: a file is damaged. Decisions cannot be made again, so that it is not passed over.
    """
    found = []
    for entry in contents.document.get("waiting", ()):
        path = folder / entry["file"]
        document, arrays = read(path)
        if f"task-{document['sha256']}.safetensors" != path.name:
            raise FFMLError(f"{path} holds another task than its name says; restore a copy")
        ids = None if document["ids"] is None else np.array(document["ids"], object)
        labels = contents.arrays[f"{_LABELS}{entry['round']}"]
        task = Task(document["name"], arrays["x"], labels, arrays["groups"], ids=ids)
        decided = Decided(*(arrays[name] for name in Decided._fields))
        found.append(Waiting(entry["round"], task, decided, entry["learned"]))
    return tuple(found)
