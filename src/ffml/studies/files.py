"""What all studies write: files that are whole or not there, and how their numbers came about."""

import platform
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ffml.recipe.saved import versions
from ffml.runtime import available_cores
from ffml.store import durable


def made_by(command: str) -> dict[str, Any]:
    """Return what is needed to repeat a study: its command, and what it ran on."""
    return {
        "command": command,
        "date": datetime.now(UTC).date().isoformat(),
        "versions": {"python": platform.python_version(), **versions()},
        "cores": available_cores(),
    }


def write_files(folder: Path, files: Mapping[str, str | bytes]) -> None:
    """Write files by name, in their order, each of them whole or not at all."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        durable.write_atomically(folder / name, content)
