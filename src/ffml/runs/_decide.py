"""Decisions about people as they come: by what was learned so far, and kept in the ledger."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ffml.base import FFMLError, Schema, Task
from ffml.runs._again import refuse_disorder
from ffml.runs._answer import keep_alarms
from ffml.runs._people import fingerprints, names_of
from ffml.runs._played import group_names
from ffml.scoring import Scorer, prepare
from ffml.store import Decided, Round, Store, Transaction, request_hash
from ffml.tables import Source, located, open_data, person_columns

if TYPE_CHECKING:
    import pandas as pd

    from ffml.runs._run import Run


MOST_ASKED = 5000  # people that a query names; of more, the whole task is read


class Arrivals(NamedTuple):
    """People to be decided about, as a table has them."""

    x: np.ndarray  # (n, features) encoded
    groups: np.ndarray  # (n, columns) codes, −1 where not known
    ids: np.ndarray | None
    tasks: list[str | None]


class Batch(NamedTuple):
    """Those of one task, with their names and hashes."""

    task: Task
    rows: np.ndarray  # their places in the table
    names: list[str]
    contents: np.ndarray


Said = tuple[float, int, int, int]  # probability, decision, version, number in the ledger


def decide_people(
    run: "Run",
    people: Any,
    *,
    task: str | None,
    record: bool,
    query: str | None,
    support: Any,
    together: bool,
    key: str | None,
) -> "pd.DataFrame":
    """Decide about people; see `ffml.Run.decide`."""
    source = open_data(people, query)
    if key is not None and not record:
        raise FFMLError("a key is for decisions that are recorded; leave out one of the two")
    scorer = run.scorer()
    arrivals = read_people(
        source, run.config["data"], scorer.model.schema, scorer.preprocessor, task
    )
    if not len(arrivals.x):
        raise FFMLError(f"{source.name} has no rows to decide about")
    if support is not None or together:
        scorer = prepare(scorer.model, people if together else None, support)
    if record:
        return _recorded(run, scorer, arrivals, key)
    batches = _batches(arrivals, scorer.model.schema, run.store)
    said = [_decided(scorer, one, np.arange(len(one.names)), keep=False) for one in batches]
    rows = [
        (one, _told(people, range(len(one.names))))
        for one, people in zip(batches, said, strict=True)
    ]
    return _frame(rows).drop(columns="number")


def read_people(
    source: Source, data: Mapping[str, Any], schema: Schema, preprocessor: Any, task: str | None
) -> Arrivals:
    """Encode a table of people; groups, ids and tasks are read as far as it has them."""
    if missing := [name for name in preprocessor.names if name not in source.columns]:
        raise FFMLError(
            f"{source.name} has no column {preprocessor.needed(missing[0], 'the model needs')}"
        )
    columns = person_columns(source, data.get("roles") or {}, schema)
    xs, groups, ids = [], [], []
    tasks: list[str | None] = []
    for batch in source.batches(list(dict.fromkeys([*preprocessor.names, *columns.names]))):
        with located(source):
            xs.append(preprocessor.transform(batch.select(list(preprocessor.names))))
        found = columns.read(batch)
        groups.append(found.groups)
        ids += [] if found.ids is None else [found.ids]
        tasks += [task] * len(batch) if task else found.tasks
    x = np.concatenate([np.zeros((0, preprocessor.width)), *xs])
    codes = np.concatenate([np.zeros((0, len(schema.sensitive)), np.int32), *groups])
    known = np.concatenate(ids) if ids else None
    return Arrivals(x, codes, known, tasks)


def _batches(arrivals: Arrivals, schema: Schema, store: Store) -> list[Batch]:
    """Put people by task; those without one come after the tasks that were learned from."""
    tasks = arrivals.tasks
    if None in tasks:
        after = f"after round {store.tasks_done()}"
        tasks = [name or after for name in tasks]
    places: dict[str, list[int]] = {}
    for place, name in enumerate(tasks):
        places.setdefault(str(name), []).append(place)
    return [_batch(name, arrivals, np.array(rows), schema) for name, rows in places.items()]


def _batch(name: str, arrivals: Arrivals, rows: np.ndarray, schema: Schema) -> Batch:
    ids = None if arrivals.ids is None else arrivals.ids[rows]
    unknown = np.full(len(rows), -1)
    task = Task(name, arrivals.x[rows], unknown, arrivals.groups[rows], ids=ids)
    contents = fingerprints(task, schema).rows
    return Batch(task, rows, names_of(task, contents), contents)


def _recorded(run: "Run", scorer: Scorer, arrivals: Arrivals, key: str | None) -> "pd.DataFrame":
    """Decide about those who are new to their task, and write it; others keep their decision.

    Who is new is found within the transaction, and so is whether a request came before: of two who
    decide about one person at the same time, the second returns what the first has written.
    """
    store = run.store
    with store.transaction("decide", "people") as ledger:
        batches = _batches(arrivals, scorer.model.schema, store)
        asked = "" if key is None else _asked(arrivals)
        if key is not None and (numbers := ledger.request(key, asked)) is not None:
            return _frame_again(store, numbers)
        ledger.what = f"people of {', '.join(one.task.name for one in batches)}"
        rows = [(one, _answered(store, ledger, scorer, one)) for one in batches]
        frame = _frame(rows)
        if key is not None:
            ledger.put_request(key, asked, frame["number"].tolist())
    return frame


def _asked(arrivals: Arrivals) -> str:
    """Hash what is asked under a key: everybody's task, id and features, not the moment."""
    ids = None if arrivals.ids is None else [str(one) for one in arrivals.ids]
    return request_hash(arrivals.tasks, ids, arrivals.x, arrivals.groups)


