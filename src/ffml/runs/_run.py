"""The front door: a run, what can be asked of it and what can be done with it."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from ffml.base import FFMLError
from ffml.runs._promotion import Promotion
from ffml.store import Store

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    from ffml.base import Task
    from ffml.documents import Document
    from ffml.online.state import Round
    from ffml.runs._explain import Explanation
    from ffml.runs._labels import LabelsAdded
    from ffml.runs._session import Session
    from ffml.scoring import Scorer
    from ffml.scoring.model import SavedModel


_MOST_SCORERS = 3  # besides the one just asked for


class Watcher(Protocol):
    """Who is told of rounds as they happen."""

    def working_on(self, task: "Task") -> None:
        """Say that a task is being played."""

    def show(self, record: "Round") -> None:
        """Say what came of it."""


class Run(Promotion):
    """A run: every decision about every person, every label when it comes.

    It is kept in a ledger, ``run.db`` in a folder or a PostgreSQL database. `ffml.run` starts one,
    `ffml.open` opens one that is there.

    >>> run = ffml.open("runs/loans")                    # doctest: +SKIP
    >>> run.update("month25.csv"); run.label("paid.csv")  # doctest: +SKIP
    >>> print(run.answer)                                # doctest: +SKIP
    """

    def __init__(self, store: Store, session: "Session | None" = None) -> None:
        super().__init__(store)
        self._session = session
        self._scorers: dict[int, Scorer] = {}  # by version

    @property
    def rounds(self) -> "pd.DataFrame":
        """One row a task: how many people, metrics, constraints, seconds."""
        from ffml.runs._frames import rounds_frame

        return rounds_frame(self)

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
        version: int | None = None,
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
                before gets the same decision again, and is not counted twice. False: say what would
                be decided now, also about them.
            query: for a database.
            support: labelled rows of the same population, to adapt to.
            together: find prices on these very people, who come as one task.
            key: of the request. The same request under the same key is one decision, whichever
                process it comes to and whatever was learned in between.
            version: what would this version decide? Only with ``record=False``, and as long as
                its state is kept, see `versions`.

        Returns:
            A row a person: id, task, probability, the threshold that it is compared with, decision,
            what it would be without fairness (unpriced), the version that decided, and the
            decision's number in the ledger if it was recorded.
        """
        import pandas as pd

        from ffml.runs._decide import decide_people

        if record and version is not None:
            raise FFMLError("one version decides; ask another one with record=False, or promote it")
        if key is not None and not record:
            raise FFMLError("a key is for decisions that are recorded; leave out one of the two")
        said = decide_people(
            self,
            people,
            task=task,
            record=record,
            query=query,
            support=support,
            together=together,
            key=key,
            scorer=None if version is None else self.scorer(version),
        )
        return pd.DataFrame(said, copy=False)

    def decide_together(
        self,
        people: Any,
        requests: "Sequence[tuple[int, str | None]]",
        *,
        task: str | None = None,
        scorer: "Scorer | None" = None,
    ) -> "dict[str, np.ndarray]":
        """Decide about the people of several requests, all of them recorded in one transaction.

        The columns are those of `decide`, without a data frame: for one person that would take as
        long as what it says.

        Args:
            people: as for `decide`, the rows of one request after those of another.
            requests: how many rows each has, and its key or None. No key comes twice.
            task: what population or period all of them are of.
            scorer: what decides, found before; None: that of the version that decides.
        """
        from ffml.runs._decide import decide_people

        return decide_people(self, people, task=task, parts=requests, scorer=scorer)

    # -- views -----------------------------------------------------------------------------------

    def model(self) -> "SavedModel":
        """What decisions need of the version that decides."""
        return self.scorer().model

    def scorer(self, number: int | None = None) -> "Scorer":
        """What decides about people who come one by one, found once a version; None: that decides.

        Another version is there for as long as its state is kept.
        """
        from ffml.scoring import prepare

        number = self.store.deciding if number is None else number
        if (scorer := self._scorers.get(number)) is None:
            scorer = prepare(self.session().at(number).model())
            newest = sorted(self._scorers)[-_MOST_SCORERS:]
            self._scorers = {n: self._scorers[n] for n in newest} | {number: scorer}
        return scorer

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

    def document(self, as_: str, **fields: str) -> "Document":
        """Make a document that people file, see `ffml.documents`.

        Args:
            as_: "ll144", "ugesp", "ai-act" or "model-card".
            **fields: what no count tells, such as ``owner``; what is not given is left open.

        Returns:
            It has ``to_html``, ``to_csv``, ``to_json``, and ``write`` to a path.
        """
        from ffml.documents import NEED_RUN, make_document, people_of_run
        from ffml.runs._views import facts_of

        facts = facts_of(self) if as_ in NEED_RUN else None
        return make_document(as_, people_of_run(self.store), facts, fields)

    def explain(self, id: str, task: str | None = None, person: Any = None) -> "Explanation":
        """Say which inputs moved the score of one person most, see `ffml.runs._explain`.

        Args:
            id: the person's.
            task: in which task, if there are several decisions about that id.
            person: the person's row, where the ledger keeps no features: a path or a data frame.
        """
        from ffml.runs._explain import explain_person

        return explain_person(self, id, task, person)

    def write_views(self) -> Path | None:
        """Write the files beside the ledger if they are missing or stale; return the report."""
        from ffml.runs._views import write_views

        return write_views(self)

    # -- the ledger itself -----------------------------------------------------------------------

    def forget(self, id: str, tasks: str | list[str] | None = None) -> int:
        """Take a person's id and features out of the ledger; return of how many decisions.

        Args:
            id: the person's.
            tasks: in which tasks; None: in all.
        """
        tasks = [tasks] if isinstance(tasks, str) else tasks
        with self.learning() as session:
            session.forget(id, tasks)
            return self.store.forget(id, tasks)

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


def open_run(address: str | Path, write: bool = True, token: str | None = None) -> Run:
    """Open a run: its folder, or ``postgresql://user@host/database?run=name``.

    A service's is ``http://host:port/runs/name``, with a token or that of ``FFML_TOKEN``.
    """
    if str(address).startswith(("http://", "https://")):
        from ffml.runs._remote import RemoteRun

        return RemoteRun(str(address), token)
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
