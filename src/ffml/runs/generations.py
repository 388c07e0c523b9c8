"""The last rounds' checkpoint files in a run directory: which there are, and the newest good one.

Nothing here needs JAX, so that predictions can be made where it is not installed.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from ffml.base import FFMLError
from ffml.store.container import Contents, DamagedFileError, read
from ffml.runs.history import history_of, joined_history

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
            contents = with_past(read(path), path.parent)
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


def with_past(contents: Contents, folder: Path) -> Contents:
    """Add the rounds long past, which are in files of their own, to those of a checkpoint."""
    past = [read(folder / name) for name in past_files(contents.document)]
    if not past:
        return contents
    parts = [Contents(part.document["history"], part.arrays) for part in past]
    history = joined_history([*parts, history_of(contents)])
    stream = contents.document["stream"]
    digests = [digest for part in past for digest in part.document["digests"]]
    stream = stream | {"digests": [*digests, *stream["digests"]]}
    return Contents(
        contents.document | {"history": history.document, "stream": stream},
        contents.arrays | history.arrays,
    )


def past_files(document: Mapping[str, Any]) -> list[str]:
    """Name the files of a checkpoint's rounds long past; short runs have none."""
    return document.get("past", [])


def _age(found: tuple[re.Match[str], Path]) -> tuple[int, int]:
    match, _ = found
    return -int(match[1]), -int(match[2] or 0)


def _files(run_dir: Path) -> list[Path]:
    folder = run_dir / FOLDER
    return list(folder.iterdir()) if folder.is_dir() else []
