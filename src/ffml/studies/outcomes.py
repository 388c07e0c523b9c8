"""What becomes of a job, wherever it is computed."""

import time
import traceback
from collections.abc import Callable
from typing import Any

from ffml.base import FFMLError

Compute = Callable[[Any, Callable[..., None]], Any]  # job, say -> what to keep
# ("started", job), ("said", job, …), ("finished", job, seconds, what to keep) or
# ("failed", job, reason, traceback)
Happened = tuple[Any, ...]


def outcome(compute: Compute, job: Any, say: Callable[..., None]) -> tuple[Any, ...]:
    """Compute a job; whatever is wrong with it is a reason, not an end."""
    start = time.perf_counter()
    try:
        found = compute(job, say)
    except (FFMLError, OSError) as error:
        return "failed", str(error), ""
    except Exception as error:
        reason = f"{type(error).__name__}: {' '.join(str(error).split())}"
        return "failed", reason, traceback.format_exc()
    return "finished", time.perf_counter() - start, found
