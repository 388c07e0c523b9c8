"""Several protected columns: each by itself, or their combinations."""

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd

import ffml


def month(number: int, rows: int = 600) -> pd.DataFrame:
    """Draw a month of applications; older women have the lowest incomes."""
    rng = np.random.default_rng(number)
    frame = pd.DataFrame({"month": f"2024-{number:02d}", "sex": rng.choice(["F", "M"], rows)})
    frame["age"] = rng.choice(["under 40", "40 and over"], rows)
    low = 4.0 * (frame.sex == "F") + 3.0 * (frame.age == "40 and over")
    frame["income"] = rng.normal(52 - low, 12)
    frame["tenure"] = rng.normal(5 + 2 * (frame.sex == "M"), 2)
    frame["phone"] = rng.choice(["old", "new"], rows)
    frame.loc[frame.age == "40 and over", "phone"] = "old"
    score = (frame.income - 50) / 8 + (frame.tenure - 6) / 3
    frame["approved"] = np.where(score + rng.logistic(size=rows) > 0, "yes", "no")
    return frame


months = pd.concat([month(number) for number in range(1, 9)])
with TemporaryDirectory() as folder:
    for intersect in (False, True):
        run = ffml.run(
            months,
            label="approved",
            positive="yes",
            sensitive=["sex", "age"],
            task="month",
            intersect=intersect,
            max_gap=0.05,
            out=Path(folder, f"run-{intersect}"),
        )
        print("Combinations" if intersect else "Each column by itself")
        for column, counts in run.record.tables.items():  # (task, group, label, decision)
            [names] = [c.groups for c in run.record.columns if c.name == column]
            rates = ffml.metrics.selection_rates(counts.sum(0))
            shown = ", ".join(f"{n} {r:.0%}" for n, r in zip(names, rates, strict=True))
            print(f"  {column}: {shown}")
        run.report(*sys.argv[1:])
        run.close()
