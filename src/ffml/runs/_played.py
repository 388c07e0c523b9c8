"""A round that was played, with its people, ready for a ledger."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ffml.base import Schema, Task
from ffml.online.loop import step
from ffml.online.state import Loop, LoopState, Round
from ffml.runs._people import fingerprints, names_of
from ffml.runs._rounds import round_document
from ffml.store import Decided, Transaction


class Played(NamedTuple):
    """A round that was played, and the people of its task as the ledger knows them."""

    record: Round
    people: Decided
    columns: dict[str, str]  # sums of the columns' hashes
    missing: list[float] | None = None  # missing values by input column, if known

    def write(self, ledger: Transaction, state: LoopState) -> int:
        """Write the round and its people; return its number.

        Args:
            ledger: a transaction of it.
            state: what is known then: a task that waits for labels was decided, not learned.
        """
        waits = any(one.round == self.record.round for one in state.waiting)
        document = round_document(self.record) | {"columns": self.columns}
        document["missing"] = self.missing
        number = ledger.put_round(self.record.task, "decided" if waits else "learned", document)
        ledger.add_decisions(number, self.people)
        return number


def learned_between(before: LoopState, after: LoopState) -> tuple[str, ...]:
    """Name the tasks that waited for labels and were learned from in between."""
    still = {one.round for one in after.waiting if not one.learned}
    return tuple(
        one.task.name for one in before.waiting if not one.learned and one.round not in still
    )


def play_round(
    loop: Loop, state: LoopState, task: Task, version: int, keep_features: bool = False
) -> tuple[LoopState, Played]:
    """Play one task; return what is known then, and the round for the ledger.

    Args:
        loop: how tasks are played.
        state: what is known before.
        task: its rows; those without ids get some.
        version: of the state, in the ledger.
        keep_features: whether the ledger is to keep everybody's features.
    """
    prints = fingerprints(task, loop.schema)
    names, n = names_of(task, prints.rows), len(task.y)
    task = task._replace(ids=np.array(names, object))
    state, record = step(loop, state, task)
    probability, decision, unpriced = np.full(n, np.nan), np.full(n, -1), np.full(n, -1)
    decided = record.decided  # rows that were adapted to have no decision
    probability[decided.rows] = decided.probabilities
    decision[decided.rows] = decided.logits > 0
    unpriced[decided.rows] = decided.unpriced
    people = Decided(
        ids=names,
        groups=group_names(loop.schema, task.groups),
        version=version,
        probability=probability,
        decision=decision,
        unpriced=unpriced,
        label=np.asarray(task.y, np.int64),
        content=prints.rows,
        x=task.x if keep_features else None,
    )
    missing = None if task.missing is None else task.missing.tolist()
    return state, Played(record, people, prints.columns, missing)


def group_codes(
    schema: Schema, cells: Mapping[int, Mapping[str, str | None]], kept: np.ndarray
) -> np.ndarray:
    """Return the codes of people's groups by their cells in the ledger; -1 where not known."""
    codes = {
        cell: [_code(column.groups, groups.get(column.name)) for column in schema.sensitive]
        for cell, groups in cells.items()
    }
    return np.array([codes[cell] for cell in kept.tolist()], np.int32)


def _code(groups: Sequence[str], group: str | None) -> int:
    return groups.index(group) if group in groups else -1


def group_names(schema: Schema, groups: np.ndarray) -> dict[str, list[str | None]]:
    """Return each person's groups by column; None where a group is not known."""
    return {
        column.name: [column.groups[code] if code >= 0 else None for code in groups[:, i].tolist()]
        for i, column in enumerate(schema.sensitive)
    }
