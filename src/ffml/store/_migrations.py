"""Formats by number: one function a step, in order, each run within a transaction.

Alembic is not used: a run is a file that travels, its format is one number in it, and a step is a
few lines of SQL. A new format appends a function to ``STEPS``; a new run goes through all of them.
"""

from collections.abc import Callable

import sqlalchemy as sa

from ffml.store import _schema


def _first(connection: sa.Connection) -> None:
    _schema.metadata.create_all(connection, checkfirst=False)
    connection.exec_driver_sql(_schema.PEOPLE)


STEPS: tuple[Callable[[sa.Connection], None], ...] = (_first,)
FORMAT = len(STEPS)


def migrate(connection: sa.Connection, at: int) -> None:
    """Bring a run from format ``at`` (0: no tables yet) to the newest."""
    for step in STEPS[at:]:
        step(connection)
