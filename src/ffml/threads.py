"""How many cores there are, and one thread where more would only wait for each other."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any


def available_cores() -> int:
    """Count the cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def one_thread(kind: str | None = None) -> Iterator[None]:
    """Let NumPy, SciPy and scikit-learn work with one thread inside of a ``with`` block.

    Their matrices are small here: threads cost more than they gain, most of all on a machine that
    is busy with something else. With one thread the same seed gives the same bytes on any number
    of cores.

    Args:
        kind: "openmp" for scikit-learn's own loops alone, which each thread sets for itself; what
            it sets for "blas", or for all, holds for all threads.
    """
    with _controller().limit(limits=1, user_api=kind):
        yield


@lru_cache(maxsize=1)
def _controller() -> Any:
    """Find the libraries once; each search takes milliseconds."""
    import scipy.linalg  # noqa: F401  so that it is found
    import sklearn.utils  # noqa: F401
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
