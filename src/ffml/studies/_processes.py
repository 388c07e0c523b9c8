"""Jobs in parallel processes of this machine, of which any may be killed without the others.

Processes are spawned, because a fork would copy JAX's locks; each uses one core and the
compilation cache that all share. They end with the process that started them.
"""

import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection, wait
from typing import Any

from ffml.base import FFMLError
from ffml.runtime import available_cores, configure
from ffml.studies.jobs import Compute, outcome

# One process a core: libraries that would each start a thread a core are told not to.
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def in_processes(
    compute: Compute, jobs: Sequence[Any], workers: int | None = None
) -> Iterator[tuple[Any, ...]]:
    """Compute all jobs, telling what happens; closing it ends all processes at once."""
    left = deque(jobs)
    pool: dict[Any, _Worker] = {}

    def start() -> None:
        worker = _Worker(compute)
        pool[worker.connection] = worker

    try:
        for _ in range(min(workers or available_cores(), len(jobs))):
            start()
        while pool:
            for connection in wait(list(pool)):
                worker = pool[connection]
                kind, *details = worker.receive()
                if kind != "ready":
                    yield kind, worker.job, *details
                if kind == "said":
                    continue
                if not worker.process.is_alive():
                    del pool[connection]
                    if left:
                        start()
                elif left:
                    worker.take(left.popleft())
                    yield "started", worker.job
                else:
                    pool.pop(connection).stop()
    finally:
        for worker in pool.values():
            worker.process.terminate()
        for worker in pool.values():
            worker.stop()


class _Worker:
    """A process, and the job it works on."""

    def __init__(self, compute: Callable) -> None:
        context = multiprocessing.get_context("spawn")
        self.connection, theirs = context.Pipe()
        self.process = context.Process(target=_work, args=(theirs, compute), daemon=True)
        with _one_thread():
            self.process.start()
        theirs.close()  # so that the end of the process is the end of the connection
        self.job: Any = None

    def take(self, job: Any) -> None:
        """Begin with a job."""
        self.job = job
        with suppress(ConnectionError):  # a process that is gone says so at the next `receive`
            self.connection.send(job)

    def receive(self) -> tuple[Any, ...]:
        """Return what the process says; its end is the failure of its job.

        Raises:
            FFMLError: it ended before it could take a job, as every other one would.
        """
        try:
            return self.connection.recv()
        except (EOFError, ConnectionError):
            self.process.join(5)
            self.stop()
        code = self.process.exitcode or 0
        if self.job is None:
            raise FFMLError(
                f"processes cannot start (exit code {code}); a script must run them under: "
                'if __name__ == "__main__":'
            )
        if code < 0:
            why = f"was killed (signal {-code}), perhaps for want of memory; use fewer --jobs"
            return "failed", f"its process {why}", ""
        return "failed", f"its process ended with exit code {code}", ""

    def stop(self) -> None:
        """End the process, whatever it is doing."""
        self.process.terminate()
        self.process.join(5)
        self.process.kill()
        self.process.join()
        self.connection.close()


@contextmanager
def _one_thread() -> Iterator[None]:
    """Set the environment that a new process starts with."""
    before = {name: os.environ[name] for name in _THREADS if name in os.environ}
    os.environ.update(dict.fromkeys(_THREADS, "1"))
    try:
        yield
    finally:
        for name in _THREADS:
            del os.environ[name]
        os.environ.update(before)


# -- in the process --------------------------------------------------------------------------


def _work(connection: Connection, compute: Callable) -> None:
    """Compute the jobs that come in until the process is ended."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides what Ctrl-C does
    threading.Thread(target=_end_with_parent, daemon=True).start()
    configure(devices=1)

    def say(*details: Any) -> None:
        connection.send(("said", *details))

    with suppress(EOFError, ConnectionError):  # the parent is gone
        connection.send(("ready",))
        while True:
            connection.send(outcome(compute, connection.recv(), say))


def _end_with_parent() -> None:
    """Do not outlive the process that would hear of the results."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)
