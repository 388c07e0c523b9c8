"""The ledger's counts as tables by protected column. Needs no JAX."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from ffml.base import SensitiveColumn
from ffml.store import Counts


class Tables(NamedTuple):
    """Counts of all rounds by protected column: ``(T, k, 3, 2)``, label 2 is not known."""

    decided: dict[str, np.ndarray]
    unpriced: dict[str, np.ndarray]  # what would have been decided if no gap were bounded
    moved: Mapping[str, np.ndarray] = MappingProxyType({})  # (k, 2): whom fairness moved to 0, to 1
    people: np.ndarray | None = None  # (T, 3, 2) of everybody; None: of those of any column

    @property
    def everybody(self) -> np.ndarray:
        """Counts ``(T, 3, 2)`` of everybody decided about, also those of unknown groups."""
        return next(iter(self.decided.values())).sum(1) if self.people is None else self.people

    @property
    def unknown(self) -> dict[str, int]:
        """People whose group is not known, by column: they are in no table of the column."""
        people = self.everybody.sum()
        return {name: int(people - table.sum()) for name, table in self.decided.items()}


def tables_of(
    counts: Counts,
    cells: Mapping[int, Mapping[str, str | None]],
    columns: Sequence[SensitiveColumn],
    rounds: int,
) -> Tables:
    """Turn the ledger's counts into tables by column.

    Args:
        counts: of the ledger.
        cells: the groups of each cell by column; None where a group is not known.
        columns: the protected ones.
        rounds: T.
    """
    made = counts.decision >= 0  # rows that were adapted to were not decided about
    round_, cell, label, decision, unpriced, n = (column[made] for column in counts)
    moved: dict[str, np.ndarray] = {}
    tables = Tables({}, {}, moved, np.zeros((rounds, 3, 2), np.int64))
    label = np.where(label < 0, 2, label)
    np.add.at(tables.everybody, (round_ - 1, label, decision), n)
    for column in columns:
        codes = {key: _code(column, groups.get(column.name)) for key, groups in cells.items()}
        group = np.array([codes[one] for one in cell.tolist()], np.int64)
        known = group >= 0
        for part, outcome in ((tables.decided, decision), (tables.unpriced, unpriced)):
            part[column.name] = np.zeros((rounds, len(column.groups), 3, 2), np.int64)
            place = (round_ - 1, group, label, outcome)
            np.add.at(part[column.name], tuple(axis[known] for axis in place), n[known])
        other = known & (decision != unpriced) & (unpriced >= 0)
        moved[column.name] = np.zeros((len(column.groups), 2), np.int64)
        np.add.at(moved[column.name], (group[other], decision[other]), n[other])
    return tables


def _code(column: SensitiveColumn, group: str | None) -> int:
    return column.groups.index(group) if group in column.groups else -1
