"""Formats by number: one function a step, in order, all of them in one transaction.

Alembic is not used: a run is a file that travels, its format is one number in it, and a step is a
few lines of SQL. A new format appends a function to ``STEPS``, and `_schema` has the newest.
"""

from collections.abc import Callable

import sqlalchemy as sa

from ffml.store import _schema


def create(connection: sa.Connection) -> None:
    """Make all tables of a new run."""
    _schema.metadata.create_all(connection, checkfirst=False)
    connection.exec_driver_sql(_schema.PEOPLE)


def _requests(connection: sa.Connection) -> None:
    """Format 2: requests by key, and decisions by their time."""
    _schema.requests.create(connection)
    for table, name in ((_schema.events, "events_at"), (_schema.decisions, "decisions_event")):
        next(index for index in table.indexes if index.name == name).create(connection)


STEPS: tuple[Callable[[sa.Connection], None], ...] = (_requests,)  # from format 1 to 2
FORMAT = len(STEPS) + 1


def migrate(connection: sa.Connection, at: int) -> None:
    """Bring a run from format ``at`` to the newest."""
    for step in STEPS[at - 1 :]:
        step(connection)
