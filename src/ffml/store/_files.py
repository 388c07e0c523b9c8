"""The files of a run in a folder: ours are these four, readable by the owner only.

The folder itself may be a link, but none of the files. A folder that is made here is closed to
others too; one that was there keeps its rights.
"""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from urllib.parse import quote

from ffml.base import FFMLError
from ffml.store.durable import sync_folder

DATABASE, LOCK = "run.db", "run.lock"
NAMES = (DATABASE, f"{DATABASE}-wal", f"{DATABASE}-shm", LOCK)
_NO_LINKS = getattr(os, "O_NOFOLLOW", 0)


def refuse_links(folder: Path) -> None:
    """Refuse links in the places of our files: what they point to is not ours."""
    for name in NAMES:
        if (folder / name).is_symlink():
            raise FFMLError(
                f"{folder / name} is a link, which ffml does not follow; remove it, then go on"
            )


def make_database(folder: Path) -> None:
    """Make the folder and an empty file for the database, where they are missing."""
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        refuse_links(folder)
        os.close(os.open(folder / DATABASE, os.O_RDWR | os.O_CREAT | _NO_LINKS, 0o600))
        sync_folder(folder)
    except (FileExistsError, NotADirectoryError):
        raise FFMLError(f"{folder} is not a folder; choose another") from None
    except OSError as error:
        raise FFMLError(f"cannot write to {folder} ({error.strerror}); choose another") from error


def find_database(folder: Path) -> Path:
    """Return the database of a folder that holds a run."""
    refuse_links(folder)
    if not (folder / DATABASE).is_file():
        raise FFMLError(
            f"{folder} holds no run ({DATABASE} is missing); check the path, or start one there"
        )
    return folder / DATABASE


def holds_run(folder: Path) -> bool:
    """Tell whether a run has begun in a folder, damaged or not; a start that was killed has not.

    Raises:
        FFMLError: there is a database of another kind.
    """
    path = folder / DATABASE
    if not path.is_file() or not path.stat().st_size:
        return False
    try:
        with closing(sqlite3.connect(f"file:{quote(str(path))}?mode=rw", uri=True)) as raw:
            names = {name for (name,) in raw.execute("select name from sqlite_master")}
    except sqlite3.Error:
        return True
    if names and "run" not in names:
        raise FFMLError(f"{path} is a database of another kind; choose another folder")
    return bool(names)


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold the folder's lock; who else asks, in this process or another, is refused at once.

    The operating system gives the lock back when the process ends, however it ends.
    """
    try:
        import fcntl
    except ImportError:  # not a POSIX system: transactions still take turns
        yield
        return
    refuse_links(folder)
    try:
        descriptor = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | _NO_LINKS, 0o600)
    except OSError as error:
        raise FFMLError(
            f"cannot write to {folder} ({error.strerror}); check the rights of file and folder"
        ) from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError:
        raise busy(str(folder)) from None
    finally:
        os.close(descriptor)


class Busy(FFMLError):
    """Somebody else is learning."""


def busy(address: str) -> Busy:
    """Say that somebody else is learning."""
    return Busy(f"somebody else is learning in {address}; wait until they are done")
