"""Learn a run again, event by event, and compare the bytes that it ends with."""

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np

from ffml.base import FFMLError, Task
from ffml.online.loop import start
from ffml.runs._further import further_tasks
from ffml.runs._labels import add_labels
from ffml.runs._people import fingerprints
from ffml.runs._played import group_names
from ffml.runs._session import Session, first_inputs
from ffml.store import Decided, Event, Labels, Round, Store

if TYPE_CHECKING:
    from ffml.runs._run import Run

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
    tables = None if kept else _given(run, data)
    with TemporaryDirectory(prefix="ffml-") as folder:
        documents = {key: run.store.document(key) for key in _DOCUMENTS}
        with Store.create(Path(folder) / "run", documents) as store:
            session = _beginning(run, store)
            for event in events:
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
    if "decisions" in written:
        numbers = range(written["decisions"][0], sum(written["decisions"]))
        for people in _by_round(run, numbers, tables):
            if event.who == "decide":
                _decide(session, people)
            else:
                session.play(people.task(), event.who)
    elif "labels" in written:
        first, count = written["labels"]
        rows = {row.task: row.document for row in run.store.rounds()}
        most = {task: said["n_rows"] for task, said in rows.items() if "n_rows" in said}
        add_labels(session, _labels(run, range(first, first + count)), True, event.who, most)


def _by_round(run: "Run", numbers: range, tables: dict[str, Task] | None) -> "Iterator[_People]":
    """Return the people of an event, task by task."""
    wanted = run.store.rounds_between(numbers.start, numbers.stop - 1)
    rows = {row.round: row for row in run.store.rounds()}
    return (_People(run, rows[number], numbers, tables) for number in wanted)


def task_of(run: "Run", number: int) -> Task:
    """Return the people of a round as the task that they came as, from the features kept."""
    [row] = [row for row in run.store.rounds() if row.round == number]
    numbers = run.store.decisions(round=number, columns=("seq",))["seq"]
    return _People(run, row, range(int(numbers[0]), int(numbers[-1]) + 1), None).task()


class _People:
    """Those of one event and task, in the ledger's order and as they were known then."""

    def __init__(
        self, run: "Run", row: Round, numbers: range, tables: dict[str, Task] | None
    ) -> None:
        self.run = run
        columns = ("id", "cell", "content", "version", "probability", "decision", "unpriced")
        kept = run.store.decisions(round=row.round, columns=("seq", *columns, "first_label", "x"))
        some = (kept["seq"] >= numbers.start) & (kept["seq"] < numbers.stop)
        self.kept = {name: values[some] for name, values in kept.items()}
        self.name, missing = row.task, row.document.get("missing")
        self.missing = None if missing is None else np.array(missing)
        cells, self.schema = run.store.cells(), run.session().schema
        of = [cells[cell] for cell in self.kept["cell"].tolist()]
        self.groups = np.array(
            [[_code(c.groups, g.get(c.name)) for c in self.schema.sensitive] for g in of], np.int32
        )
        self.x = self._features(tables)

    def task(self) -> Task:
        """Return them as the task that they came as."""
        labels = self.kept["first_label"].astype(np.int32)
        return Task(self.name, self.x, labels, self.groups, self.missing, self.kept["id"])

    def _features(self, tables: dict[str, Task] | None) -> np.ndarray:
        if all(len(x) for x in self.kept["x"]):
            return np.stack(list(self.kept["x"]))
        return self._found(None if tables is None else tables.get(self.name))

    def _found(self, task: Task | None) -> np.ndarray:
        """Find the same people in the data."""
        missing = FFMLError(
            f"task {self.name!r} of the run is not in the data, or has changed; give all tables in "
            "one, or keep features from the start (--keep-features)"
        )
        if task is None:
            raise missing
        content = fingerprints(task, self.schema).rows
        wanted = list(self.kept["id"])
        if task.ids is None:  # the same content has the same features, whatever its label was then
            names, wanted = content.tolist(), self.kept["content"].tolist()
        else:
            names = [str(name) for name in task.ids]
        places = {name: place for place, name in enumerate(names)}
        if any(name not in places for name in wanted):
            raise missing
        order = np.array([places[name] for name in wanted])
        if (content[order] != self.kept["content"]).any():
            raise missing
        return task.x[order]


def _decide(session: Session, people: _People) -> None:
    """Write decisions that were made one by one, as they were."""
    kept, store = people.kept, session.store
    before = next((row for row in store.rounds() if row.task == people.name), None)
    decided = Decided(
        ids=list(kept["id"]),
        groups=group_names(people.schema, people.groups),
        version=int(kept["version"][0]),
        **{k: kept[k] for k in ("probability", "decision", "unpriced", "content")},
        label=kept["first_label"],
        x=people.x if before is None or before.status == "open" else None,
    )
    with store.transaction("decide", f"{len(kept['id'])} people of {people.name}") as ledger:
        number = before.round if before else ledger.put_round(people.name, "open", {})
        ledger.add_decisions(number, decided)


def _code(groups: tuple[str, ...], group: str | None) -> int:
    return groups.index(group) if group in groups else -1


def _labels(run: "Run", numbers: range) -> Labels:
    found = []
    for row in run.store.rounds():
        came = run.store.labels_of(row.round)
        some = zip(came["seq"].tolist(), came["id"], came["label"].tolist(), strict=True)
        found += [(seq, id, label, row.task) for seq, id, label in some if seq in numbers]
    _, ids, values, tasks = zip(*sorted(found), strict=True)
    return Labels(list(ids), np.array(values), list(tasks))
