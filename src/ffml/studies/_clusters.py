"""Jobs on a cluster, by its own scheduler: what a lost worker was computing is computed elsewhere.

Both engines find their cluster themselves: by ``RAY_ADDRESS`` and ``DASK_SCHEDULER_ADDRESS``, or
they start one on this machine. Workers need the same ffml, and tables of your own under the same
path; what they compute is sent back, so they need not share a disk.

Not through joblib: a worker that is killed ends everything there (``TerminatedWorkerError`` of its
own processes, ``ActorDiedError`` with ``ray.util.joblib``).
"""

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

from ffml.runtime import configure
from ffml.studies.jobs import Compute, outcome

RETRIES = 3  # of a job whose worker was lost, perhaps because of the job


def on_ray(ray: Any, compute: Compute, jobs: Sequence[Any]) -> Iterator[tuple[Any, ...]]:
    """Compute all jobs as Ray tasks of one core each, telling what happens."""
    ours = not ray.is_initialized()
    if ours:
        ray.init(log_to_driver=False, logging_level="ERROR")
    try:
        remote = ray.remote(num_cpus=1, max_retries=RETRIES)(on_worker)
        waiting = {remote.remote(compute, job): job for job in jobs}
        while waiting:
            done = ray.wait(list(waiting))[0][0]
            try:
                kind, *details = ray.get(done)
            except ray.exceptions.RayError as error:
                kind, details = "failed", _lost(error)
            yield kind, waiting.pop(done), *details
    finally:
        if ours:
            ray.shutdown()


def on_dask(distributed: Any, compute: Compute, jobs: Sequence[Any]) -> Iterator[tuple[Any, ...]]:
    """Compute all jobs as Dask tasks, telling what happens."""
    with distributed.Client(set_as_default=False) as client:
        futures = {client.submit(on_worker, compute, job, pure=False): job for job in jobs}
        for future in distributed.as_completed(list(futures), loop=client.loop):
            try:
                kind, *details = future.result()
            except distributed.KilledWorker as error:
                kind, details = "failed", _lost(error)
            yield kind, futures.pop(future), *details


def on_worker(compute: Compute, job: Any) -> tuple[Any, ...]:
    """Compute a job in a worker; nobody hears what it says on the way."""
    _one_device()
    return outcome(compute, job, lambda *details: None)


def _lost(error: Exception) -> list[str]:
    """Say why an engine gave a job up; most often its workers were lost again and again."""
    reason = f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0]}"
    return [f"the cluster gave it up ({reason})", str(error)]


@cache
def _one_device() -> None:
    configure(devices=1)
