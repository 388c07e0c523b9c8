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
        methods: what a method alone has, by its name: settings of its own, or others of the run
            (its bounds, where they go with such a setting).
        command: what was typed.
        before: searches for what ``command`` holds fixed, latest first.
        seeds: that the choice went by.
        rounds: that the choice went by, such as "14 to 27 of 41".
        date: when.
    """

    shared: dict[str, Any] = field(default_factory=dict)
    methods: dict[str, dict[str, Any]] = field(default_factory=dict)
    command: str = ""
    before: tuple[str, ...] = ()
    seeds: tuple[int, ...] = ()
    rounds: str = ""
    date: str = ""


TUNED: dict[str, Tuned] = {
    "adult": Tuned(
        shared={
            "constraints": ("demographic-parity",),
            "bounds": (0.0,),
            "temperature": 1.0,
            "relative_temperature": True,
        },
        methods={"ffml": {"bounds": (0.15,), "predict_gaps": True, "parity_goal": 1.05}},
        command="ffml tune adult --set 'constraints=[\"demographic-parity\"]' "
        "--set relative_temperature=true --set temperature=1 --set gap_spread=0 "
        "--set gap_penalty=0 --set positive_weight=1 --set predict_gaps=true "
        "--grid bounds=0.08,0.15,1 --grid parity_goal=0.95,1,1.05,1.1 --target-dp 1.04 "
        "--seeds 100-119",
        before=(
            "ffml tune adult --set 'constraints=[\"demographic-parity\"]' "
            "--set relative_temperature=true --set temperature=1 --set gap_spread=0.2 "
            "--set predict_gaps=false --set parity_goal=1 --grid bounds=0,0.02 "
            "--grid gap_penalty=0,5,10 --grid positive_weight=1,1.5,2 --seeds 100-139",
            "ffml tune adult --set 'constraints=[\"demographic-parity\"]' "
            "--set relative_temperature=true --set temperature=1 --set bounds=0 "
            "--set predict_gaps=false --set parity_goal=1 --set positive_weight=1 "
            "--grid gap_penalty=5,10,20 --grid gap_spread=0,0.05,0.2,0.5 --seeds 100-139",
            'ffml tune adult --set \'constraints=["demographic-parity","equalized-odds"]\' '
            "--set gap_spread=0 --set predict_gaps=false --set parity_goal=1 "
            "--grid relative_temperature=false,true --grid temperature=0.5,1 "
            "--grid bounds=0+1,0.01+1,0.02+1,0.02+0.05 --seeds 100-123",
        ),
        seeds=tuple(range(100, 120)),
        rounds="14 to 27 of 41",
        date="2026-11-17",
    ),
    "bank": Tuned(
        shared={
            "constraints": ("demographic-parity",),
            "bounds": (0.02,),
            "temperature": 1.0,
            "relative_temperature": True,
            "memory_policy": "recent",
            "memory_capacity": 15,
            "tasks_per_round": 16,
        },
        methods={"ffml": {"gap_penalty": 80.0}},
        command="ffml tune bank --set 'constraints=[\"demographic-parity\"]' "
        "--set relative_temperature=true --set temperature=1 --set memory_policy=recent "
        "--set memory_capacity=15 --set tasks_per_round=16 --set gap_spread=0 "
        "--set positive_weight=1 --grid gap_penalty=0,10,30,80 --grid bounds=0,0.02 "
        "--seeds 100-123",
        before=(
            "ffml tune bank --set 'constraints=[\"demographic-parity\"]' --set bounds=0 "
            "--set relative_temperature=true --set temperature=1 --set memory_policy=recent "
            "--set memory_capacity=15 --set tasks_per_round=16 --grid gap_penalty=0,10,30 "
            "--grid gap_spread=0,0.2 --grid positive_weight=1,1.5 --seeds 100-119",
            'ffml tune bank --set \'constraints=["demographic-parity","equalized-odds"]\' '
            "--set memory_policy=recent --set memory_capacity=15 --set tasks_per_round=16 "
            "--grid relative_temperature=false,true --grid temperature=0.5,1 "
            "--grid bounds=0+0.05,0+1,0.02+0.05 --seeds 100-111",
        ),
        seeds=tuple(range(100, 124)),
        rounds="17 to 33 of 50",
        date="2026-11-16",
    ),
    "crime": Tuned(
        shared={
            "constraints": ("demographic-parity",),
            "bounds": (0.07,),
            "temperature": 0.5,
            "relative_temperature": True,
            "positive_weight": 1.5,
        },
        methods={
            "ffml": {
                "bounds": (0.25,),
                "l2": 0.1,
                "outer_lr": 0.003,
                "predict_gaps": True,
                "parity_goal": 1.05,
            },
            "m-ftml": {"l2": 0.1, "outer_lr": 0.003},
        },
        command="ffml tune crime --set 'constraints=[\"demographic-parity\"]' "
        "--set relative_temperature=true --set temperature=0.5 --set predict_gaps=true "
        "--set outer_lr=0.003 --set l2=0.1 --set gap_penalty=0 --set gap_spread=0 "
        "--set positive_weight=1.5 --grid bounds=0.25,0.5 "
        "--grid parity_goal=0.9,0.95,1,1.05,1.1,1.2 --target-dp 1.04 --seeds 100-163",
        before=(
            "ffml tune crime --set 'constraints=[\"demographic-parity\"]' "
            "--set relative_temperature=true --set temperature=0.5 --set gap_spread=0.05 "
            "--set positive_weight=1.5 --set predict_gaps=false --set parity_goal=1 --set l2=0 "
            "--set outer_lr=0.01 --grid bounds=0.05,0.07,0.1 --grid gap_penalty=0,1,2,3 "
            "--seeds 100-139",
            "ffml tune crime --set 'constraints=[\"demographic-parity\"]' "
            "--set relative_temperature=true --set temperature=0.5 --set gap_penalty=0 "
            "--set predict_gaps=false --set parity_goal=1 --set l2=0 --set outer_lr=0.01 "
            "--grid bounds=0.02,0.05,0.1 --grid gap_spread=0,0.05 --grid positive_weight=1,1.5,2 "
            "--seeds 100-123",
        ),
        seeds=tuple(range(100, 164)),
        rounds="15 to 28 of 43",
        date="2026-11-17",
    ),
}


def tuned_settings(data: str, method: str = "ffml") -> dict[str, Any]:
    """Return what was chosen for a data set, as far as it concerns a method.

    >>> tuned_settings("a table of your own")
    {}
    """
    tuned = TUNED.get(data, Tuned())
    return tuned.shared | tuned.methods.get(method, {})
