"""Learn a run again, event by event, and compare the bytes that it ends with."""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np

from ffml.base import FFMLError, Schema, Task
from ffml.online.loop import start
from ffml.runs._further import further_tasks
from ffml.runs._labels import add_labels
from ffml.runs._people import fingerprints
from ffml.runs._played import group_codes, group_names
from ffml.runs._session import Session, first_inputs
from ffml.store import Decided, Event, Labels, Round, Store

if TYPE_CHECKING:
    from ffml.runs._run import Run

_COLUMNS = (
    *("round", "id", "cell", "content", "version", "probability", "decision", "unpriced"),
    *("first_label", "x"),
)
_DOCUMENTS = ("config", "schema", "preprocessing", "judge_after", "keep_features")


def replay(run: "Run", data: Any = None) -> bool:
    """Play all rounds and labels of a ledger again; tell whether the state is the same.

    Features come from the ledger where it keeps them, else from the run's data; each task must be
    what was decided about. Decisions that were made one by one are taken as they are.
    """
    events = list(run.store.events())
    if any(event.document.get("forgotten") for event in events):
        raise FFMLError(
            "people were forgotten; what was learned from them cannot be learned again without them"
        )
    kept = run.store.document("keep_features") and "roles" in run.config["data"]
    tables = None if kept else {task.name: task for task in further_tasks(run, data).tasks()}
    with TemporaryDirectory(prefix="ffml-") as folder:
        documents = {key: run.store.document(key) for key in _DOCUMENTS}
        with Store.create(Path(folder) / "run", documents) as store:
            own, rounds = run.session(), {row.round: row for row in run.store.rounds()}
            state = start(own.loop, *first_inputs(documents["preprocessing"]))
            session = Session(store, own.config, own.loop, state)
            for event in events:
                _again(run, session, event, rounds, tables)
            ours, theirs = store.version(), run.store.version()
            if ours is None or theirs is None:
                raise FFMLError(f"{run.store.name} has learned nothing that could be replayed")
            return ours.state == theirs.state and [*ours.blobs] == [*theirs.blobs]


def _again(
    run: "Run",
    session: Session,
    event: Event,
    rounds: dict[int, Round],
    tables: dict[str, Task] | None,
) -> None:
    """Do once more what an event did."""
    written, who = event.document, event.who
    if "decisions" in written:
        first, count = written["decisions"]
        kept = run.store.decisions(columns=_COLUMNS, numbers=range(first, first + count))
        for number in np.unique(kept["round"]).tolist():
            some = kept["round"] == number
            own = {name: values[some] for name, values in kept.items()}
            task = _task(run, rounds[number], own, tables)
            if who == "decide":
                _decide(session, task, own)
            else:
                session.play(task, who)
    elif "labels" in written:
        first, count = written["labels"]
        rows = run.store.labels_between(first, first + count - 1)
        _, tasks, ids, values, _ = zip(*rows, strict=True)
        labels = Labels(ids, np.array(values), tasks)
        most = {r.task: r.document["n_rows"] for r in rounds.values() if "n_rows" in r.document}
        add_labels(session, labels, True, who, most)


def task_of(run: "Run", number: int) -> Task:
    """Return the people of a round as the task that they came as, from the features kept."""
    [row] = [row for row in run.store.rounds() if row.round == number]
    return _task(run, row, run.store.decisions(round=number, columns=_COLUMNS), None)


def _task(
    run: "Run", row: Round, kept: dict[str, np.ndarray], tables: dict[str, Task] | None
) -> Task:
    """Return people as the task that they came as: in the ledger's order, as known then."""
    missing = row.document.get("missing")
    schema = run.session().schema
    x = kept["x"]
    if not all(len(features) for features in x):
        x = _features(row.task, kept, None if tables is None else tables.get(row.task), schema)
    return Task(
        row.task,
        np.stack(list(x)),
        kept["first_label"].astype(np.int32),
        group_codes(schema, run.store.cells(), kept["cell"]),
        None if missing is None else np.array(missing),
        kept["id"],
    )


def _features(
    name: str, kept: dict[str, np.ndarray], task: Task | None, schema: Schema
) -> np.ndarray:
    """Find the features of people in the data."""
    changed = FFMLError(
        f"task {name!r} of the run is not in the data, or has changed; give all tables in one, or "
        "keep features from the start (--keep-features)"
    )
    if task is None:
        raise changed
    content = fingerprints(task, schema).rows
    if task.ids is None:  # the same content has the same features, whatever its label was then
        names, wanted = content.tolist(), kept["content"].tolist()
    else:
        names, wanted = [str(one) for one in task.ids], kept["id"].tolist()
    places = {one: place for place, one in enumerate(names)}
    if any(one not in places for one in wanted):
        raise changed
    order = np.array([places[one] for one in wanted])
    if (content[order] != kept["content"]).any():
        raise changed
    return task.x[order]


def _decide(session: Session, task: Task, kept: dict[str, np.ndarray]) -> None:
    """Write decisions that were made one by one, as they were."""
    before = session.store.round_of(task.name)
    decided = Decided(
        ids=kept["id"].tolist(),
        groups=group_names(session.schema, task.groups),
        version=int(kept["version"][0]),
        **{name: kept[name] for name in ("probability", "decision", "unpriced", "content")},
        label=kept["first_label"],
        x=task.x if before is None or before.status == "open" else None,
    )
    with session.store.transaction("decide", f"{len(task.y)} people of {task.name}") as ledger:
        number = before.round if before else ledger.put_round(task.name, "open", {})
        ledger.add_decisions(number, decided)
