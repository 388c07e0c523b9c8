"""Settings chosen by ``ffml tune`` for the package's data sets, each with how it was chosen.

The preset ``default`` of `ffml.presets` reads them; what is given explicitly wins.
"""

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Tuned:
    """What was chosen for a data set, and how.

    Args:
        shared: settings of the run (model, constraints, bounds, l2, …), the same for all methods.
        methods: a method's own settings, by its name; another method does not take them over.
        command: what was typed.
        seeds: that the choice went by.
        rounds: that the choice went by, such as "14 to 27 of 41".
        date: when.
    """

    shared: dict[str, Any] = field(default_factory=dict)
    methods: dict[str, dict[str, Any]] = field(default_factory=dict)
    command: str = ""
    seeds: tuple[int, ...] = ()
    rounds: str = ""
    date: str = ""


# The searches began from these, the defaults of their day.
# Both notions, on decisions of a steepness relative to the logits. Not for every stream: with few
# tasks or iterations, while the logits are still small, it makes constraints outweigh the loss.
_BOTH: dict[str, Any] = {
    "constraints": ("demographic-parity", "equalized-odds"),
    "temperature": 0.5,
    "relative_temperature": True,
}

TUNED: dict[str, Tuned] = {
    "adult": Tuned(
        shared=_BOTH | {"bounds": (0.02, 0.03)},
        command='ffml tune adult --set \'constraints=["demographic-parity","equalized-odds"]\' '
        "--grid bounds=0.01+0.05,0.02+0.03,0.02+0.05,0.04+0.05 --seeds 100-102",
        seeds=(100, 101, 102),
        rounds="14 to 27 of 41",
        date="2026-11-15",
    ),
    "bank": Tuned(
        shared=_BOTH
        | {
            "bounds": (0.0, 0.05),
            "memory_policy": "recent",
            "memory_capacity": 15,
            "tasks_per_round": 16,
        },
        command='ffml tune bank --set \'constraints=["demographic-parity","equalized-odds"]\' '
        "--set memory_policy=recent --set tasks_per_round=16 --grid memory_capacity=15,256 "
        "--grid bounds=0+0.02,0+0.05,0.02+0.05 --seeds 100-102",
        seeds=(100, 101, 102),
        rounds="17 to 33 of 50",
        date="2026-11-15",
    ),
    "crime": Tuned(
        shared=_BOTH | {"bounds": (0.02, 0.03)},
        command='ffml tune crime --set \'constraints=["demographic-parity","equalized-odds"]\' '
        "--grid bounds=0+0.03,0.02+0.03,0.02+0.05,0.03+0.05,0.05+0.05,0.02+1 --seeds 100-105",
        seeds=(100, 101, 102, 103, 104, 105),
        rounds="15 to 28 of 43",
        date="2026-11-15",
    ),
}


def tuned_settings(data: str, method: str = "ffml") -> dict[str, Any]:
    """Return what was chosen for a data set, as far as it concerns a method.

    >>> tuned_settings("a table of your own")
    {}
    """
    tuned = TUNED.get(data, Tuned())
    return tuned.shared | tuned.methods.get(method, {})
