"""Labels that have come: which rows they are of, and what the rounds look like with them."""

from collections import defaultdict
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ffml.base import FFMLError
from ffml.online.judge import judge_decisions
from ffml.online.learn import learn_due
from ffml.online.loop import Loop, pair
from ffml.online.state import LoopState, Round
from ffml.online.waiting import Waiting
from ffml.runs.decisions import Labels
from ffml.tables import LateLabels


@dataclass(frozen=True)
class Placed:
    """Labels by the round and the row that they are of."""

    waiting: tuple[Waiting, ...]  # with the new labels
    rounds: frozenset[int]  # those with new labels
    found: tuple[tuple[str, str, int], ...]  # of each new label: task, id, label
    known: int  # labels that were known before

    @property
    def new(self) -> int:
        """How many labels are new."""
        return len(self.found)

    def to_log(self, round_: int, number: int) -> Labels:
        """Return the new labels as the decision log keeps them."""
        tasks, ids, labels = (np.array(part, object) for part in zip(*self.found, strict=True))
        return Labels(round_, number, tasks, ids, labels.astype(np.int8))


def place_labels(
    given: LateLabels,
    waiting: Sequence[Waiting],
    known_label: Callable[[Collection[str]], dict[str, int]],
) -> Placed:
    """Find the rows that labels are of.

    Args:
        given: the labels.
        waiting: the tasks that lack labels.
        known_label: the labels of people of other tasks, for those who were decided about.
    """
    places: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for i, one in enumerate(waiting):
        for row, name in enumerate(() if one.task.ids is None else one.task.ids):
            places[name].append((i, row))
    labels = [one.task.y.copy() for one in waiting]
    new: list[tuple[str, str, int]] = []
    rounds: set[int] = set()
    elsewhere: dict[str, int] = {}
    known = 0
    for name, label, task in zip(given.ids, given.labels.tolist(), given.tasks, strict=True):
        found = [p for p in places[name] if task is None or waiting[p[0]].task.name == task]
        if len(found) > 1:
            where = ", ".join(waiting[i].task.name for i, _ in found)
            raise FFMLError(f"id {name!r} is in several tasks ({where}); add the column of tasks")
        if not found:
            _refuse_contradiction(name, elsewhere.setdefault(name, label), label)
            continue
        i, row = found[0]
        before = int(labels[i][row])
        if before >= 0:
            _refuse_contradiction(name, before, label)
            known += 1
            continue
        labels[i][row] = label
        rounds.add(waiting[i].round)
        new.append((waiting[i].task.name, name, label))
    known += _count_known(elsewhere, known_label)
    return Placed(
        tuple(
            one._replace(task=one.task._replace(y=y))
            for one, y in zip(waiting, labels, strict=True)
        ),
        frozenset(rounds),
        tuple(new),
        known,
    )


def labelled_rounds(
    loop: Loop, state: LoopState, rounds: Sequence[Round], placed: Placed
) -> tuple[LoopState, list[Round]]:
    """Judge rounds again with the labels that came, and learn what is due.

    What is learned counts to the last round: its λ and its steps are those after learning.
    """
    records = {record.round: record for record in rounds}
    for one in placed.waiting:
        if one.round in placed.rounds:
            records[one.round] = _judged_again(loop, records[one.round], one)
    state, learned = learn_due(loop, state._replace(waiting=placed.waiting))
    measured = np.nan_to_num(np.stack([record.constraint for record in records.values()]))
    sums = np.cumsum(measured.astype(float), axis=0)
    clipped = np.cumsum(np.maximum(measured, 0).astype(float), axis=0)
    state = state._replace(violation=sums[-1], clipped_violation=clipped[-1])
    found = [
        replace(record, violation=v, clipped_violation=c)
        for record, v, c in zip(records.values(), sums, clipped, strict=True)
    ]
    last = replace(
        found[-1],
        multipliers=np.asarray(pair(loop, state).multipliers),
        iterations=found[-1].iterations + learned.iterations,
        extra=learned.extra or found[-1].extra,
    )
    return state, [*found[:-1], last]


def _judged_again(loop: Loop, record: Round, one: Waiting) -> Round:
    rows = one.decided.rows
    unknown = int((one.task.y[rows] < 0).sum())
    record = replace(record, n_unlabelled=unknown, n_validation=len(rows) - unknown)
    if record.round <= loop.judge_after or len(rows) < loop.judge_min_rows:
        return record
    judgement = judge_decisions(loop.problem, loop.schema, one.task, one.decided)
    return replace(record, **judgement._asdict())


def _count_known(given: dict[str, int], known_label: Callable) -> int:
    """Count labels of people whose tasks wait no more; refuse those of strangers."""
    found = known_label(set(given)) if given else {}
    if strangers := sorted(set(given) - set(found)):
        others = f" and {len(strangers) - 1} others" if len(strangers) > 1 else ""
        raise FFMLError(
            f"nothing was decided about id {strangers[0]!r}{others}; leave such rows out, or give "
            "them to 'ffml update' first"
        )
    for name, label in given.items():
        _refuse_contradiction(name, found[name], label)
    return len(given)


def _refuse_contradiction(name: str, before: int, label: int) -> None:
    if before != label:
        raise FFMLError(
            f"the past has changed: id {name!r} has label {before} already, and now {label}; "
            "correct it or leave it out"
        )
