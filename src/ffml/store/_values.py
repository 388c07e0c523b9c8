"""What goes into a store and what comes out, as plain values."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np


class Decided(NamedTuple):
    """People of one task, decided about by one version: a row each.

    Where a value is not known, integers are -1 and probabilities NaN. A decision of -1: the row
    was adapted to and not decided about.
    """

    ids: Sequence[str]
    groups: Mapping[str, Sequence[Any]]  # sensitive column -> the group of each row
    version: int
    probability: np.ndarray  # (n,) float
    decision: np.ndarray  # (n,) 0, 1 or -1
    unpriced: np.ndarray  # (n,) what it would be without fairness: 0, 1 or -1
    label: np.ndarray  # (n,) as known now: 0, 1 or -1
    content: np.ndarray  # (n,) int64: a hash of what is known of the person
    x: np.ndarray | None = None  # (n, columns) float32, where features are kept


class Labels(NamedTuple):
    """Labels that came later. Without tasks, an id must occur in one task only."""

    ids: Sequence[str]
    values: np.ndarray  # (n,) 0 or 1
    tasks: Sequence[str] | None = None


class Correction(NamedTuple):
    """A label other than the one known before."""

    task: str
    id: str
    before: int
    after: int

    @property
    def words(self) -> str:
        """Say it in words: tables use 0 and 1 either way round.

        >>> Correction("2024-01", "17", 0, 1).words
        "id '17' of task '2024-01' has the unfavourable label in the ledger and the favourable now"
        """
        before, after = (("unfavourable", "favourable")[y] for y in (self.before, self.after))
        whose = f"id {self.id!r} of task {self.task!r}"
        return f"{whose} has the {before} label in the ledger and the {after} now"


class Placement(NamedTuple):
    """Where labels belong: one entry for each that is new or a correction."""

    decision: list[int]  # numbers of the decisions
    label: list[int]
    cell: list[tuple[int, int, int, int, int]]  # round, cell, label before, decision, unpriced
    tasks: tuple[str, ...]  # tasks that get labels
    repeated: int  # how many labels were known already
    corrections: tuple[Correction, ...]


class Round(NamedTuple):
    """One task."""

    round: int
    task: str
    status: str  # open, decided or learned
    document: Any


class Counts(NamedTuple):
    """How many people, by cell (combination of groups), label and decision: columns of a table.

    -1 stands for a label that is not known and for a decision that was not made.
    """

    round: np.ndarray
    cell: np.ndarray
    label: np.ndarray
    decision: np.ndarray
    unpriced: np.ndarray
    n: np.ndarray


class Version(NamedTuple):
    """The learner after a round. Only the newest few have their bytes."""

    number: int
    round: int | None
    checksum: str
    parent: int | None
    document: Any
    state: bytes | None
    blobs: dict[str, bytes]


class VersionRow(NamedTuple):
    """What is known of a version without reading its bytes."""

    number: int
    at: str  # when it was learned, UTC
    task: str | None  # that it was learned from, if one alone
    checksum: str
    parent: int | None
    document: Any
    kept: bool  # whether its bytes are there, so that it can decide
    deciding: bool


class Event(NamedTuple):
    """Who wrote what when."""

    seq: int
    at: str
    who: str
    what: str
    document: Any
    digest: str
    previous: str
    hash: str


class Finding(NamedTuple):
    """Something that is not as it was written."""

    table: str
    where: str
    what: str

    def __str__(self) -> str:
        return f"{self.table}: {self.where}: {self.what}"
