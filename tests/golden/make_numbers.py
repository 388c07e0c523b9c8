"""What runs give: parameters, multipliers and decisions of a few rounds, to the last digits.

They are to stay what they are while the code changes. To store them anew, after a change that is
meant to change them: ``python tests/golden/make_numbers.py``.
"""

import json
from itertools import islice
from pathlib import Path

import jax
import numpy as np

NUMBERS = Path(__file__).with_name("numbers.json")
ROUNDS = 4
CASES = [
    (preset, data, seed)
    for preset in ("paper", "default", "leader")
    for data in ("adult", "crime", "synthetic")
    for seed in (0, 1)
]


def numbers(preset, data, seed):
    """Play a few rounds with few outer steps."""
    from ffml.online.loop import pair, step
    from ffml.recipe.build import build
    from ffml.recipe.config import configure_run

    given = {"seed": seed, "max_gap": (0.02,)}
    if preset == "leader":  # what `ffml run` does unless told otherwise
        preset = "default"
    else:
        given |= {"method": "ffml", "num_outer_steps": 3}
    run = build(configure_run(data, given, preset))
    state, rounds = run.state, []
    for task in islice(run.stream.tasks(), ROUNDS):
        state, record = step(run.loop, state, task)
        rounds.append(record)
    leaves = jax.tree.leaves(pair(run.loop, state).params)
    params = np.concatenate([np.ravel(leaf) for leaf in leaves])
    return {
        "multipliers": [r.multipliers.tolist() for r in rounds],
        "norm": float(np.linalg.norm(params)),
        "params": params[:40].tolist(),
        "positive_decisions": [
            [int(table[..., 1].sum()) for table in r.tables.values()] for r in rounds
        ],
    }


def name(case):
    """Name a case as it is called in the file."""
    return " ".join(map(str, case))


if __name__ == "__main__":
    stored = {name(case): numbers(*case) for case in CASES}
    lines = (f"{json.dumps(case)}: {json.dumps(values)}" for case, values in stored.items())
    NUMBERS.write_text("{\n" + ",\n".join(lines) + "\n}\n")
