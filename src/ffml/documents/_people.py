"""Everybody decided about, counted by all protected columns at once."""

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import pyarrow as pa

from ffml.audit.record import favourable_of
from ffml.base import FFMLError
from ffml.metrics.phrases import favourable_words
from ffml.recipe.schemas import schema_from
from ffml.store import Store
from ffml.tables import (
    Source,
    is_period,
    label_values,
    refuse_adverse,
    refuse_unknown,
    role_texts,
)

MOST_CELLS = 10_000


class Cell(NamedTuple):
    """People of one group, or of one combination of groups."""

    groups: tuple[str, ...]
    people: int
    selected: int

    @property
    def rate(self) -> float:
        """The share of them that was decided favourably."""
        return self.selected / self.people


class People(NamedTuple):
    """How many people of each combination of groups were decided about, and how many favourably."""

    name: str  # of the run or the table
    favourable: str  # in the user's words
    columns: tuple[str, ...]
    counts: dict[tuple[str | None, ...], tuple[int, int]]  # None: the group is not known
    start: str = ""  # the first period and the last one, where they are told
    end: str = ""

    @property
    def total(self) -> int:
        """Everybody."""
        return sum(people for people, _ in self.counts.values())

    def cells(self, columns: Sequence[str]) -> tuple[list[Cell], int]:
        """Count by some columns; also how many people are of an unknown group in one of them."""
        places = [self.columns.index(name) for name in columns]
        people: Counter[Any] = Counter()
        selected: Counter[Any] = Counter()
        for groups, (n, chosen) in self.counts.items():
            own = tuple(groups[place] for place in places)
            key = None if None in own else own
            people[key] += n
            selected[key] += chosen
        unknown = people.pop(None, 0)
        return [Cell(key, people[key], selected[key]) for key in sorted(people)], unknown


def people_of_run(store: Store) -> People:
    """Count everybody whom a run has decided about; not rows that were adapted to."""
    with store.snapshot():
        config, cells, totals = store.document("config"), store.cells(), store.totals()
        columns = tuple(one.name for one in schema_from(store.document("schema")).sensitive)
        tasks = store.tasks()
    counts: dict[tuple[str | None, ...], tuple[int, int]] = {}
    for cell, decision, n in zip(*(part.tolist() for part in _of(totals)), strict=True):
        if decision >= 0:
            key = tuple(cells[cell].get(name) for name in columns)
            people, selected = counts.get(key, (0, 0))
            counts[key] = (people + n, selected + n * decision)
    if not counts:
        raise FFMLError(f"{store.name} has decided about nobody yet; let it finish a task first")
    dated = bool(tasks) and all(map(is_period, tasks))
    span = (min(tasks), max(tasks)) if dated else ("", "")
    return People(store.name, favourable_of(config), columns, counts, *span)


def _of(totals: Any) -> tuple[Any, Any, Any]:
    return totals.cell, totals.decision, totals.n


def people_of_table(
    source: Source, decision: str, sensitive: Sequence[str], positive: str | None = None
) -> People:
    """Count a table of anybody's decisions; an empty cell is a group that is not known."""
    names = (*sensitive, decision)
    for name in names:
        refuse_unknown("sensitive" if name in sensitive else "decision", name, source.columns)
    counted: Counter[tuple[str | None, ...]] = Counter()
    for batch in source.batches(list(names)):
        texts = [role_texts(batch.column(name), name, "sensitive") for name in names]
        grouped = pa.table(texts, names=[str(i) for i in range(len(names))])
        grouped = grouped.group_by(grouped.column_names).aggregate([([], "count_all")])
        *keys, numbers = (grouped[name].to_pylist() for name in grouped.column_names)
        counted.update(dict(zip(zip(*keys, strict=True), numbers, strict=True)))
        if len(counted) > MOST_CELLS:
            raise FFMLError(f"more than {MOST_CELLS:,} combinations; give columns of few groups")
    return _people(source.name, decision, tuple(sensitive), positive, counted)


def _people(
    name: str,
    decision: str,
    columns: tuple[str, ...],
    positive: str | None,
    counted: Counter[tuple[str | None, ...]],
) -> People:
    undecided = sum(n for key, n in counted.items() if key[-1] is None)
    if undecided:
        raise FFMLError(f"{undecided} rows have no '{decision}'; fill them in, or leave them out")
    if not counted:
        raise FFMLError(f"{name} has no rows; at least one is needed")
    seen = dict.fromkeys(str(key[-1]) for key in counted)
    refuse_adverse(decision, seen, positive)
    codes = label_values(decision, seen, positive, part="decision")
    counts: dict[tuple[str | None, ...], tuple[int, int]] = {}
    for (*groups, text), n in counted.items():
        people, selected = counts.get(tuple(groups), (0, 0))
        counts[tuple(groups)] = (people + n, selected + n * codes[str(text)])
    return People(name, favourable_words(decision, positive), columns, counts)
