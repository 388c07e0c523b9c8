"""The last rounds' checkpoint files in a run directory: which there are, and the newest good one.

Nothing here needs JAX, so that predictions can be made where it is not installed.
"""

import re
from pathlib import Path
from typing import NamedTuple

from ffml.base import FFMLError
from ffml.runs.container import Contents, DamagedFileError, read

FOLDER = "checkpoint"
_NAME = re.compile(r"round-(\d+)(?:-(\d+))?\.safetensors")


class Newest(NamedTuple):
    """The newest good checkpoint, and why later ones were passed over."""

    path: Path
    contents: Contents
    notes: list[str]


def generation_name(round_: int, labels: int = 0) -> str:
    """Name the checkpoint of a round, or of the labels that came after it for the n-th time.

    >>> generation_name(25), generation_name(25, 2)
    ('round-000025.safetensors', 'round-000025-2.safetensors')
    """
    return f"round-{round_:06d}{f'-{labels}' if labels else ''}.safetensors"


def generations(run_dir: Path) -> list[Path]:
    """List the checkpoints of a run, the newest first."""
    found = [(match, path) for path in _files(run_dir) if (match := _NAME.fullmatch(path.name))]
    return [path for match, path in sorted(found, key=_age)]


def newest_generation(run_dir: Path) -> Newest | None:
    """Read the newest checkpoint that is whole; None if there is not a single one.

    A checkpoint of a newer ffml is refused, not passed over: its round would be lost.
    """
    problems = []
    for path in generations(run_dir):
        try:
            contents = read(path)
        except DamagedFileError as error:
            problems.append(str(error))
            continue
        done = contents.document["round"]
        return Newest(path, contents, [f"{why}; going back to round {done}" for why in problems])
    if problems:
        raise FFMLError(
            f"no checkpoint of {run_dir} can be used: {'; '.join(problems)}; restore a copy, or "
            "start again with --overwrite (the same seed gives the same rounds)"
        )
    return None


def _age(found: tuple[re.Match[str], Path]) -> tuple[int, int]:
    match, _ = found
    return -int(match[1]), -int(match[2] or 0)


def _files(run_dir: Path) -> list[Path]:
    folder = run_dir / FOLDER
    return list(folder.iterdir()) if folder.is_dir() else []
