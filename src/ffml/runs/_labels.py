"""Labels that have come: judge the decisions again, and learn what is due."""

from typing import NamedTuple

import numpy as np

from ffml.base import FFMLError, SensitiveColumn, Task
from ffml.online.judge import Decided, judge_decisions
from ffml.online.learn import learn_due
from ffml.online.loop import absorb
from ffml.online.state import LoopState
from ffml.online.waiting import Waiting
from ffml.runs._answer import keep_alarms
from ffml.runs._rounds import judged_again, round_document
from ffml.runs._session import Session
from ffml.store import Correction, Labels, Round, Transaction


class LabelsAdded(NamedTuple):
    """What labels did."""

    new: int
    known: int  # of labels known before
    learned: tuple[str, ...]  # tasks that were learned from now
    corrections: tuple[Correction, ...] = ()


def add_labels(session: Session, labels: Labels, correct: bool, who: str) -> LabelsAdded:
    """Write labels to the ledger, judge their rounds again, and learn from tasks that are due.

    All of it is one transaction. What was learned from a label that is corrected later stays
    learned; counts, rates and verdicts follow the correction.
    """
    loop, before = session.loop, session.state
    with session.store.transaction(who, f"{len(labels.ids)} labels") as ledger:
        placement = ledger.add_labels(labels, correct)
        if not placement.decision:
            return LabelsAdded(0, placement.repeated, ())
        waiting = tuple(_labelled(one, labels) for one in before.waiting)
        labelled = [w for w, old in zip(waiting, before.waiting, strict=True) if w is not old]
        state = before._replace(waiting=waiting) if labelled else before
        for one in labelled:
            state = _judge(session, ledger, state, one)
        if labelled:
            state, _ = learn_due(loop, state)
        learned = learned_now(before, state)
        for name in learned:
            ledger.set_status(name, "learned")
        version = session.version
        for task in dict.fromkeys(placement.tasks):
            row = session.store.round_of(task)
            if row is not None and row.status == "open":
                state, done = _absorbed(session, ledger, state, row)
                learned += done
        if state is not before:
            version = session.put_state(ledger, state)
    session.state, session.version = state, version
    keep_alarms(session.store)
    return LabelsAdded(len(placement.decision), placement.repeated, learned, placement.corrections)


def learned_now(before: LoopState, after: LoopState) -> tuple[str, ...]:
    """Name the waiting tasks that were learned from in between."""
    still = {one.round for one in after.waiting if not one.learned}
    return tuple(
        one.task.name for one in before.waiting if not one.learned and one.round not in still
    )


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


def _absorbed(
    session: Session, ledger: Transaction, state: LoopState, row: Round
) -> tuple[LoopState, tuple[str, ...]]:
    """Learn from people who were decided about one by one, once enough of them have a label."""
    task, decided = open_task(session, row)
    if not Waiting(row.round, task, decided).is_due(row.round, 0, session.loop.shots):
        return state, ()
    after, record = absorb(session.loop, state, task, decided)
    waits = any(one.round == after.round and not one.learned for one in after.waiting)
    ledger.put_round(row.task, "decided" if waits else "learned", round_document(record))
    if not session.store.document("keep_features"):
        ledger.drop_features(row.round)
    return after, () if waits else (row.task,)


def open_task(session: Session, row: Round) -> tuple[Task, Decided]:
    """Read the people of a task who were decided about one by one, with their labels so far."""
    columns = ("id", "cell", "probability", "decision", "unpriced", "label", "x")
    kept = session.store.decisions(round=row.round, columns=columns)
    cells, schema = session.store.cells(), session.schema
    groups = np.array(
        [[_code(c, cells[cell].get(c.name)) for c in schema.sensitive] for cell in kept["cell"]]
    )
    x = np.stack(list(kept["x"])).astype(float)
    task = Task(row.task, x, kept["label"].astype(np.int32), groups, ids=kept["id"])
    chances = np.clip(kept["probability"], 1e-6, 1 - 1e-6)
    logits = np.log(chances / (1 - chances)).astype(np.float32)
    positive = kept["decision"] > 0  # prices may have moved a decision across one half
    logits = np.where(positive, np.maximum(logits, 1e-6), np.minimum(logits, 0.0))
    decided = Decided(np.arange(len(x)), logits, kept["probability"], kept["unpriced"] > 0)
    return task, decided


def _code(column: SensitiveColumn, group: str | None) -> int:
    return column.groups.index(group) if group in column.groups else -1


def _judge(session: Session, ledger: Transaction, state: LoopState, one: Waiting) -> LoopState:
    """Judge a round again, and move the sums of violations by what has changed."""
    loop = session.loop
    row = session.store.round_of(one.task.name)
    if row is None:
        raise FFMLError(f"{session.store.name} has lost task {one.task.name!r}; see 'ffml verify'")
    judgement = judge_decisions(loop.problem, loop.schema, one.task, one.decided)
    after, change, clipped = judged_again(row.document, judgement, one)
    ledger.put_round(row.task, row.status, after)
    return state._replace(
        violation=state.violation + change, clipped_violation=state.clipped_violation + clipped
    )
