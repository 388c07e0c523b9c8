"""Labels that have come: judge the decisions again, and learn what is due."""

from typing import Any, NamedTuple

import numpy as np

from ffml.online.judge import judge_decisions
from ffml.online.learn import learn_due
from ffml.online.state import LoopState
from ffml.online.waiting import Waiting
from ffml.runs._rounds import judged_again
from ffml.runs._session import Session
from ffml.store import Correction, Labels


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
        state = before._replace(waiting=waiting)
        for one, old in zip(waiting, before.waiting, strict=True):
            if one is not old:
                state = _judge(session, ledger, state, one)
        state, _ = learn_due(loop, state)
        learned = learned_now(before, state)
        for name in learned:
            ledger.set_status(name, "learned")
        version = session.version
        if waiting != before.waiting:
            version = session.put_state(ledger, state)
    session.state, session.version = state, version
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
    y = np.array([given.get(name, y) for name, y in zip(one.task.ids, one.task.y, strict=True)])
    if (y == one.task.y).all():
        return one
    return one._replace(task=one.task._replace(y=y.astype(one.task.y.dtype)))


def _judge(session: Session, ledger: Any, state: LoopState, one: Waiting) -> LoopState:
    """Judge a round again, and move the sums of violations by what has changed."""
    loop = session.loop
    document = next(r.document for r in session.store.rounds() if r.task == one.task.name)
    judgement = judge_decisions(loop.problem, loop.schema, one.task, one.decided)
    after, change, clipped = judged_again(document, judgement, one)
    ledger.put_round(one.task.name, "decided", after)
    return state._replace(
        violation=state.violation + change, clipped_violation=state.clipped_violation + clipped
    )
