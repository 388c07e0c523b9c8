"""Everybody decided about, counted by all protected columns at once."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
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
    median: float | None = None  # of everybody's scores, where "favourably" means above it
    adapted: int = 0  # people of a run whose labels decisions were adapted to; nobody decided

    @property
    def others(self) -> str:
        """Say who else is in the data; empty if nobody is."""
        if not self.adapted:
            return ""
        return (
            f" {self.adapted:,} more are in the data: decisions were adapted to their labels, and"
            " they are in no table."
        )

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
    adapted = 0
    for cell, decision, n in zip(*(part.tolist() for part in _of(totals)), strict=True):
        adapted += n if decision < 0 else 0
        if decision >= 0:
            key = tuple(cells[cell].get(name) for name in columns)
            people, selected = counts.get(key, (0, 0))
            counts[key] = (people + n, selected + n * decision)
    if not counts:
        raise FFMLError(f"{store.name} has decided about nobody yet; let it finish a task first")
    dated = bool(tasks) and all(map(is_period, tasks))
    span = (min(tasks), max(tasks)) if dated else ("", "")
    return People(store.name, favourable_of(config), columns, counts, *span, adapted=adapted)


def _of(totals: Any) -> tuple[Any, Any, Any]:
    return totals.cell, totals.decision, totals.n


def people_of_table(
    source: Source, decision: str, sensitive: Sequence[str], positive: str | None = None
) -> People:
    """Count a table of anybody's decisions; an empty cell is a group that is not known."""
    names = (*sensitive, decision)
    _refuse_columns(source, sensitive, "decision", decision)
    counted: Counter[tuple[str | None, ...]] = Counter()
    for batch in source.batches(list(names)):
        counted.update(_counted([role_texts(batch.column(one), one, "sensitive") for one in names]))
        if len(counted) > MOST_CELLS:
            raise FFMLError(_TOO_MANY)
    missing = sum(n for key, n in counted.items() if key[-1] is None)
    _refuse_missing(source, decision, missing, sum(counted.values()))
    seen = dict.fromkeys(str(key[-1]) for key in counted)
    refuse_adverse(decision, seen, positive)
    codes = label_values(decision, seen, positive, part="decision")
    chosen = {key: codes[str(key[-1])] for key in counted}
    favourable = favourable_words(decision, positive)
    return People(source.name, favourable, tuple(sensitive), _summed(counted, chosen))


def people_of_scores(source: Source, score: str, sensitive: Sequence[str]) -> People:
    """Count a table of anybody's scores: who is above the median of everybody's."""
    _refuse_columns(source, sensitive, "score", score)
    groups, scores = [], []
    for batch in source.batches([*sensitive, score]):
        texts = [role_texts(batch.column(one), one, "sensitive") for one in sensitive]
        groups.append(pa.table(texts, names=[str(i) for i in range(len(texts))]))
        scores.append(_numbers(batch.column(score), score))
    values = np.concatenate(scores) if scores else np.zeros(0)
    _refuse_missing(source, score, int(np.isnan(values).sum()), len(values))
    median = float(np.median(values))
    above = pa.array(np.where(values > median, "1", "0"))
    counted = _counted([*pa.concat_tables(groups).columns, above])
    if len(counted) > MOST_CELLS:
        raise FFMLError(_TOO_MANY)
    chosen = {key: int(str(key[-1])) for key in counted}
    counts = _summed(counted, chosen)
    return People(source.name, "", tuple(sensitive), counts, median=median)


_TOO_MANY = f"more than {MOST_CELLS:,} combinations; give columns of few groups"


def _refuse_columns(source: Source, sensitive: Sequence[str], role: str, column: str) -> None:
    for name in (*sensitive, column):
        refuse_unknown(role if name == column else "sensitive", name, source.columns)


def _refuse_missing(source: Source, column: str, missing: int, rows: int) -> None:
    if missing:
        raise FFMLError(f"{missing} rows have no '{column}'; fill them in, or leave them out")
    if not rows:
        raise FFMLError(f"{source.name} has no rows; at least one is needed")


def _numbers(column: pa.Array, name: str) -> np.ndarray:
    """Return scores as numbers, NaN where there is none."""
    try:
        return np.asarray(column.cast(pa.float64()).to_numpy(zero_copy_only=False), float)
    except pa.ArrowInvalid as error:
        raise FFMLError(f"column '{name}' has a score that is no number ({error})") from None


def _counted(columns: Sequence[Any]) -> dict[tuple[str | None, ...], int]:
    """Count rows by the values of all columns."""
    table = pa.table(list(columns), names=[str(i) for i in range(len(columns))])
    table = table.group_by(table.column_names).aggregate([([], "count_all")])
    *keys, numbers = (table[name].to_pylist() for name in table.column_names)
    return dict(zip(zip(*keys, strict=True), numbers, strict=True))


def _summed(
    counted: Mapping[tuple[str | None, ...], int], chosen: Mapping[tuple[str | None, ...], int]
) -> dict[tuple[str | None, ...], tuple[int, int]]:
    """Return people and selected of each combination of groups."""
    counts: dict[tuple[str | None, ...], tuple[int, int]] = {}
    for key, n in counted.items():
        people, selected = counts.get(key[:-1], (0, 0))
        counts[key[:-1]] = (people + n, selected + n * chosen[key])
    return counts
