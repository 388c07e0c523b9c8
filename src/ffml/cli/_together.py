"""One run by several processes: all compute, and the first alone writes and prints."""

import os
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from ffml.base import FFMLError

if TYPE_CHECKING:
    from ffml.base import Task
    from ffml.online.loop import Loop
    from ffml.online.state import LoopState


def is_distributed() -> bool:
    """Tell whether this is one of several processes that share a run, see docs/scale.md."""
    value = os.environ.get("FFML_DISTRIBUTED", "0")
    if value not in ("0", "1"):
        raise FFMLError(f"FFML_DISTRIBUTED must be 0 or 1, got '{value}'")
    return value == "1"


def joined() -> bool:
    """Start JAX as one of several processes; return whether this one writes and prints."""
    from ffml.runtime import configure, is_first_process, join_processes

    # The library that sums over processes prints to the standard output, where JSON may go.
    ours = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding=sys.stdout.encoding)
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    sys.stdout = ours
    configure()
    join_processes()
    return is_first_process()


def follow(loop: "Loop", state: "LoopState", tasks: "Iterable[Task]") -> None:
    """Take part in the rounds of a run that the first process writes."""
    from ffml.online.loop import step
    from ffml.runtime import refuse_differences

    try:
        for task in tasks:
            state, _ = step(loop, state, task)
            refuse_differences(state.learner)
    except KeyboardInterrupt:
        raise typer.Exit(130) from None


@contextmanager
def own_copy(run: str, first: bool) -> Iterator[str]:
    """Give a run to the first process, and a copy of it to each of the others.

    The first goes on once all have theirs: it will change the run.
    """
    from ffml.runtime import wait_for_all
    from ffml.store.copying import copy_ledger

    if "://" in run:
        raise FFMLError("several processes go on with a run in a folder only; use one process")
    with tempfile.TemporaryDirectory(prefix="ffml-") as temporary:
        copy = Path(run) if first else Path(temporary) / "run"
        if not first:
            copy_ledger(Path(run), copy)
        wait_for_all("read")
        yield str(copy)
