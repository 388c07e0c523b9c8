"""How large settings may be, whoever asks: a person or a file.

The limits are far above all use and far below what would keep a machine busy for days.
"""

from collections.abc import Mapping
from typing import Any

from ffml.base import FFMLError

LIMITS = {
    "seed": 2**63 - 1,
    "inner.num_steps": 1_000,
    "num_outer_steps": 1_000_000,
    "num_steps": 1_000_000,
    "max_iter": 1_000_000,
    "model.hidden": 4_096,
    "shots": 100_000,
    "tasks_per_round": 10_000,
    "num_features": 100_000,
    "num_groups": 1_000,
}
LARGEST = 10_000_000  # of every other whole number
LONGEST = 100  # of every list


def refuse_large(settings: Mapping[str, Any]) -> None:
    """Refuse whole numbers and lists beyond the limits.

    >>> refuse_large({"inner.num_steps": 10**9})
    Traceback (most recent call last):
    ffml.base.FFMLError: inner.num_steps must be <= 1000, got 1000000000
    """
    for name, value in settings.items():
        several = isinstance(value, list | tuple)
        if several and len(value) > LONGEST:
            raise FFMLError(f"{name} has {len(value)} entries; the limit is {LONGEST}")
        limit = LIMITS.get(name, LARGEST)
        for part in value if several else [value]:
            if isinstance(part, int) and not part <= limit:
                raise FFMLError(f"{name} must be <= {limit}, got {part}")
