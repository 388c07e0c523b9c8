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


_BOTH = ("demographic-parity", "equalized-odds")
_TRIED = '--set \'constraints=["demographic-parity","equalized-odds"]\' '
_TEMPERATURES = "--grid relative_temperature=false,true --grid temperature=0.5,1 "

TUNED: dict[str, Tuned] = {
    "adult": Tuned(  # the bound of 1 that was chosen for equalized odds asks for nothing
        shared={
            "constraints": ("demographic-parity",),
            "bounds": (0.02,),
            "temperature": 1.0,
            "relative_temperature": True,
        },
        command=f"ffml tune adult {_TRIED}{_TEMPERATURES}"
        "--grid bounds=0+1,0.01+1,0.02+1,0.02+0.05 --seeds 100-123",
        seeds=tuple(range(100, 124)),
        rounds="14 to 27 of 41",
        date="2026-11-16",
    ),
    "bank": Tuned(
        shared={
            "constraints": _BOTH,
            "bounds": (0.0, 0.05),
            "temperature": 1.0,
            "relative_temperature": True,
            "memory_policy": "recent",
            "memory_capacity": 15,
            "tasks_per_round": 16,
        },
        command=f"ffml tune bank {_TRIED}--set memory_policy=recent --set memory_capacity=15 "
        f"--set tasks_per_round=16 {_TEMPERATURES}--grid bounds=0+0.05,0+1,0.02+0.05 "
        "--seeds 100-111",
        seeds=tuple(range(100, 112)),
        rounds="17 to 33 of 50",
        date="2026-11-16",
    ),
    "crime": Tuned(
        shared={
            "constraints": _BOTH,
            "bounds": (0.02, 0.05),
            "temperature": 0.5,
            "relative_temperature": True,
        },
        command=f"ffml tune crime {_TRIED}--set relative_temperature=true --set temperature=0.5 "
        "--grid bounds=0+0.03,0.02+0.03,0+0.05,0.02+0.05,0+1,0.02+1 --seeds 100-123",
        seeds=tuple(range(100, 124)),
        rounds="15 to 28 of 43",
        date="2026-11-16",
    ),
}


def tuned_settings(data: str, method: str = "ffml") -> dict[str, Any]:
    """Return what was chosen for a data set, as far as it concerns a method.

    >>> tuned_settings("a table of your own")
    {}
    """
    tuned = TUNED.get(data, Tuned())
    return tuned.shared | tuned.methods.get(method, {})
