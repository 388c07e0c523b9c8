"""Labels that have come: judge the decisions again, and learn what is due."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from ffml.base import FFMLError, Task
from ffml.online.judge import Decided, judge_decisions
from ffml.online.learn import learn_due
from ffml.online.loop import absorb
from ffml.online.state import LoopState
from ffml.online.waiting import Waiting
from ffml.runs._answer import keep_alarms
from ffml.runs._played import group_codes, learned_between
from ffml.runs._rounds import judged_again, round_document
from ffml.runs._session import Session
from ffml.runs._trials import Trial, try_newest
from ffml.store import Correction, Labels, Placement, Round


class LabelsAdded(NamedTuple):
    """What labels did."""

    new: int
    known: int  # of labels known before
    learned: tuple[str, ...]  # tasks that were learned from now
    corrections: tuple[Correction, ...] = ()


class Learned(NamedTuple):
    """What labels lead to, before it is written."""

    state: LoopState
    rounds: dict[str, tuple[str, Any]]  # status and document of tasks that were judged or learned
    tasks: tuple[str, ...]  # tasks that were learned from
    absorbed: tuple[int, ...]  # rounds of people who came one by one, among them
    trial: Trial | None


def add_labels(
    session: Session,
    labels: Labels,
    correct: bool,
    who: str,
    people: Mapping[str, int] = MappingProxyType({}),
) -> LabelsAdded:
    """Write labels to the ledger, judge their rounds again, and learn from tasks that are due.

    What is learned is found first, while others decide, and then written with the labels in one
    short transaction. Whoever is decided about meanwhile is not learned from: the round's document
    says of how many people it is. What was learned from a label that is corrected later stays
    learned; counts, rates and verdicts follow the correction.

    Args:
        session: of who holds the long lock.
        labels: that have come.
        correct: take those that contradict earlier ones as corrections.
        who: brings them, for the ledger.
        people: task -> how many of those who came one by one are learned from; else all.
    """
    store, before = session.store, session.state
    placement = store.place(labels, correct)
    if not placement.decision:
        return LabelsAdded(0, placement.repeated, ())
    learned = _learned(session, labels, placement, people)
    keeps = bool(store.document("keep_features"))
    with store.transaction(who, f"{len(labels.ids)} labels") as ledger:
        ledger.add_labels(labels, correct)
        for task, (status, document) in learned.rounds.items():
            ledger.put_round(task, status, document)
        for number in () if keeps else learned.absorbed:
            ledger.drop_features(number)
        version = session.version
        if learned.trial is not None:
            learned.trial.write(ledger)
        if learned.state is not before:
            version = session.put_state(ledger, learned.state)
    session.state, session.version = learned.state, version
    keep_alarms(store)
    return LabelsAdded(
        len(placement.decision), placement.repeated, learned.tasks, placement.corrections
    )


def _learned(
    session: Session, labels: Labels, placement: Placement, people: Mapping[str, int]
) -> Learned:
    """Judge and learn; nothing is written."""
    store, before = session.store, session.state
    rows = {task: store.round_of(task) for task in dict.fromkeys(placement.tasks)}
    waiting = tuple(_labelled(one, labels) for one in before.waiting)
    labelled = [w for w, old in zip(waiting, before.waiting, strict=True) if w is not old]
    state = before._replace(waiting=waiting) if labelled else before
    rounds: dict[str, tuple[str, Any]] = {}
    for one in labelled:
        state, rounds[one.task.name] = _judge(session, state, one)
    if labelled:
        state, _ = learn_due(session.loop, state)
    tasks = learned_between(before, state)
    for name in tasks:
        rounds[name] = ("learned", rounds[name][1] if name in rounds else _round(session, name)[1])
    newest = max((row.round for row in rows.values() if row is not None), default=0)
    due = [
        (row, *found)
        for row in rows.values()
        if row is not None and row.status == "open"
        for found in [open_task(session, row, placement, people.get(row.task))]
        if Waiting(row.round, *found).is_due(row.round, 0, session.loop.shots, newest)
    ]
    trial = try_newest(session, [task for _, task, _ in due])
    for row, task, decided in due:
        state, record = absorb(session.loop, state, task, decided)
        waits = any(one.round == state.round and not one.learned for one in state.waiting)
        rounds[row.task] = ("decided" if waits else "learned", round_document(record))
        tasks += () if waits else (row.task,)
    return Learned(state, rounds, tasks, tuple(row.round for row, *_ in due), trial)


def _labelled(one: Waiting, labels: Labels) -> Waiting:
    """Put labels on a waiting task's people."""
    tasks = labels.tasks if labels.tasks is not None else [one.task.name] * len(labels.ids)
    given = {
        name: int(value)
        for name, value, task in zip(labels.ids, labels.values, tasks, strict=True)
        if task == one.task.name
    }
    y = np.array([given.get(name, y) for name, y in zip(_ids(one), one.task.y, strict=True)])
    if (y == one.task.y).all():
        return one
    return one._replace(task=one.task._replace(y=y.astype(one.task.y.dtype)))


def _ids(one: Waiting) -> np.ndarray:
    return np.zeros(0, object) if one.task.ids is None else one.task.ids


def open_task(
    session: Session, row: Round, placement: Placement, most: int | None = None
) -> tuple[Task, Decided]:
    """Read the people of a task who were decided about one by one, with labels as they will be."""
    columns = ("seq", "id", "cell", "probability", "decision", "unpriced", "label", "x")
    kept = session.store.decisions(round=row.round, columns=columns)
    groups = group_codes(session.schema, session.store.cells(), kept["cell"])
    # Who was forgotten has no features any more, and who is of no known group cannot be compared.
    some = np.array([len(x) > 0 for x in kept["x"]], bool) & (groups >= 0).all(1)
    groups = groups[some][:most]
    kept = {name: values[some][:most] for name, values in kept.items()}
    new = dict(zip(placement.decision, placement.label, strict=True))
    y = [new.get(seq, old) for seq, old in zip(kept["seq"].tolist(), kept["label"], strict=True)]
    x = np.stack(list(kept["x"])).astype(float) if len(groups) else np.zeros((0, 0))
    task = Task(row.task, x, np.array(y, np.int32), groups, ids=kept["id"])
    chances = np.clip(kept["probability"], 1e-6, 1 - 1e-6)
    logits = np.log(chances / (1 - chances)).astype(np.float32)
    positive = kept["decision"] > 0  # prices may have moved a decision across one half
    logits = np.where(positive, np.maximum(logits, 1e-6), np.minimum(logits, 0.0))
    decided = Decided(np.arange(len(x)), logits, kept["probability"], kept["unpriced"] > 0)
    return task, decided


def _judge(session: Session, state: LoopState, one: Waiting) -> tuple[LoopState, tuple[str, Any]]:
    """Judge a round again, and move the sums of violations by what has changed."""
    loop = session.loop
    status, document = _round(session, one.task.name)
    judgement = judge_decisions(loop.problem, loop.schema, one.task, one.decided)
    after, change, clipped = judged_again(document, judgement, one)
    violation, total = state.violation + change, state.clipped_violation + clipped
    return state._replace(violation=violation, clipped_violation=total), (status, after)


def _round(session: Session, task: str) -> tuple[str, Any]:
    row = session.store.round_of(task)
    if row is None:
        raise FFMLError(f"{session.store.name} has lost task {task!r}; see 'ffml verify'")
    return row.status, row.document
