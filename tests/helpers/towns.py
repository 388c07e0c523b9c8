"""People of three towns, and a classifier that learns little from them and compiles fast."""

import numpy as np
import pandas as pd

from ffml.estimator import FairMetaClassifier

QUICK = {
    "inner.num_steps": 1,
    "num_outer_steps": 10,
    "outer_lr": 0.05,
    "tasks_per_round": 3,
    "rows_per_task": 64,
}


def classifier(**parameters):
    """One that learns little and compiles fast."""
    settings = QUICK | parameters.pop("settings", {})
    given = {"method": "ffml", "shots": 10, "settings": settings}
    return FairMetaClassifier(**given | parameters)


def make_data(rows=240, seed=0):
    """Three towns; the first feature knows the group, and labels know the features."""
    rng = np.random.default_rng(seed)
    sex, town = rng.choice(["f", "m"], rows), np.repeat(["Ulm", "Bonn", "Kiel"], rows // 3)
    x = rng.normal(size=(rows, 3)) + np.outer(sex == "m", [1, 0, 0])
    return x, (x @ [1, 1, 0] + 0.5 * rng.normal(size=rows) > 0.5).astype(int), sex, town


X, Y, SEX, TOWN = make_data()
FRAME = pd.DataFrame(X, columns=["age", "income", "debt"])
SUPPORT = slice(0, 20)
TWO = pd.DataFrame({"sex": SEX, "adult": np.arange(len(Y)) % 2 == 0})
