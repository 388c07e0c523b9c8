"""Many jobs at a time: in processes of this machine, or on a cluster."""

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing
from typing import Any, cast

from ffml.base import FFMLError
from ffml.border import one_of
from ffml.studies.clusters import CLUSTERS
from ffml.studies.outcomes import Compute
from ffml.studies.processes import in_processes

_SHOWN = 3  # jobs named for each reason of failure


def run_jobs(
    compute: Compute,
    jobs: Sequence[Any],
    keep: Callable[[Any, Any], None],
    *,
    workers: int | None = None,
    backend: str | None = None,
    tell: Callable[..., None] = lambda kind, job, *details: None,
) -> dict[str, list[Any]]:
    """Compute all jobs; an interruption stops them at once.

    Whoever computes sends back what is to be kept, and this process alone keeps it. So a worker
    may be killed at any instant, and a job be computed twice: it is kept once, or not at all.

    Args:
        compute: called as ``compute(job, say)`` by a worker, which must be able to import it;
            returns what to keep.
        jobs: anything that can be pickled, in the order in which to start.
        keep: called as ``keep(job, found)`` here.
        workers: processes at a time, one for each core by default; a cluster has its own number.
        backend: a name of `ffml.studies.clusters.CLUSTERS`; None means processes.
        tell: told of ``("started", job)``, ``("said", job, …)`` with what ``say`` was given,
            ``("finished", job, seconds)`` and ``("failed", job, reason, traceback)``, the traceback
            empty where the reason says it all. Jobs on a cluster only finish or fail.

    Returns:
        The jobs that failed, by reason.

    Raises:
        FFMLError: processes cannot start, or there is no such engine.
    """
    failures: dict[str, list[Any]] = {}
    if backend is None:
        events = in_processes(compute, jobs, workers)
    else:
        events = one_of("backend", backend, CLUSTERS)(compute, jobs)
    with closing(cast(Generator, events)):
        for kind, job, *details in events:
            if kind == "finished":
                seconds, found = details
                details = [seconds]
                try:
                    keep(job, found)
                except (FFMLError, OSError) as error:
                    kind, details = "failed", [str(error), ""]
            if kind == "failed":
                failures.setdefault(details[0], []).append(job)
            tell(kind, job, *details)
    return failures


def failure_message(failures: Mapping[str, Sequence[Any]], total: int) -> str:
    """Name the jobs that failed (by their ``name``) and why, in one line."""
    parts = []
    for reason, jobs in failures.items():
        names = "; ".join(job.name for job in jobs[:_SHOWN])
        more = f" and {len(jobs) - _SHOWN} more" if len(jobs) > _SHOWN else ""
        parts.append(f"{names}{more}: {reason}")
    failed = sum(map(len, failures.values()))
    return f"{failed} of {total} runs failed, the others are kept: {' | '.join(parts)}"
