"""Which files of a folder are ffml's own: only those are ever replaced or removed.

A new run needs a folder that is new, empty or given up by ``--overwrite``; what else is in there
stays as it is. The folder itself may be a link, but no link inside it is followed.
"""

import os
from contextlib import suppress
from pathlib import Path

from ffml.base import FFMLError
from ffml.report.files import CARD, CONFIG, REPORT, SUMMARY, TABLES
from ffml.scoring.model import MODEL
from ffml.store import holds_run, locked
from ffml.store.durable import LOCK, refuse_link, temporary, unlink

LEDGER = ("run.db", "run.db-wal", "run.db-shm", "run.lock")
VIEWS = (CONFIG, *TABLES, SUMMARY, REPORT, CARD, MODEL)


def check_out(folder: Path, overwrite: bool) -> None:
    """Refuse a folder for a new run that cannot be written, or in which something would be lost."""
    check_writable(folder)
    if not folder.is_dir():
        return
    refuse_links(folder)
    if holds_run(folder) or _is_old(folder):
        if not overwrite:
            raise FFMLError(
                f"{folder} already holds a run; add --overwrite, or choose another --out, or go on "
                f"with it by --resume {folder}"
            )
    elif foreign := [name for name in _names(folder) if name not in LEDGER]:
        raise FFMLError(f"{folder} holds {foreign[0]}, but no run; choose another --out")


def check_results(folder: Path, *parts: Path, ours: bool = False) -> None:
    """Refuse a folder for results that holds anything, unless results of this kind are among it.

    Args:
        folder: ``--out`` of a command that goes on where it was.
        *parts: its sub-folders for what is finished: they show whose the folder is.
        ours: whether something else shows that the folder is the command's.
    """
    check_writable(folder)
    for part in parts:
        refuse_link(part)
    names = _names(folder)
    if names and not ours and not any(_holds_results(part) for part in parts):
        raise FFMLError(
            f"{folder} holds {names[0]}, but no results of this command; choose another --out"
        )


def check_writable(folder: Path) -> None:
    """Refuse a folder that cannot be written."""
    existing = folder
    while not existing.exists():
        existing = existing.parent
    if not existing.is_dir():
        raise FFMLError(f"{existing} is a file, not a folder; choose another --out")
    if not os.access(existing, os.R_OK | os.W_OK | os.X_OK):
        raise FFMLError(f"{existing} is not writable; choose another --out")


def refuse_links(folder: Path) -> None:
    """Refuse links in the places of a run's files: what they point to is not the run's."""
    for name in (*LEDGER, *VIEWS):
        refuse_link(folder / name)
        refuse_link(temporary(folder / name))


def give_up(folder: Path) -> None:
    """Make place for a new run, unless somebody is learning there."""
    if folder.is_dir():
        with locked(folder):
            clear(folder)


def clear(folder: Path, whole: bool = False) -> None:
    """Remove a run's own files from a folder; ``whole``: the folder too, if it is empty then."""
    if not folder.is_dir():
        return
    for name in (*VIEWS, *LEDGER):
        unlink(temporary(folder / name))
        unlink(folder / name)
    if whole:
        with suppress(OSError):  # it holds files of the person's
            folder.rmdir()


def _is_old(folder: Path) -> bool:
    """Tell a run of ffml 0.2."""
    return (folder / CONFIG).exists() and (folder / "checkpoint").is_dir()


def _holds_results(folder: Path) -> bool:
    names = _names(folder) if folder.is_dir() else [""]
    return not names or any(n == LOCK or n.endswith(".safetensors") for n in names)


def _names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []
