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
from ffml.scoring.model import preprocessor_of
from ffml.store import Decided, Round, Store
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


def decide_people(
    run: "Run",
    people: Any,
    task: str | None,
    record: bool,
    query: str | None,
    support: Any,
    together: bool,
) -> "pd.DataFrame":
    """Decide about people; see `ffml.Run.decide`."""
    import pandas as pd

    source = open_data(people, query)
    model = run.model()
    standing = support is None and not together
    scorer = run.scorer() if standing else prepare(model, people if together else None, support)
    arrivals = read_people(source, run.config["data"], model.schema, preprocessor_of(model), task)
    names = [one or _next_task(run.store) for one in arrivals.tasks]
    parts = []
    for name in dict.fromkeys(names):
        rows = np.array([i for i, one in enumerate(names) if one == name])
        batch = _task(name, arrivals, rows)
        found = _recorded(run, scorer, batch) if record else _said(scorer, batch, model.schema)
        parts.append(pd.DataFrame(found, index=rows))
    if not parts:
        raise FFMLError(f"{source.name} has no rows to decide about")
    return pd.concat(parts).sort_index()


def read_people(
    source: Source, data: Mapping[str, Any], schema: Schema, preprocessor: Any, task: str | None
) -> Arrivals:
    """Encode a table of people; groups, ids and tasks are read as far as it has them."""
    if missing := [name for name in preprocessor.names if name not in source.columns]:
        raise FFMLError(f"{source.name} has no column {missing[0]!r}, which the model needs")
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
    x = np.concatenate([np.zeros((0, len(preprocessor.features))), *xs])
    codes = np.concatenate([np.zeros((0, len(schema.sensitive)), np.int32), *groups])
    known = np.concatenate(ids) if ids else None
    return Arrivals(x, codes, known, tasks)


def _task(name: str, arrivals: Arrivals, rows: np.ndarray) -> Task:
    ids = None if arrivals.ids is None else arrivals.ids[rows]
    unknown = np.full(len(rows), -1)
    return Task(name, arrivals.x[rows], unknown, arrivals.groups[rows], ids=ids)


def _said(scorer: Scorer, task: Task, schema: Schema) -> dict[str, Any]:
    """Decide, and write nothing."""
    names = names_of(task, fingerprints(task, schema).rows)
    said = scorer.decide(task.x)
    return _columns(names, task.name, said.probability, said.decision)


def _recorded(run: "Run", scorer: Scorer, task: Task) -> dict[str, Any]:
    """Decide about those who are new to the task, and write it; others keep their decision.

    Who is new is found within the transaction: of two who decide about one person at the same
    time, the second returns what the first has written.
    """
    prints = fingerprints(task, scorer.model.schema)
    names = names_of(task, prints.rows)
    if (known_before := run.store.round_of(task.name)) and known_before.status != "open":
        keep_alarms(run.store)  # the counts of a task long judged are about to change
    with run.store.transaction("decide", f"people of {task.name}") as ledger:
        before = run.store.round_of(task.name)
        if before is None:
            refuse_disorder(task.name, run.store.tasks())
        known = _known(run.store, before, names, prints.rows) if before else {}
        new = np.array([i for i, name in enumerate(names) if name not in known], int)
        if len(new):
            number = ledger.put_round(task.name, "open", {}) if before is None else before.round
            keep = before is None or before.status == "open"  # it is to be learned from
            people = _decided(scorer, task, names, prints.rows, new, keep)
            ledger.add_decisions(number, people)
            said = zip(people.probability.tolist(), people.decision.tolist(), strict=True)
            known |= dict(zip(people.ids, said, strict=True))
    chances, decisions = zip(*(known[name] for name in names), strict=True)
    return _columns(names, task.name, np.array(chances, np.float32), np.array(decisions))


def _decided(
    scorer: Scorer, task: Task, names: list[str], contents: np.ndarray, new: np.ndarray, keep: bool
) -> Decided:
    """Decide about some people of a task; ``keep`` their features."""
    said = scorer.decide(task.x[new])
    return Decided(
        ids=[names[i] for i in new],
        groups=group_names(scorer.model.schema, task.groups[new]),
        version=scorer.model.version,
        probability=said.probability.astype(float),
        decision=said.decision.astype(int),
        unpriced=said.unpriced.astype(int),
        label=np.full(len(new), -1),
        content=contents[new],
        x=task.x[new] if keep else None,
    )


def _known(
    store: Store, before: Round, names: list[str], contents: np.ndarray
) -> dict[str, tuple[float, int]]:
    """Return the decisions about people who came before; refuse one who has changed since."""
    columns = ("id", "content", "probability", "decision")
    few = names if len(names) <= MOST_ASKED else None
    kept = store.decisions(round=before.round, ids=few, columns=columns)
    content = dict(zip(names, contents.tolist(), strict=True))
    for name, was, decision in zip(*(kept[c] for c in ("id", "content", "decision")), strict=True):
        if name in content and decision < 0:
            raise FFMLError(
                f"id {name!r} is one of the labelled rows that task {before.task!r} was adapted "
                "to; give another task"
            )
        if content.get(name, was) != was:
            raise FFMLError(
                f"id {name!r} was decided about in task {before.task!r} with other features; give "
                "a new id, or another task"
            )
    said = zip(kept["probability"].tolist(), kept["decision"].tolist(), strict=True)
    return dict(zip(kept["id"], said, strict=True))


def _next_task(store: Store) -> str:
    """Name the population of people who come after the tasks that were learned from."""
    return f"after round {store.tasks_done()}"


def _columns(
    names: list[str], task: str, probability: np.ndarray, decision: np.ndarray
) -> dict[str, Any]:
    columns = {"id": names, "task": task, "probability": probability}
    return columns | {"decision": decision.astype(int)}
