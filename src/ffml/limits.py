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
    "inverse_l2": 1e9,  # beyond it, and beyond this trust, some systems cannot be solved
    "trust": 1e9,
}
LARGEST = 10_000_000  # of every other whole number
LARGEST_NUMBER = 3e38  # of every other number: what 32 bits hold
LONGEST = 100  # of every list


def refuse_large(settings: Mapping[str, Any]) -> None:
    """Refuse numbers and lists beyond the limits.

    >>> refuse_large({"inner.num_steps": 10**9})
    Traceback (most recent call last):
    ffml.base.FFMLError: inner.num_steps must be <= 1000, got 1000000000
    """
    for name, value in settings.items():
        several = isinstance(value, list | tuple)
        if several and len(value) > LONGEST:
            raise FFMLError(f"{name} has {len(value)} entries; the limit is {LONGEST}")
        for part in value if several else [value]:
            limit = LIMITS.get(name, LARGEST if isinstance(part, int) else LARGEST_NUMBER)
            if isinstance(part, int | float) and not part <= limit:
                raise FFMLError(f"{name} must be <= {limit}, got {part}")
