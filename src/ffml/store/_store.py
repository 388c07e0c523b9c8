"""A run as a small database: opened, read by anybody, written by one at a time."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

from ffml.base import FFMLError
from ffml.store import _files
from ffml.store._database import Database, SQLite, database
from ffml.store._migrations import FORMAT, create
from ffml.store._people import PeopleReader
from ffml.store._transaction import Transaction


class Store(PeopleReader):
    """A run, in a folder or at ``postgresql://user@host/database?run=name``.

    Any thread may read and write; each process opens its own. Within `transaction` and
    `snapshot`, what a thread reads is of that transaction and of that moment.
    """

    def __init__(self, base: Database, write: bool) -> None:
        super().__init__(base)
        self._write = write
        self._cells: dict[str, int] = {}

    @property
    def writable(self) -> bool:
        """Whether the run was opened to write."""
        return self._write

    @classmethod
    def create(
        cls, address: str | Path, documents: Mapping[str, Any], who: str = "ffml"
    ) -> "Store":
        """Start a run with its first documents. Where there is one already, it is refused."""
        if "://" not in str(address):
            _files.make_database(Path(address))
        store = cls(database(address, write=True), write=True)
        with store._closed_on_failure():
            store._make(documents, who)
        return store

    @classmethod
    def open(cls, address: str | Path, write: bool = False) -> "Store":
        """Open a run that is there, to read or also to write.

        Opened to write, a run of an earlier format is brought to the newest one.
        """
        store = cls(database(address, write), write)
        with store._closed_on_failure():
            store._bring_up_to_date()
        return store

    def close(self) -> None:
        """Close all connections."""
        self._base.engine.dispose()

    def __enter__(self) -> "Store":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Store({self.name!r})"

    # -- writing -----------------------------------------------------------------------------------

    def learning(self) -> AbstractContextManager[None]:
        """Hold the long lock: one learner at a time; a second is refused at once."""
        return self._base.lock()

    @contextmanager
    def transaction(self, who: str, what: str) -> Iterator[Transaction]:
        """Write all or nothing; on leaving, the event is appended. Others wait for their turn."""
        if not self._write:
            raise FFMLError(f"{self.name} was opened to read; open it with write=True")
        if getattr(self._local, "connection", None) is not None:
            raise FFMLError("a transaction does not begin within another one or a snapshot")
        with self._base.explained(), self._connected(write=True) as connection:
            self._base.begin(connection)
            transaction = Transaction(connection, self, self._cells, who, what)
            yield transaction
            if transaction.finish():
                connection.commit()
                self._cells |= transaction.cells

    def forget(self, person: str, tasks: Sequence[str] | None = None, who: str = "ffml") -> int:
        """Take a person's id, content hash and features out of all tasks or some; count how often.

        Groups, decision, probability and labels stay, without a name, so that no rate of the past
        changes. The row's hash stays, so that `verify` still holds. Copies of the run know the
        person as before.
        """
        with self.transaction(who, "forget") as transaction:
            number = transaction.forget(person, tasks)
            if not number:
                raise FFMLError(f"the run knows no id {person!r}; check how it is written")
        with self._base.explained():
            self._base.wipe()
        return number

    # -- the parts -------------------------------------------------------------------------------

    @contextmanager
    def _closed_on_failure(self) -> Iterator[None]:
        try:
            with self._base.explained():
                yield
        except BaseException:
            self.close()
            raise

    def _make(self, documents: Mapping[str, Any], who: str) -> None:
        if isinstance(self._base, SQLite):  # cannot be set within a transaction
            with self._base.engine.connect() as connection:
                connection.connection.cursor().execute("pragma journal_mode = wal")
        with self._connected(write=True) as connection:
            if self._base.has_tables(connection):
                raise FFMLError(
                    f"{self.name} holds a run already; open it, or choose another place"
                )
            self._base.namespace(connection)
            create(connection)
            transaction = Transaction(connection, self, {}, who, "create")
            for key, value in {**documents, "format": FORMAT}.items():
                transaction.put_document(key, value)
            transaction.finish()
            connection.commit()

    def _bring_up_to_date(self) -> None:
        with self._reading() as connection:
            if not self._base.has_tables(connection):
                raise FFMLError(f"{self.name} holds no run; check the address, or start one there")
        form = self.document("format")
        if not isinstance(form, int) or not 1 <= form <= FORMAT:
            raise FFMLError(
                f"{self.name} has format {form}, this ffml reads {FORMAT}; update ffml to go on"
            )
        if form < FORMAT and self._write:
            with self.transaction("ffml", f"format {FORMAT}") as transaction:
                transaction.migrate()
