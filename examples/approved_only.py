"""Labels of approved people only: nobody learns whether a refused loan would have been repaid."""

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd

import ffml


def month(number: int, rows: int = 400) -> pd.DataFrame:
    """Draw a month of applications, in which one sex has the lower incomes."""
    rng = np.random.default_rng(number)
    frame = pd.DataFrame({"sex": rng.choice(["F", "M"], rows)})
    frame.insert(0, "applicant", [f"{number}-{i}" for i in range(rows)])
    frame["month"] = f"2024-{number:02d}"
    frame["income"] = rng.normal(46 + 8 * (frame.sex == "M"), 12)
    frame["job"] = rng.choice(["office", "shop", "farm"], rows)
    score = (frame.income - 50) / 8 + (frame.job == "office")
    frame["repaid"] = np.where(score + rng.logistic(size=rows) > 0, "yes", "no")
    return frame


with TemporaryDirectory() as folder:
    run = ffml.run(  # five months in which everybody got a loan
        pd.concat([month(number) for number in range(1, 6)]),
        label="repaid",
        positive="yes",
        sensitive="sex",
        task="month",
        id="applicant",
        max_gap=0.05,
        out=Path(folder, "run"),
    )
    for number in range(6, 10):  # from now on, those refused have no label
        people = month(number)
        run.update(people.drop(columns="repaid"))
        decided = run.decisions
        approved = decided.id[(decided.task == people.month[0]) & (decided.decision == 1)]
        added = run.label(people.loc[people.applicant.isin(approved), ["applicant", "repaid"]])
        print(
            f"{people.month[0]}: {added.new} of {len(people)} labels came;"
            f" learned from: {', '.join(added.learned) or 'nothing'}"
        )
    print(run.answer)
    for finding in run.check(max_gap=0.05, notion="equal-opportunity"):
        print(f"{finding.answer}: {finding.words}")
    run.report(*sys.argv[1:])
    run.close()
