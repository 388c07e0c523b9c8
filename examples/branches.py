"""A branch each task: what adapting to twenty labels of a new branch is worth."""

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd

import ffml


def branch(number: int, rows: int = 300) -> pd.DataFrame:
    """Draw people of a branch; what debt and savings are worth differs from branch to branch."""
    rng = np.random.default_rng(number)
    frame = pd.DataFrame({"branch": f"branch {number:02d}", "sex": rng.choice(["F", "M"], rows)})
    frame["income"] = rng.normal(46 + 8 * (frame.sex == "M"), 12)
    frame["debt"], frame["savings"] = rng.normal(size=rows), rng.normal(size=rows)
    here = rng.normal(size=2)
    score = (frame.income - 50) / 12 + 1.5 * (here[0] * frame.debt + here[1] * frame.savings)
    frame["approved"] = np.where(score + rng.logistic(size=rows) > 0, "yes", "no")
    return frame


with TemporaryDirectory() as folder:
    run = ffml.run(
        pd.concat([branch(number) for number in range(1, 17)]),
        label="approved",
        positive="yes",
        sensitive="sex",
        task="branch",
        max_gap=0.05,
        out=Path(folder, "run"),
    )
    print(str(run.answer).splitlines()[0])
    run.report(*sys.argv[1:])
    right: dict[int, list[float]] = {0: [], 20: [], 100: []}
    for number in range(17, 21):  # four branches that nobody has seen
        new = branch(number)
        people = new[100:].drop(columns="approved")
        for labels, shares in right.items():
            decided = run.decide(
                people, support=new[:labels] if labels else None, task=f"{number}-{labels}"
            )
            said = np.where(decided.decision == 1, "yes", "no")
            shares.append(float((said == new.approved[100:].to_numpy()).mean()))
    for labels, shares in right.items():
        print(f"{labels:3} labels of a new branch: {np.mean(shares):.0%} of decisions right")
    run.close()
