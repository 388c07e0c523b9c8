"""Jobs on a cluster, by its own scheduler: what a lost worker was computing is computed elsewhere.

Both engines find their cluster themselves: by ``RAY_ADDRESS`` and ``DASK_SCHEDULER_ADDRESS``, or
they start one on this machine. Workers need the same ffml, and tables of your own under the same
path; what they compute is sent back, so they need not share a disk.

Not through joblib: a worker that is killed ends everything there (``TerminatedWorkerError`` of its
own processes, ``ActorDiedError`` with ``ray.util.joblib``).
"""

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from importlib import import_module
from typing import Any

from ffml.base import FFMLError
from ffml.border import one_of
from ffml.runtime import configure
from ffml.studies.outcomes import Compute, Happened, outcome

RETRIES = 3  # of a job whose worker was lost, perhaps because of the job
_MODULES = {"dask": "distributed", "ray": "ray"}


def on_ray(compute: Compute, jobs: Sequence[Any]) -> Iterator[Happened]:
    """Compute all jobs as Ray tasks of one core each, telling what happens."""
    ray = _engine(_MODULES["ray"])
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


def on_dask(compute: Compute, jobs: Sequence[Any]) -> Iterator[Happened]:
    """Compute all jobs as Dask tasks, telling what happens."""
    distributed = _engine(_MODULES["dask"])
    with distributed.Client(set_as_default=False) as client:
        futures = {client.submit(on_worker, compute, job, pure=False): job for job in jobs}
        for future in distributed.as_completed(list(futures), loop=client.loop):
            try:
                kind, *details = future.result()
            except distributed.KilledWorker as error:
                kind, details = "failed", _lost(error)
            yield kind, futures.pop(future), *details


CLUSTERS: dict[str, Callable[[Compute, Sequence[Any]], Iterator[Happened]]] = {
    "dask": on_dask,
    "ray": on_ray,
}


def check_backend(backend: str | None, workers: int | None = None) -> None:
    """Refuse an engine that is unknown or not installed, and a number of workers for one."""
    if backend is None:
        return
    one_of("backend", backend, CLUSTERS)
    _engine(_MODULES[backend])
    if workers is not None:
        raise FFMLError(f"--jobs is for processes of this machine; leave it out with {backend}")


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


def _engine(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError:
        raise FFMLError(
            f"--backend needs {name}, which is not installed; try: pip install 'ffml[engines]'"
        ) from None
