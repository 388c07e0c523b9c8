"""A run in which every name and value is markup, or long beyond reason."""

import numpy as np
import pandas as pd
from made_up import NASTY

import ffml

HOSTILE = f"{NASTY}{'W' * 80}"
ROLES = {"label": "y", "sensitive": "sex", "task": "task", "id": "id"}


def hostile_run(folder):
    """Make the run: three tasks of 40 people, the third with inputs unlike before."""
    rng, tables = np.random.default_rng(0), []
    for number, scale in ((1, 1.0), (2, 1.0), (3, 1000.0)):
        group = rng.integers(0, 2, 40)
        x = np.exp(rng.normal(3 + 0.3 * group, 1))
        tables.append(
            pd.DataFrame(
                {
                    f"id{HOSTILE}": [f"{number}-{i}{HOSTILE}" for i in range(40)],
                    f"task{HOSTILE}": f"{number}{HOSTILE}",
                    f"sex{HOSTILE}": np.where(group, f"M{HOSTILE}", f"F{HOSTILE}"),
                    f"x{HOSTILE}": scale * x,
                    f"y{HOSTILE}": np.where(x > 20, f"yes{HOSTILE}", f"no{HOSTILE}"),
                }
            )
        )
    roles = {name: f"{start}{HOSTILE}" for name, start in ROLES.items()}
    people = pd.concat(tables)
    return ffml.run(people, out=folder, positive=f"yes{HOSTILE}", shots=4, max_gap=0.05, **roles)
