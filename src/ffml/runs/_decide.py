"""Decisions about people as they come: by what was learned so far, and kept in the ledger."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ffml.base import FFMLError
from ffml.runs._again import refuse_disorder
from ffml.runs._answer import keep_alarms
from ffml.runs._arrivals import Arrivals, Batch, batches_of, read_people
from ffml.runs._played import group_names
from ffml.scoring import Scorer, prepare
from ffml.store import Decided, Round, Store, Transaction
from ffml.tables import open_data

if TYPE_CHECKING:
    import pandas as pd

    from ffml.runs._run import Run


MOST_ASKED = 5000  # people that a query names; of more, the whole task is read


class Part(NamedTuple):
    """The rows of a table that are one request."""

    rows: int
    key: str | None = None  # under which the request may come again


class Said(NamedTuple):
    """A row of what `Run.decide` returns."""

    id: str
    task: str
    probability: float
    threshold: float | None  # from which probability on, were no gap bounded
    decision: int
    unpriced: int  # the decision if no gap were bounded
    version: int
    number: int  # in the ledger; −1 of a decision that is not recorded


_KINDS: dict[str, Any] = dict.fromkeys(("id", "task"), object)
_KINDS |= dict.fromkeys(("decision", "unpriced", "version", "number"), np.int64)
_KINDS |= {"probability": np.float32, "threshold": np.float64}
_KEPT = ("id", "task", "probability", "event", "decision", "unpriced", "version", "seq")


def decide_people(
    run: "Run",
    people: Any,
    *,
    task: str | None = None,
    record: bool = True,
    query: str | None = None,
    support: Any = None,
    together: bool = False,
    key: str | None = None,
    parts: Sequence[Part] | None = None,
    scorer: Scorer | None = None,
) -> "pd.DataFrame":
    """Decide about people; see `ffml.Run.decide`.

    Args:
        run: decides.
        people: as for `ffml.Run.decide`, and so are those up to ``key``.
        parts: the requests that the rows are of; None: one.
        scorer: of a version; None: of the one that decides.
    """
    source, scorer = open_data(people, query), scorer or run.scorer()
    arrivals = read_people(
        source, run.config["data"], scorer.model.schema, scorer.preprocessor, task
    )
    if support is not None or together:
        scorer = prepare(scorer.model, people if together else None, support)
    if record:
        return _recorded(run.store, scorer, arrivals, parts or [Part(len(arrivals.x), key)])
    rows = [
        row
        for batch in batches_of(arrivals, scorer.model.schema, run.store)
        for row in _placed(batch, _told(scorer, _decided(scorer, batch, keep=False), batch))
    ]
    return _table([row for _, row in sorted(rows)]).drop(columns="number")


def _recorded(
    store: Store, scorer: Scorer, arrivals: Arrivals, parts: Sequence[Part]
) -> "pd.DataFrame":
    """Decide about those who are new to their task, and write it; others keep their decision.

    Who is new is found within the transaction, and so is whether a request came before: of two who
    decide about one person at the same time, the second returns what the first has written.
    """
    said: dict[int, Said] = {}
    first: list[tuple[Part, range, str]] = []  # requests with a key, for the first time
    start = 0
    with store.transaction("decide", "people") as ledger:
        for part in parts:
            places = range(start, start + part.rows)
            start = places.stop
            if part.key is None:
                continue
            asked = arrivals.at(places).asked
            if (numbers := ledger.request(part.key, asked)) is None:
                first.append((part, places, asked))
            else:
                said |= dict(zip(places, _again(store, numbers), strict=True))
        new = [place for place in range(len(arrivals.x)) if place not in said]
        said |= {new[at]: row for at, row in _answers(store, ledger, scorer, arrivals.at(new))}
        for part, places, asked in first:
            ledger.put_request(str(part.key), asked, [said[place].number for place in places])
    return _table([said[place] for place in range(len(arrivals.x))])


def _answers(
    store: Store, ledger: Transaction, scorer: Scorer, arrivals: Arrivals
) -> list[tuple[int, Said]]:
    """Return everybody's decision with their place, and write those that are new."""
    batches = batches_of(arrivals, scorer.model.schema, store)
    ledger.what = f"people of {', '.join(one.task.name for one in batches)}"
    return [row for one in batches for row in _placed(one, _answered(store, ledger, scorer, one))]


def _answered(store: Store, ledger: Transaction, scorer: Scorer, batch: Batch) -> dict[str, Said]:
    name = batch.task.name
    before = store.round_of(name)
    if before is None:
        refuse_disorder(name, store.tasks())
    known = _known(store, before, batch) if before else {}
    new = [place for place, one in enumerate(batch.names) if one not in known]
    if not new:
        return known
    if before is not None and before.status != "open":
        keep_alarms(store, ledger)  # the counts of a task long judged are about to change
    number = ledger.put_round(name, "open", {}) if before is None else before.round
    keep = before is None or before.status == "open"  # it is to be learned from
    people = _decided(scorer, batch, keep, np.array(new))
    twins = len({*people.ids}) < len(people.ids)
    numbers = ledger.add_decisions(number, people, scorer.cut, new=not twins)
    return known | _told(scorer, people, batch, numbers)


def _decided(scorer: Scorer, batch: Batch, keep: bool, rows: np.ndarray | None = None) -> Decided:
    """Decide about some people of a task, or all; ``keep`` their features."""
    task, rows = batch.task, np.arange(len(batch.names)) if rows is None else rows
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


def _told(
    scorer: Scorer, people: Decided, batch: Batch, numbers: Sequence[int] | None = None
) -> dict[str, Said]:
    columns = (people.probability, people.decision, people.unpriced)
    values = zip(people.ids, *(column.tolist() for column in columns), strict=True)
    task, cut, version = batch.task.name, scorer.cut, people.version
    return {
        id: Said(id, task, p, cut, decision, unpriced, version, numbers[i] if numbers else -1)
        for i, (id, p, decision, unpriced) in enumerate(values)
    }


def _known(store: Store, before: Round, batch: Batch) -> dict[str, Said]:
    """Return the decisions about people who came before; refuse one who has changed since."""
    few = batch.names if len(batch.names) <= MOST_ASKED else None
    kept = store.decisions(round=before.round, ids=few, columns=("content", *_KEPT))
    content = dict(zip(batch.names, batch.contents.tolist(), strict=True))
    contents = kept.pop("content").tolist()
    known: dict[str, Said] = {}
    for was, row in zip(contents, _rows(store, kept), strict=True):
        if row.id not in content:
            continue
        if row.decision < 0:
            raise FFMLError(
                f"id {row.id!r} is one of the labelled rows that task {before.task!r} was adapted "
                "to; give another task"
            )
        if content[row.id] != was:
            raise FFMLError(
                f"id {row.id!r} was decided about in task {before.task!r} with other features; "
                "give a new id, or another task"
            )
        known[row.id] = row
    return known


def _again(store: Store, numbers: list[int]) -> list[Said]:
    """Return decisions as they were made, in the order of the request."""
    rows = _rows(store, store.decisions(numbers=numbers, columns=_KEPT))
    places = {row.number: row for row in rows}
    return [places[number] for number in numbers]


def _rows(store: Store, kept: dict[str, np.ndarray]) -> list[Said]:
    cuts = store.thresholds(sorted({*kept["event"].tolist()}))
    rows = zip(*(kept[name].tolist() for name in _KEPT), strict=True)
    return [Said(id, task, p, cuts.get(event), *rest) for id, task, p, event, *rest in rows]


def _placed(batch: Batch, said: dict[str, Said]) -> list[tuple[int, Said]]:
    return [
        (place, said[name]) for place, name in zip(batch.rows.tolist(), batch.names, strict=True)
    ]


def _table(rows: Sequence[Said]) -> "pd.DataFrame":
    import pandas as pd

    columns = zip(Said._fields, zip(*rows, strict=True), strict=True)
    return pd.DataFrame({name: np.array(part, _KINDS[name]) for name, part in columns})
