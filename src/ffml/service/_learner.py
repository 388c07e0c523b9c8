"""Learning in a process of its own, which is spawned: deciding does not share an interpreter."""

import asyncio
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

import pyarrow as pa

from ffml.base import FFMLError
from ffml.runs import Run, open_run
from ffml.store import Busy

if TYPE_CHECKING:
    import pandas as pd

PATIENCE = 30.0  # seconds to wait for a learner of another process
T = TypeVar("T")


class Stopped(FFMLError):
    """The learning process died."""


class Learner:
    """Does one thing after another for one run."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._pool = self._fresh()

    async def call(self, function: Any, *arguments: Any) -> Any:
        """Call a function of this module there; a process that died is replaced."""
        loop, pool = asyncio.get_running_loop(), self._pool
        try:
            return await loop.run_in_executor(pool, function, self._address, *arguments)
        except BrokenProcessPool:
            if self._pool is pool:
                self._pool = self._fresh()
            raise Stopped("the learning process was stopped; give it again") from None

    def close(self) -> None:
        """Finish what has begun."""
        self._pool.shutdown(cancel_futures=True)

    @staticmethod
    def _fresh() -> ProcessPoolExecutor:
        return ProcessPoolExecutor(1, multiprocessing.get_context("spawn"), initializer=_begin)


def label(address: str, labels: pa.Table, id: str, correct: bool) -> dict[str, Any]:
    """Bring labels, and learn what is due; see `ffml.Run.label`."""
    added = _in_turn(lambda: _run(address).label(labels, id=id, correct=correct))
    return added._asdict() | {"corrections": len(added.corrections)}


def adapt(
    address: str, people: pa.Table, support: pa.Table, task: str | None, key: str | None
) -> "pd.DataFrame":
    """Decide about people of a population after adapting to its labelled rows."""
    return _run(address).decide(people, task=task, support=support, key=key)


def forget(address: str, id: str, tasks: list[str] | None) -> int:
    """Take a person out; see `ffml.Run.forget`."""
    return _in_turn(lambda: _run(address).forget(id, tasks))


def _in_turn(function: Callable[[], T]) -> T:
    """Wait while another process learns."""
    last = time.monotonic() + PATIENCE
    while True:
        try:
            return function()
        except Busy:
            if time.monotonic() > last:
                raise
        time.sleep(0.05)


def _begin() -> None:
    """Let Ctrl-C end the service, which then lets this process finish; end with it if it is killed.

    What is being learned then was not said to anybody, and its transaction is undone.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if (parent := multiprocessing.parent_process()) is not None:
        threading.Thread(target=_end_with, args=(parent,), daemon=True).start()


def _end_with(parent: Any) -> None:
    parent.join()
    os._exit(1)


@cache
def _run(address: str) -> Run:
    from ffml.runtime import configure

    run = open_run(address)
    configure(run.config.get("devices"))
    return run
