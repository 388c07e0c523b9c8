"""Many jobs: in processes of this machine, on a cluster, or one after another in this process."""

import time
import traceback
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing
from functools import partial
from importlib import import_module
from typing import Any, cast

from ffml.base import FFMLError
from ffml.border import one_of

Compute = Callable[[Any, Callable[..., None]], Any]  # job, say -> what to keep
Tell = Callable[..., None]  # kind of event, job, details; see `run_jobs`
HERE = "here"  # one after another in this process
_ENGINES = {"dask": "distributed", "ray": "ray"}  # backend -> the library it needs
_SHOWN = 3  # jobs named for each reason of failure


def nobody(kind: str, job: Any, *details: Any) -> None:
    """Hear what happens to a job, and do nothing."""


def run_jobs(
    compute: Compute,
    jobs: Sequence[Any],
    keep: Callable[[Any, Any], None],
    *,
    workers: int | None = None,
    backend: str | None = None,
    tell: Tell = nobody,
) -> dict[str, list[Any]]:
    """Compute all jobs; an interruption stops them at once.

    Whoever computes sends back what is to be kept, and this process alone keeps it. So a worker
    may be killed at any instant, and a job be computed twice: it is kept once, or not at all.

    Args:
        compute: called as ``compute(job, say)`` by a worker, which must be able to import it;
            returns what to keep.
        jobs: anything that can be pickled, in the order in which to start.
        keep: called as ``keep(job, result)`` here.
        workers: processes at a time, one for each core by default; a cluster has its own number.
        backend: "ray" or "dask"; `HERE`: this process; None: processes of this machine.
        tell: told of ``("started", job)``, ``("said", job, …)`` with what ``say`` was given,
            ``("finished", job, seconds)`` and ``("failed", job, reason, traceback)``, the traceback
            empty where the reason says it all. Jobs on a cluster only finish or fail.

    Returns:
        The jobs that failed, by reason.

    Raises:
        FFMLError: processes cannot start, or there is no such engine.
    """
    failures: dict[str, list[Any]] = {}
    with closing(cast(Generator, _events(compute, jobs, workers, backend, tell))) as events:
        for kind, job, *details in events:
            if kind == "finished":
                seconds, result = details
                details = [seconds]
                try:
                    keep(job, result)
                except (FFMLError, OSError) as error:
                    kind, details = "failed", [str(error), ""]
            if kind == "failed":
                failures.setdefault(details[0], []).append(job)
            tell(kind, job, *details)
    return failures


def outcome(compute: Compute, job: Any, say: Callable[..., None]) -> tuple[Any, ...]:
    """Compute a job; whatever is wrong with it is a reason, not an end."""
    start = time.perf_counter()
    try:
        result = compute(job, say)
    except (FFMLError, OSError) as error:
        return "failed", str(error), ""
    except Exception as error:
        reason = f"{type(error).__name__}: {' '.join(str(error).split())}"
        return "failed", reason, traceback.format_exc()
    return "finished", time.perf_counter() - start, result


def failure_message(failures: Mapping[str, Sequence[Any]], total: int) -> str:
    """Name the jobs that failed (by their ``name``) and why, in one line."""
    parts = []
    for reason, jobs in failures.items():
        names = "; ".join(job.name for job in jobs[:_SHOWN])
        more = f" and {len(jobs) - _SHOWN} more" if len(jobs) > _SHOWN else ""
        parts.append(f"{names}{more}: {reason}")
    failed = sum(map(len, failures.values()))
    return f"{failed} of {total} runs failed, the others are kept: {' | '.join(parts)}"


def check_backend(backend: str | None, workers: int | None = None) -> None:
    """Refuse an engine that is unknown or not installed, and a number of workers for one."""
    if backend is None:
        return
    engine(backend)
    if workers is not None:
        raise FFMLError(f"--jobs is for processes of this machine; leave it out with {backend}")


def engine(backend: str) -> Any:
    """Return the library that computes on a cluster."""
    name = one_of("backend", backend, _ENGINES)
    try:
        return import_module(name)
    except ImportError:
        raise FFMLError(
            f"--backend needs {name}, which is not installed; try: pip install 'ffml[engines]'"
        ) from None


def _events(
    compute: Compute, jobs: Sequence[Any], workers: int | None, backend: str | None, tell: Tell
) -> Iterator[tuple[Any, ...]]:
    from ffml.studies._clusters import on_dask, on_ray
    from ffml.studies._processes import in_processes

    if backend is None:
        yield from in_processes(compute, jobs, workers)
    elif backend == HERE:
        for job in jobs:
            tell("started", job)
            kind, *details = outcome(compute, job, partial(tell, "said", job))
            yield kind, job, *details
    else:
        library = engine(backend)
        yield from (on_ray if backend == "ray" else on_dask)(library, compute, jobs)
