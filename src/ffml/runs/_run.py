"""The front door: a run, what can be asked of it and what can be done with it."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from ffml.audit import gate
from ffml.audit.record import RunRecord, read_record
from ffml.base import FFMLError
from ffml.store import Store, Verification, VersionRow, forget, verify

if TYPE_CHECKING:
    import pandas as pd

    from ffml.base import Task
    from ffml.online.state import Round
    from ffml.runs._answer import Answer
    from ffml.runs._labels import LabelsAdded
    from ffml.runs._session import Session
    from ffml.scoring import Scorer
    from ffml.scoring.model import SavedModel


class Watcher(Protocol):
    """Who is told of rounds as they happen."""

    def working_on(self, task: "Task") -> None:
        """Say that a task is being played."""

    def show(self, record: "Round") -> None:
        """Say what came of it."""


class Run:
    """A run: every decision about every person, every label when it comes.

    It is kept in a ledger, ``run.db`` in a folder or a PostgreSQL database. `ffml.run` starts one,
    `ffml.open` opens one that is there.

    >>> run = ffml.open("runs/loans")                    # doctest: +SKIP
    >>> run.update("month25.csv"); run.label("paid.csv")  # doctest: +SKIP
    >>> print(run.answer)                                # doctest: +SKIP
    """

    def __init__(self, store: Store, session: "Session | None" = None) -> None:
        self.store = store
        self._session = session
        self._scorer: Scorer | None = None

    def __repr__(self) -> str:
        return f"Run({self.store.name!r})"

    def close(self) -> None:
        """Close the ledger."""
        self.store.close()

    # -- what is known ---------------------------------------------------------------------------

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
        from ffml.runs._answer import Answer, answer_of
        from ffml.runs._newest import extremes

        record = self.record
        return Answer(answer_of(record) | {"extremes": extremes(self.store, record)})

    @property
    def rounds(self) -> "pd.DataFrame":
        """One row a task: how many people, metrics, constraints, seconds."""
        from ffml.runs._frames import rounds_frame

        return rounds_frame(self)

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
        return gate.check(self.record, **limits)

    # -- what comes later ------------------------------------------------------------------------

    def update(
        self,
        data: Any = None,
        *,
        query: str | None = None,
        id: str | None = None,
        watcher: Watcher | None = None,
    ) -> "list[Round]":
        """Decide about the people of new tasks, be judged, learn.

        Args:
            data: the new rows: a path, a database's address or a data frame, with the columns of
                the run's table. Rows that came before are passed over if they are unchanged, and
                labels that have arrived since are labels. None reads the run's own data again.
            query: for a database; None is the run's own.
            id: the column that names every row, if the run has none yet.
            watcher: is told of rounds as they happen.

        Returns:
            The new rounds; none if all tasks were played before.
        """
        from ffml.runs._further import further_tasks

        with self.learning() as session:
            stream = further_tasks(self, data, query, id)
            return list(session.update(stream, "update", watcher))

    def label(
        self, data: Any, *, query: str | None = None, id: str | None = None, correct: bool = False
    ) -> "LabelsAdded":
        """Bring labels of people decided about before: judge again, learn what is due.

        Args:
            data: a table with ids and labels, and the run's column of tasks (or of time) if ids
                come again in other tasks: a path, a database's address or a data frame.
            query: for a database.
            id: its column of ids; None is the run's own. ``"number"`` finds people by the number
                that `decide` returned, whatever their task.
            correct: take labels that contradict earlier ones as corrections. Both are kept, the
                newer one counts, and what was learned from the earlier one stays learned.
        """
        from ffml.runs._further import late_labels
        from ffml.runs._labels import add_labels

        with self.learning() as session:
            labels = late_labels(self, data, query, id)
            return add_labels(session, labels, correct, "label")

    def decide(
        self,
        people: Any,
        *,
        task: str | None = None,
        record: bool = True,
        query: str | None = None,
        support: Any = None,
        together: bool = False,
        key: str | None = None,
    ) -> "pd.DataFrame":
        """Decide about people by what was learned so far.

        A person gets the same decision alone and among others: prices are those of people met
        lately (`ffml.online.decide`).

        Args:
            people: a data frame, a path, or a database's address, with the columns of features;
                groups, ids and the task as far as they are known.
            task: what population or period they are of; None reads the run's column of tasks, or
                else takes them as those who come after the newest task.
            record: write the decisions to the ledger. Whoever was decided about in that task
                before gets the same decision again, and is not counted twice.
            query: for a database.
            support: labelled rows of the same population, to adapt to.
            together: find prices on these very people, who come as one task.
            key: of the request. The same request under the same key is one decision, whichever
                process it comes to and whatever was learned in between.

        Returns:
            A row a person: id, task, probability, decision, the version that decided, and the
            decision's number in the ledger if it was recorded.
        """
        from ffml.runs._decide import decide_people

        return decide_people(
            self,
            people,
            task=task,
            record=record,
            query=query,
            support=support,
            together=together,
            key=key,
        )

    # -- versions --------------------------------------------------------------------------------

    @property
    def versions(self) -> list[VersionRow]:
        """All versions of the learner: when they were learned, which can decide, which does."""
        return self.store.versions()

    def promote(self, number: int | None = None) -> int:
        """Let a version decide from now on, whatever is learned; return its number.

        The newest three versions can be promoted, and those that were before.

        Args:
            number: the version; None: always the newest one, as in a new run.
        """
        with self.store.transaction("promote", f"version {number or 'newest'}") as ledger:
            ledger.promote(number)
        return self.store.deciding

    def roll_back(self) -> int:
        """Let the version decide that can and came before the one that does; return its number."""
        with self.store.transaction("promote", "roll back") as ledger:
            rows, now = self.store.versions(), self.store.deciding
            before = [row.number for row in rows if row.kept and row.number < now]
            if not before:
                raise FFMLError(f"no version before {now} has kept its state; promote another")
            ledger.promote(before[-1])
            ledger.what = f"roll back from version {now} to {before[-1]}"
        return before[-1]

    # -- views -----------------------------------------------------------------------------------

    def model(self) -> "SavedModel":
        """What decisions need of the version that decides."""
        return self.scorer().model

    def scorer(self) -> "Scorer":
        """What decides about people who come one by one: found once a version."""
        from ffml.scoring import prepare

        number = self.store.deciding
        if self._scorer is None or self._scorer.model.version != number:
            self._scorer = prepare(self.session().at(number).model())
        return self._scorer

    def summary(self) -> dict[str, Any]:
        """What summary.json holds: the answer, and the numbers behind it."""
        from ffml.runs._views import summary_of

        return summary_of(self)

    def report(self, path: str | Path | None = None, *, beside: "Sequence[Run]" = ()) -> Path:
        """Write the report as one HTML page.

        Args:
            path: where to; None: ``report.html`` in the run's folder.
            beside: other runs about the same people, to be shown beside this one.
        """
        from ffml.runs._views import write_report

        return write_report(self, path, beside)

    def write_views(self) -> Path | None:
        """Write the files beside the ledger if they are missing or stale; return the report."""
        from ffml.runs._views import write_views

        return write_views(self)

    # -- the ledger itself -----------------------------------------------------------------------

    def verify(self, head: str | None = None) -> Verification:
        """Look for what was changed, removed or added by others; see `ffml.store.verify`."""
        return verify(self.store, head)

    def forget(self, id: str, tasks: list[str] | None = None) -> int:
        """Take a person's id and features out of the ledger; return of how many decisions."""
        with self.learning() as session:
            session.forget(id, tasks)
            return forget(self.store, id, tasks)

    def replay(self, data: Any = None) -> bool:
        """Learn everything again from the run's data and the ledger's labels; compare the bytes."""
        from ffml.runs._replay import replay

        return replay(self, data)

    # -- the parts -------------------------------------------------------------------------------

    def session(self) -> "Session":
        """Stand where the ledger's newest version stands."""
        from ffml.runs._session import Session

        if self._session is None or self._session.version != self.store.version_number:
            self._session = Session.resume(self.store)
        return self._session

    @contextmanager
    def learning(self) -> "Iterator[Session]":
        """Stand there alone: who else wants to learn is refused until this one is done."""
        with self.store.learning():
            yield self.session()

    @property
    def folder(self) -> Path | None:
        """The run's folder; None for a run in a database."""
        return None if "://" in self.store.name else Path(self.store.name)


def open_run(address: str | Path, write: bool = True) -> Run:
    """Open a run: its folder, or ``postgresql://user@host/database?run=name``."""
    refuse_old(address)
    return Run(Store.open(address, write=write))


open = open_run  # as `ffml.open`


def refuse_old(address: str | Path) -> None:
    """Refuse a folder of ffml 0.2, which kept checkpoints instead of a ledger."""
    folder = Path(str(address))
    if "://" in str(address) or (folder / "run.db").exists():
        return
    if (folder / "checkpoint").is_dir():
        raise FFMLError(
            f"{folder} was written by ffml 0.2 or before, which kept no ledger; convert it once "
            f"with: ffml upgrade {folder}"
        )
