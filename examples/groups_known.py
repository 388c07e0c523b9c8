"""Groups known at decision time, where that is lawful: what it saves."""

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd

import ffml


def month(number: int, rows: int = 400) -> pd.DataFrame:
    """Draw a month of applications, in which one sex has the lower incomes."""
    rng = np.random.default_rng(number)
    frame = pd.DataFrame({"month": f"2024-{number:02d}", "sex": rng.choice(["F", "M"], rows)})
    frame["income"] = rng.normal(46 + 8 * (frame.sex == "M"), 12)
    frame["debt"] = rng.gamma(3, 6, rows)
    score = (frame.income - 50) / 8 - (frame.debt - 18) / 5
    frame["approved"] = np.where(score + rng.logistic(size=rows) > 0, "yes", "no")
    return frame


months = pd.concat([month(number) for number in range(1, 9)])
with TemporaryDirectory() as folder:
    runs = [
        ffml.run(
            months,
            label="approved",
            positive="yes",
            sensitive="sex",
            task="month",
            max_gap=0.05,
            decide_with_groups=known,
            out=Path(folder, "known" if known else "estimated"),
        )
        for known in (False, True)
    ]
    for name, run in zip(("groups estimated", "groups known"), runs, strict=True):
        counts = run.record.tables["sex"].sum(0)
        women, men = ffml.metrics.selection_rates(counts)
        accuracy = ffml.metrics.accuracy(counts)
        print(f"{name}: F {women:.1%}, M {men:.1%} approved, accuracy {accuracy:.1%}")
    runs[1].report(*sys.argv[1:], beside=runs[:1])
    for run in runs:
        run.close()
