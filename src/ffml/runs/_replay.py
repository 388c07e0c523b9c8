"""Learn a run again, event by event, and compare the bytes that it ends with."""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np

from ffml.base import FFMLError, Task
from ffml.online.loop import start
from ffml.runs._further import further_tasks
from ffml.runs._labels import add_labels
from ffml.runs._people import fingerprints, names_of
from ffml.runs._session import Session, first_inputs
from ffml.store import Event, Labels, Store

if TYPE_CHECKING:
    from ffml.runs._run import Run

_DOCUMENTS = ("config", "schema", "preprocessing", "judge_after", "keep_features")


def replay(run: "Run", data: Any = None) -> bool:
    """Play all rounds and labels of a ledger again; tell whether the state is the same.

    Features come from the ledger where it keeps them, else from the run's data; each task must be
    what was decided about. Decisions that were made one by one are taken as they are.
    """
    tables = None if run.store.document("keep_features") else _given(run, data)
    with TemporaryDirectory(prefix="ffml-") as folder:
        documents = {key: run.store.document(key) for key in _DOCUMENTS}
        with Store.create(Path(folder) / "run", documents) as store:
            session = _beginning(run, store)
            for event in run.store.events():
                _again(run, session, event, tables)
            ours, theirs = store.latest_version(), run.store.latest_version()
            if ours is None or theirs is None:
                raise FFMLError(f"{run.store.name} has learned nothing that could be replayed")
            return ours.state == theirs.state and [*ours.blobs] == [*theirs.blobs]


def _beginning(run: "Run", store: Store) -> Session:
    own = run.session()
    state = start(own.loop, *first_inputs(store.document("preprocessing")))
    return Session(store, own.config, own.loop, state)


def _given(run: "Run", data: Any) -> dict[str, Task]:
    return {task.name: task for task in further_tasks(run, data).tasks()}


def _again(run: "Run", session: Session, event: Event, tables: dict[str, Task] | None) -> None:
    """Do once more what an event did."""
    written = event.document
    if event.what.startswith("round") and "decisions" in written:
        done = len(session.store.rounds())  # others of the event were learned from only
        for number in sorted(int(one) for one in written["rounds"] if int(one) > done):
            session.play(_task(run, number, tables), event.who)
    elif "labels" in written:
        first, count = written["labels"]
        add_labels(session, _labels(run, range(first, first + count)), True, event.who)
    elif event.who == "decide":
        raise FFMLError(
            "people were decided about one by one; such a run is replayed up to its last task only"
        )


def _task(run: "Run", number: int, tables: dict[str, Task] | None) -> Task:
    """Return a task as it was, its rows in the ledger's order and with the labels of then."""
    row = next(one for one in run.store.rounds() if one.round == number)
    columns = ("id", "content", "first_label")
    kept = run.store.decisions(round=number, columns=columns)
    if tables is None:
        x = np.stack(list(run.store.decisions(round=number, columns=("x",))["x"])).astype(float)
        cells = run.store.decisions(round=number, columns=("cell",))["cell"]
        groups = _groups(run, cells)
        task = Task(row.task, x, kept["first_label"], groups, ids=kept["id"])
    else:
        task = _ordered(run, tables.get(row.task), kept, row.task)
    return task._replace(y=kept["first_label"].astype(np.int32))


def _ordered(run: "Run", task: Task | None, kept: dict[str, np.ndarray], name: str) -> Task:
    missing = FFMLError(
        f"task {name!r} of the run is not in the data, or has changed; give all tables in one, or "
        "keep features from the start (--keep-features)"
    )
    if task is None:
        raise missing
    prints = fingerprints(task, run.session().schema)
    if task.ids is None:  # the same content has the same name, whatever its label was then
        places = {n: i for i, n in enumerate(names_of(task._replace(y=task.y * 0), prints.rows))}
        wanted = names_of(task._replace(y=kept["first_label"] * 0), kept["content"])
    else:
        places = {str(n): i for i, n in enumerate(task.ids)}
        wanted = list(kept["id"])
    if any(n not in places for n in wanted):
        raise missing
    order = np.array([places[n] for n in wanted])
    if (prints.rows[order] != kept["content"]).any():
        raise missing
    return task._replace(
        x=task.x[order], y=task.y[order], groups=task.groups[order], ids=kept["id"]
    )


def _groups(run: "Run", cells: np.ndarray) -> np.ndarray:
    known, columns = run.store.cells(), run.session().schema.sensitive
    return np.array([[c.groups.index(known[cell][c.name]) for c in columns] for cell in cells])


def _labels(run: "Run", numbers: range) -> Labels:
    ids, values, tasks = [], [], []
    for row in run.store.rounds():
        came = run.store.labels_of(row.round)
        for seq, person, label in zip(came["seq"], came["id"], came["label"], strict=True):
            if seq in numbers:
                ids.append(person)
                values.append(int(label))
                tasks.append(row.task)
    return Labels(ids, np.array(values), tasks)
