"""What is known of a run: read from its ledger, as it stands now."""

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from ffml.audit import gate
from ffml.audit.record import RunRecord, read_record
from ffml.store import Store, Verification, VersionRow, verify

if TYPE_CHECKING:
    import pandas as pd

    from ffml.runs._answer import Answer


class RunReader:
    """A run that is looked at."""

    def __init__(self, store: Store) -> None:
        self.store = store

    def __repr__(self) -> str:
        return f"Run({self.store.name!r})"

    def close(self) -> None:
        """Close the ledger."""
        self.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    @cached_property
    def config(self) -> dict[str, Any]:
        """What the run was started with."""
        return self.store.document("config")

    @property
    def record(self) -> RunRecord:
        """What happened, as the ledger knows it now."""
        return read_record(self.store)

    @property
    def answer(self) -> "Answer":
        """The fact, the verdict and the alarm about everybody decided; prints itself in words."""
        from ffml.runs._answer import Answer, answer_of, keep_shown
        from ffml.runs._newest import extremes

        record = self.record
        said = answer_of(record)
        keep_shown(self.store, record, said)
        return Answer(said | {"extremes": extremes(self.store, record)})

    @property
    def decisions(self) -> "pd.DataFrame":
        """One row a person: task, id, groups, probability, decision, label as far as known."""
        from ffml.runs._frames import decisions_frame

        return decisions_frame(self.store)

    def rates(
        self, start: str | None = None, end: str | None = None, by: str | None = None
    ) -> "pd.DataFrame":
        """Rates of groups among those decided about in some time, by when they were decided about.

        Only the decisions of that time are read, and nobody who decides meanwhile is waited for.

        Args:
            start: the first moment, UTC in ISO 8601 or the beginning of it (``2026-03``); None: the
                run's first.
            end: the moment after the last one; None: now.
            by: "year", "month", "day" or "hour": a row for each; None: one for the whole time.

        Returns:
            A row a period, protected column and group: people, positive, rate, unpriced (the rate
            without fairness), labelled, label_rate (of favourable labels among these).
        """
        from ffml.runs._frames import rates_frame

        return rates_frame(self.store, start, end, by)

    def check(self, **limits: Any) -> list[gate.Finding]:
        """Compare everybody decided about with limits, see `ffml.audit.gate.check`.

        Without limits, what the run was asked for is checked.
        """
        from ffml.runs._answer import answer_of, keep_shown

        record = self.record
        keep_shown(self.store, record, answer_of(record))
        return gate.check(record, **limits)

    @property
    def versions(self) -> list[VersionRow]:
        """All versions of the learner: when they were learned, which can decide, which does."""
        return self.store.versions()

    def verify(self, head: str | None = None) -> Verification:
        """Look for what was changed, removed or added by others; see `ffml.store.verify`."""
        return verify(self.store, head)

    @property
    def folder(self) -> Path | None:
        """The run's folder; None for a run in a database."""
        return None if "://" in self.store.name else Path(self.store.name)
