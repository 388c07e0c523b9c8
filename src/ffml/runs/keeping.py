"""A round with its people, ready for the ledger: for those who play without one."""

from typing import Any, NamedTuple

from ffml.base import Schema, Task
from ffml.online.state import Round
from ffml.runs._people import fingerprints, names_of
from ffml.runs._rounds import round_document, rounds_from
from ffml.runs._session import Session, decided_rows
from ffml.store import Decided, Transaction
from ffml.store import Round as LedgerRound

__all__ = ["Kept", "Session", "kept_round", "round_document", "rounds_from"]


class Kept(NamedTuple):
    """A round that was played; of one that is in a ledger already, the people are not needed."""

    record: Round
    people: Decided | None = None
    columns: dict[str, str] | None = None  # sums of the columns' hashes

    def write(self, ledger: Transaction) -> None:
        """Write the round and its people."""
        if self.people is None:
            return
        document = round_document(self.record) | {"columns": self.columns}
        number = ledger.put_round(self.record.task, "learned", document)
        ledger.add_decisions(number, self.people)

    def agrees(self, row: LedgerRound) -> bool:
        """Tell whether a ledger's round is this one."""
        return self.columns is None or row.document.get("columns") == self.columns


def kept_round(schema: Schema, task: Task, record: Round, version: int = 0) -> Kept:
    """Put a round together with the people of its task."""
    prints = fingerprints(task, schema)
    ids: Any = names_of(task, prints.rows)
    people = decided_rows(schema, task._replace(ids=ids), prints, record.decided, version)
    return Kept(record, people, prints.columns)
