"""Months of loans in one table and in several, and the runs that learn from them."""

import numpy as np
import pandas as pd

import ffml

ROLES = {"label": "approved", "positive": "yes", "sensitive": "sex", "task": "month"}
SMALL = {"method": "leader", "shots": 10, "tasks_per_round": 3, "rows_per_task": 64}
PLAIN = {**SMALL, "wrappers": ()}  # nobody bounds a gap
MONTHS = [f"2024-{month:02d}" for month in range(1, 6)]
WORDS = [word for part, name in ROLES.items() for word in (f"--{part}", name)]
OPTIONS = [*WORDS, "--method", "leader", "--set", "shots=10", "--set", "tasks_per_round=3"]
OPTIONS += ["--set", "rows_per_task=64", "--quiet"]


def loans(months=5, rows=60, seed=0, apart=5, groups=("F", "M"), start="2024-01"):
    """Draw applications: incomes of each group are higher by ``apart`` than those before it."""
    rng, n = np.random.default_rng(seed), months * rows
    sex = rng.integers(len(groups), size=n)
    income = rng.normal(50 + apart * sex, 10)
    names = pd.period_range(start, periods=months, freq="M").astype(str)
    return pd.DataFrame(
        {
            "applicant": np.arange(n),
            "month": np.repeat(names, rows),
            "age": rng.integers(18, 70, n),
            "income": income.round(1),
            "job": rng.choice(["office", "shop"], n),
            "sex": np.array(groups)[sex],
            "approved": np.where(income + rng.normal(0, 5, n) > 52, "yes", "no"),
        }
    )


def of(frame, *months):
    """Return the rows of some months."""
    return frame[frame.month.isin(months)]


def unlabelled(frame):
    return frame.drop(columns="approved")


def labels(frame, *more):
    return frame[["applicant", *more, "approved"]]


def begin(frame, out, **more):
    """Start a run that learns quickly, and bounds no gap unless told so."""
    asked = {**ROLES, **PLAIN, "id": "applicant", **more}
    return ffml.run(frame, out=out, **{k: v for k, v in asked.items() if v is not None})


def approved(run, task):
    """Return the numbers of those whom a run has approved."""
    decided = run.decisions
    return decided[(decided.task == task) & (decided.decision == 1)].id.astype(int)


def state(run):
    """What a run has learned, as the ledger keeps it."""
    newest = run.store.version()
    return newest.state, [*newest.blobs]


def tables(run):
    """What is told of a run: counts, the answer, and rounds but for when they were learned from."""
    when = ("seconds", "iterations", "extra")
    rounds = [
        (row.task, row.status, {k: v for k, v in row.document.items() if k not in when})
        for row in run.store.rounds()
    ]
    counts = [column.tolist() for column in run.store.counts()]
    return rounds, counts, str(run.answer)
