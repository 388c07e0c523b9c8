"""Decisions about people as they come: by what was learned so far, and kept in the ledger."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ffml.base import FFMLError, Schema, Task
from ffml.runs._again import refuse_disorder
from ffml.runs._people import fingerprints, names_of
from ffml.runs._session import group_names
from ffml.scoring import Scorer, prepare
from ffml.scoring.model import preprocessor_of
from ffml.store import Decided, Round, Store
from ffml.tables import Source, located, open_data, person_columns

if TYPE_CHECKING:
    import pandas as pd

    from ffml.runs._run import Run


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
    """Decide about those who are new to the task, and write it; others keep their decision."""
    schema = scorer.model.schema
    prints = fingerprints(task, schema)
    names = names_of(task, prints.rows)
    rounds = run.store.rounds()
    before = next((row for row in rounds if row.task == task.name), None)
    if before is None:
        refuse_disorder(task.name, [row.task for row in rounds])
    known = _known(run.store, before, names, prints.rows) if before else {}
    new = np.array([i for i, name in enumerate(names) if name not in known], int)
    said = scorer.decide(task.x[new])
    if len(new):
        people = Decided(
            ids=[names[i] for i in new],
            groups=group_names(schema, task.groups[new]),
            version=scorer.model.version,
            probability=said.probability.astype(float),
            decision=said.decision.astype(int),
            unpriced=said.unpriced.astype(int),
            label=np.full(len(new), -1),
            content=prints.rows[new],
            x=task.x[new] if before is None or before.status == "open" else None,
        )
        with run.store.transaction("decide", f"{len(new)} people of {task.name}") as ledger:
            number = ledger.put_round(task.name, "open", {}) if before is None else before.round
            ledger.add_decisions(number, people)
    for place, i in enumerate(new.tolist()):
        known[names[i]] = (float(said.probability[place]), int(said.decision[place]))
    chances, decisions = zip(*(known[name] for name in names), strict=True)
    return _columns(names, task.name, np.array(chances, np.float32), np.array(decisions))


def _known(
    store: Store, before: Round, names: list[str], contents: np.ndarray
) -> dict[str, tuple[float, int]]:
    """Return the decisions about people who came before; refuse one who has changed since."""
    columns = ("id", "content", "probability", "decision")
    kept = store.decisions(round=before.round, ids=names, columns=columns)
    content = dict(zip(names, contents.tolist(), strict=True))
    for name, was in zip(kept["id"], kept["content"].tolist(), strict=True):
        if content[name] != was:
            raise FFMLError(
                f"id {name!r} was decided about in task {before.task!r} with other features; give "
                "a new id, or another task"
            )
    said = zip(kept["probability"].tolist(), kept["decision"].tolist(), strict=True)
    return dict(zip(kept["id"], said, strict=True))


def _next_task(store: Store) -> str:
    """Name the population of people who come after the newest task."""
    rounds = store.rounds()
    last = [row.task for row in rounds if row.status != "open"]
    return f"after {last[-1]}" if last else "first"


def _columns(
    names: list[str], task: str, probability: np.ndarray, decision: np.ndarray
) -> dict[str, Any]:
    columns = {"id": names, "task": task, "probability": probability}
    return columns | {"decision": decision.astype(int)}
