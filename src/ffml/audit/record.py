"""What happened in a run, read from its ledger for those who judge it. Needs no JAX."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from ffml.audit.counts import Tables, tables_of
from ffml.base import FFMLError, Ratio, SensitiveColumn
from ffml.metrics.phrases import favourable_words
from ffml.recipe.asked import asked_in
from ffml.recipe.policy import with_policy
from ffml.recipe.schemas import schema_from
from ffml.store import Round, Store

COMPLETE, INTERRUPTED = "complete", "interrupted"


class RunRecord(NamedTuple):
    """The tasks of a run with the counts of everybody decided about."""

    config: dict[str, Any]
    columns: tuple[SensitiveColumn, ...]
    kept: list[Round]  # a row a task
    counts: Tables  # (T, k, 3, 2) by column
    head: str  # hash of the newest event
    raised: list[dict[str, Any]]  # alarms that stand

    @property
    def tables(self) -> dict[str, np.ndarray]:
        """Counts ``(T, k, 3, 2)`` by column: group, label or unknown, decision."""
        return self.counts.decided

    @property
    def moved(self) -> dict[str, list[dict[str, Any]]]:
        """How many of each group fairness moved, by column; empty where it moved nobody."""
        return {
            column.name: [
                {"group": name, "people": int(n), "away": int(away), "towards": int(towards)}
                for name, n, (away, towards) in zip(
                    column.groups,
                    self.tables[column.name].sum((0, 2, 3)),
                    self.counts.moved[column.name],
                    strict=True,
                )
            ]
            for column in self.columns
            if column.name in self.counts.moved and self.counts.moved[column.name].any()
        }

    @property
    def tasks(self) -> tuple[str, ...]:
        """Names of the tasks."""
        return tuple(row.task for row in self.kept)

    @property
    def constraint(self) -> np.ndarray:
        """Constraints ``(T, m)``, NaN where not measurable."""
        rows = [row.document["constraint"] for row in self.kept if "constraint" in row.document]
        return np.array([[np.nan if v is None else v for v in row] for row in rows], float)

    @property
    def asked(self) -> tuple[tuple[str, float | Ratio], ...]:
        """What the run was asked for."""
        return asked_in(self.config)

    @property
    def favourable(self) -> str:
        """The favourable outcome in the user's words."""
        return favourable_of(self.config)

    @property
    def policy(self) -> str:
        """Who is decided favourably; "sign" where the method has a rule of its own."""
        return with_policy(self.config.get("run", {})).get("policy") or "sign"

    @property
    def done(self) -> int:
        """How many tasks there are."""
        return len(self.kept)

    @property
    def planned(self) -> int | None:
        """How many the first table had; None where it did not say."""
        return planned_rounds(self.config)

    @property
    def finished(self) -> bool:
        """Whether the first table was played to its end."""
        return self.planned is None or self.done >= self.planned

    @property
    def status(self) -> str:
        """ "complete", or "interrupted" before the end of the first table."""
        return COMPLETE if self.finished else INTERRUPTED

    @property
    def judged(self) -> int:
        """How many tasks have people decided about."""
        return int(self.counts.everybody.any((1, 2)).sum())

    @property
    def notes(self) -> list[str]:
        """What a person should know."""
        missing = int(self.counts.everybody[:, 2].sum())
        said = [f"labels of {missing:,} people are not there yet"] if missing else []
        return said + [
            f"the {name} of {people:,} people is not known, so that no rate has them"
            for name, people in self.counts.unknown.items()
            if people
        ]


def favourable_of(config: Mapping[str, Any]) -> str:
    """Name the favourable outcome of a run in the user's words."""
    data = config["data"]
    return favourable_words(data.get("label"), (data.get("roles") or {}).get("positive"))


def read_record(store: Store) -> RunRecord:
    """Read a run as it stands at one moment."""
    with store.snapshot():
        config, kept = store.document("config"), store.rounds()
        if not kept:
            raise FFMLError(f"{store.name} has no task done; go on with it by --resume")
        columns = schema_from(store.document("schema")).sensitive
        counts = tables_of(store.counts(), store.cells(), columns, kept[-1].round)
        raised = store.document("alarms") or []
        return RunRecord(config, columns, kept, counts, store.head, raised)


def planned_rounds(config: Mapping[str, Any]) -> int | None:
    """Return how many rounds a whole run has by its configuration, where that is known."""
    limits = (config.get("rounds"), config.get("data", {}).get("num_tasks"))
    return min(filter(None, limits), default=None)
