"""A copy of a run's ledger in another folder."""

import sqlite3
from contextlib import closing
from pathlib import Path

from ffml.store._files import DATABASE, find_database, make_database


def copy_ledger(folder: Path, target: Path) -> None:
    """Copy a run as it is at one moment, while others may write to it."""
    database = find_database(folder)
    make_database(target)
    with (
        closing(sqlite3.connect(database)) as source,
        closing(sqlite3.connect(target / DATABASE)) as copy,
    ):
        source.backup(copy)
