"""What documents about a run know beside its counts."""

from pathlib import PurePath
from typing import Any, NamedTuple

from ffml.metrics.by_group import by_group
from ffml.report import RunView
from ffml.store import VersionRow

RATES = (
    "rate",
    "impact_ratio",
    "accuracy",
    "true_positive_rate",
    "false_positive_rate",
    "precision",
)


class RunFacts(NamedTuple):
    """A run as its ledger stands."""

    view: RunView  # as the report knows it
    versions: list[VersionRow]
    promotion: str  # how versions come to decide: "newest", "manual" or "auto"
    decided: tuple[str, str]  # when the first and the newest event were written
    head: str  # hash of the newest event

    @property
    def data_name(self) -> str:
        """Name what was learned from, without folders."""
        name = str(self.view.config["data"].get("name"))
        return PurePath(name).name or name

    def group_rows(self) -> list[dict[str, Any]]:
        """Return rates and errors of each group, pooled; those who need labels have one."""
        return [
            {"column": column.name, "group": row["group"], "people": row["people"]}
            | {"labelled": row["n_labelled"], **{name: row[name] for name in RATES}}
            | {"small_numbers": row["small"]}
            for column in self.view.columns
            for row in by_group(self.view.counts[column.name], column)
        ]
