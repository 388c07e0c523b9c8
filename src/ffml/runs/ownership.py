"""Which files of a folder are ffml's own: only those are ever replaced or removed.

A new run needs a folder that is new, empty or given up by ``--overwrite``; what else is in there
stays as it is. The folder itself may be a link, but no link inside it is followed.
"""

import json
import os
import re
from pathlib import Path
from typing import Any

from ffml.base import FFMLError
from ffml.scoring.model import MODEL
from ffml.store.durable import LOCK, refuse_link, temporary
from ffml.runs.files import CARD, CONFIG, REPORT, SUMMARY, TABLES
from ffml.runs.generations import FOLDER, generations

WRITTEN = (*TABLES, SUMMARY, REPORT, CARD, MODEL)  # after the first round; before it, CONFIG alone
_CHECKPOINT = re.compile(r"(round-\d+(-\d+)?|(task|rounds)-[0-9a-f]{64})\.safetensors")


def check_out(folder: Path, overwrite: bool) -> None:
    """Refuse a folder for a new run that cannot be written, or in which something would be lost."""
    check_writable(folder)
    if not folder.is_dir():
        return
    refuse_links(folder)
    if holds_run(folder):
        if not overwrite:
            raise FFMLError(
                f"{folder} already holds a run; add --overwrite, or choose another --out, or go on "
                f"with it by --resume {folder}"
            )
    elif foreign := [name for name in _names(folder) if not _is_left_over(folder / name)]:
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


def refuse_links(run_dir: Path) -> None:
    """Refuse links in the places of a run's files: what they point to is not the run's."""
    for name in (FOLDER, "decisions", LOCK, CONFIG, *WRITTEN):
        refuse_link(run_dir / name)
        refuse_link(temporary(run_dir / name))


def holds_run(folder: Path) -> bool:
    """Tell whether a folder holds a run, be it damaged."""
    return read_config(folder) is not None or bool(generations(folder))


def read_config(run_dir: Path) -> dict[str, Any] | None:
    """Read config.json; None if it is not there or is not that of a run."""
    try:
        config = json.loads((run_dir / CONFIG).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    whole = isinstance(config, dict) and all(
        isinstance(config.get(part), kind)
        for part, kind in {"run": dict, "data": dict, "ffml_version": str, "devices": int}.items()
    )
    return config if whole and isinstance(config["run"].get("data"), str) else None


def checkpoint_files(folder: Path) -> set[str]:
    """Name the files in a checkpoint folder that a run wrote; others are not its business."""
    return {name for name in _names(folder) if _is_checkpoint(folder / name)}


def _is_checkpoint(path: Path) -> bool:
    name = path.name
    if name.startswith(".") and name.endswith(".tmp"):
        name = name[1:-4]
    return bool(_CHECKPOINT.fullmatch(name)) and path.is_file() and not path.is_symlink()


def _is_left_over(path: Path) -> bool:
    """Tell whether a run that was killed before it began may have left this."""
    if path.name == FOLDER:
        return path.is_dir() and checkpoint_files(path) == set(_names(path))
    return path.name in (LOCK, temporary(path.with_name(CONFIG)).name)


def _holds_results(folder: Path) -> bool:
    names = _names(folder) if folder.is_dir() else [""]
    return not names or any(n == LOCK or n.endswith(".safetensors") for n in names)


def _names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []
