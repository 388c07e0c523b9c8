"""Decisions about people as they come: by what was learned so far, and kept in the ledger.

The answer is a table of columns that is filled in: who was decided about before keeps the decision
that the ledger has, the others are decided about and written, task by task.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ffml.base import FFMLError
from ffml.runs._again import refuse_disorder, refuse_future
from ffml.runs._answer import keep_alarms
from ffml.runs._arrivals import Arrivals, Batch, batches_of, read_people, refuse_adapted_to
from ffml.runs._played import group_names
from ffml.scoring import Scorer, prepare
from ffml.store import Decided, Round, Store, Transaction
from ffml.tables import open_data

if TYPE_CHECKING:
    from ffml.runs._run import Run

MOST_ASKED = 5000  # people that a query names; of more, the whole task is read
# What `Run.decide` says of a person, and what of it the ledger keeps in the decision's row.
_KINDS: dict[str, Any] = {
    "id": object,
    "task": object,
    "probability": np.float32,
    "threshold": np.float64,  # from which probability on, were no gap bounded
    "decision": np.int64,
    "unpriced": np.int64,  # the decision if no gap were bounded
    "version": np.int64,
    "number": np.int64,  # in the ledger; left out of decisions that are not recorded
}
_KEPT = ("id", "task", "probability", "decision", "unpriced", "version", "seq", "event")

Answer = dict[str, np.ndarray]
Part = tuple[int, str | None]  # how many rows are one request, and the key it may come again under


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
) -> Answer:
    """Decide about people; return the columns of `ffml.Run.decide`.

    Args:
        run: decides.
        people: as for `ffml.Run.decide`, and so are those up to ``key``.
        parts: the requests that the rows are of; None: one.
        scorer: of a version; None: of the one that decides.
    """
    source, scorer = open_data(people, query), scorer or run.scorer()
    model = scorer.model
    arrivals = read_people(source, run.config["data"], model.schema, scorer.preprocessor, task)
    if support is not None and record:
        support = open_data(support)
        refuse_adapted_to(arrivals, support, run.config["data"], model.schema)
    if support is not None or together:
        scorer = prepare(model, people if together else None, support)
    answer = {name: np.empty(len(arrivals.x), kind) for name, kind in _KINDS.items()}
    if record:
        _record(run.store, scorer, arrivals, parts or [(len(arrivals.x), key)], answer)
        return answer
    for batch in batches_of(arrivals, model.schema, run.store):
        _tell(answer, batch.rows, batch, _decided(scorer, batch, keep=False), scorer)
    del answer["number"]
    return answer


def _record(
    store: Store, scorer: Scorer, arrivals: Arrivals, parts: Sequence[Part], answer: Answer
) -> None:
    """Decide about those who are new to their task, and write it; others keep their decision.

    Who is new is found within the transaction, and so is whether a request came before: of two who
    decide about one person at the same time, the second returns what the first has written.
    """
    first: list[tuple[str, str, np.ndarray]] = []  # requests with a key, for the first time
    new, start = np.ones(len(arrivals.x), bool), 0
    with store.transaction("decide", "people") as ledger:
        for rows, key in parts:
            places = np.arange(start, start := start + rows)
            if key is None:
                continue
            asked = arrivals.at(places).asked
            if (numbers := ledger.request(key, asked)) is None:
                first.append((key, asked, places))
                continue
            kept = store.decisions(numbers=numbers, columns=_KEPT)
            order = np.searchsorted(kept["seq"], numbers)  # that of the request
            _repeat(store, answer, places, {name: column[order] for name, column in kept.items()})
            new[places] = False
        rest = arrivals if new.all() else arrivals.at(np.flatnonzero(new))
        batches = batches_of(rest, scorer.model.schema, store) if new.any() else []
        ledger.what = f"people of {', '.join(one.task.name for one in batches)}"
        for batch in batches:
            places = np.flatnonzero(new)[batch.rows]
            _record_batch(store, ledger, scorer, batch, places, answer)
        for key, asked, places in first:
            ledger.put_request(key, asked, answer["number"][places].tolist())


def _record_batch(
    store: Store,
    ledger: Transaction,
    scorer: Scorer,
    batch: Batch,
    places: np.ndarray,
    answer: Answer,
) -> None:
    name = batch.task.name
    before = store.round_of(name)
    if before is None:
        refuse_future([name])
        refuse_disorder(name, store.tasks())
        number, new = ledger.put_round(name, "open", {}), np.arange(len(places))
    else:
        number, new = before.round, _repeat_known(store, before, batch, places, answer)
    if not len(new):
        return
    still_open = before is None or before.status == "open"  # it is to be learned from
    if not still_open:
        keep_alarms(store, ledger)  # the counts of a task long judged are about to change
    people = _decided(scorer, batch, still_open, new)
    twins = len({*people.ids}) < len(people.ids)
    numbers = ledger.add_decisions(number, people, scorer.cut, new=not twins)
    _tell(answer, places[new], batch, people, scorer)
    answer["number"][places[new]] = numbers


def _decided(scorer: Scorer, batch: Batch, keep: bool, some: np.ndarray | None = None) -> Decided:
    """Decide about some people of a task, or all; ``keep`` their features."""
    task, names, contents = batch.task, batch.names, batch.contents
    x, groups = task.x, task.groups
    if some is not None and len(some) < len(names):
        x, groups, contents = x[some], groups[some], contents[some]
        names = [names[i] for i in some.tolist()]
    said = scorer.decide(x)
    return Decided(
        ids=names,
        groups=group_names(scorer.model.schema, groups),
        version=scorer.model.version,
        probability=said.probability.astype(float),
        decision=said.decision,
        unpriced=said.unpriced,
        label=np.full(len(names), -1),
        content=contents,
        x=x if keep else None,
    )


def _tell(
    answer: Answer, places: np.ndarray, batch: Batch, people: Decided, scorer: Scorer
) -> None:
    answer["id"][places] = people.ids
    answer["task"][places] = batch.task.name
    answer["threshold"][places] = scorer.cut
    for name in ("probability", "decision", "unpriced", "version"):
        answer[name][places] = getattr(people, name)


def _repeat_known(
    store: Store, before: Round, batch: Batch, places: np.ndarray, answer: Answer
) -> np.ndarray:
    """Answer those who came before with their decision; return the others.

    Raises:
        FFMLError: somebody has changed since, or was adapted to and not decided about.
    """
    few = batch.names if len(batch.names) <= MOST_ASKED else None
    kept = store.decisions(round=before.round, ids=few, columns=("content", *_KEPT))
    if not len(kept["id"]):
        return np.arange(len(places))
    rows = {name: row for row, name in enumerate(kept["id"].tolist())}
    row_of = np.array([rows.get(name, -1) for name in batch.names])
    came = np.flatnonzero(row_of >= 0)
    kept = {name: column[row_of[came]] for name, column in kept.items()}
    if (adapted := kept["decision"] < 0).any():
        raise FFMLError(
            f"id {kept['id'][adapted][0]!r} is one of the labelled rows that task {before.task!r} "
            "was adapted to; give another task"
        )
    if (other := kept.pop("content") != batch.contents[came]).any():
        raise FFMLError(
            f"id {kept['id'][other][0]!r} was decided about in task {before.task!r} with other "
            "features; give a new id, or another task"
        )
    _repeat(store, answer, places[came], kept)
    return np.flatnonzero(row_of < 0)


def _repeat(store: Store, answer: Answer, places: np.ndarray, kept: Answer) -> None:
    """Say decisions as they were made; ``kept`` are the ledger's columns of these places."""
    events = kept["event"].tolist()
    cuts = store.thresholds(sorted({*events}))
    answer["threshold"][places] = [cuts.get(event, np.nan) for event in events]
    answer["number"][places] = kept["seq"]
    for name in ("id", "task", "probability", "decision", "unpriced", "version"):
        answer[name][places] = kept[name]