def _answered(store: Store, ledger: Transaction, scorer: Scorer, batch: Batch) -> dict[str, Said]:
    """Return everybody's decision, and write those that are new."""
    name = batch.task.name
    before = store.round_of(name)
    if before is None:
        refuse_disorder(name, store.tasks())
    known = _known(store, before, batch) if before else {}
    new = np.array([i for i, one in enumerate(batch.names) if one not in known], int)
    if not len(new):
        return known
    if before is not None and before.status != "open":
        keep_alarms(store, ledger)  # the counts of a task long judged are about to change
    number = ledger.put_round(name, "open", {}) if before is None else before.round
    keep = before is None or before.status == "open"  # it is to be learned from
    people = _decided(scorer, batch, new, keep)
    return known | _told(people, ledger.add_decisions(number, people))


def _decided(scorer: Scorer, batch: Batch, rows: np.ndarray, keep: bool) -> Decided:
    """Decide about some people of a task; ``keep`` their features."""
    task = batch.task
    said = scorer.decide(task.x[rows])
    return Decided(
        ids=[batch.names[i] for i in rows],
        groups=group_names(scorer.model.schema, task.groups[rows]),
        version=scorer.model.version,
        probability=said.probability.astype(float),
        decision=said.decision.astype(int),
        unpriced=said.unpriced.astype(int),
        label=np.full(len(rows), -1),
        content=batch.contents[rows],
        x=task.x[rows] if keep else None,
    )


def _told(people: Decided, numbers: range) -> dict[str, Said]:
    probability, decision = people.probability.tolist(), people.decision.tolist()
    versions = [people.version] * len(people.ids)
    said = zip(probability, decision, versions, numbers, strict=True)
    return dict(zip(people.ids, said, strict=True))


def _known(store: Store, before: Round, batch: Batch) -> dict[str, Said]:
    """Return the decisions about people who came before; refuse one who has changed since."""
    columns = ("id", "content", "probability", "decision", "version", "seq")
    few = batch.names if len(batch.names) <= MOST_ASKED else None
    kept = store.decisions(round=before.round, ids=few, columns=columns)
    content = dict(zip(batch.names, batch.contents.tolist(), strict=True))
    known: dict[str, Said] = {}
    for name, was, *said in zip(*(kept[column].tolist() for column in columns), strict=True):
        if name not in content:
            continue
        if said[1] < 0:
            raise FFMLError(
                f"id {name!r} is one of the labelled rows that task {before.task!r} was adapted "
                "to; give another task"
            )
        if content[name] != was:
            raise FFMLError(
                f"id {name!r} was decided about in task {before.task!r} with other features; give "
                "a new id, or another task"
            )
        known[name] = tuple(said)  # type: ignore[assignment]
    return known


def _frame(answers: "list[tuple[Batch, dict[str, Said]]]") -> "pd.DataFrame":
    """Return a row a person, in the order of the table."""
    rows = [
        (place, name, batch.task.name, *said[name])
        for batch, said in answers
        for place, name in zip(batch.rows.tolist(), batch.names, strict=True)
    ]
    return _table([row[1:] for row in sorted(rows)])


def _frame_again(store: Store, numbers: list[int]) -> "pd.DataFrame":
    """Return decisions as they were made, in the order of the request."""
    columns = ("seq", "id", "task", "probability", "decision", "version")
    kept = store.decisions(numbers=numbers, columns=columns)
    rows = {
        seq: (*row, seq) for seq, *row in zip(*(kept[c].tolist() for c in columns), strict=True)
    }
    return _table([rows[number] for number in numbers])


def _table(rows: list[Any]) -> "pd.DataFrame":
    import pandas as pd

    names = ("id", "task", "probability", "decision", "version", "number")
    kinds = (object, object, np.float32, np.int64, np.int64, np.int64)
    columns = zip(*rows, strict=True)
    arrays = (np.array(part, kind) for part, kind in zip(columns, kinds, strict=True))
    return pd.DataFrame(dict(zip(names, arrays, strict=True)))
