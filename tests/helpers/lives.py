"""The life of a run: started, updated, decided with and labelled; what it came to in plain SQL.

Whoever lives it again after an end of any kind does everything from the first step on: what was
done before is passed over.
"""

import os
import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
import pandas as pd

import ffml
from ffml.store import holds_run

ROLES = {"label": "paid", "positive": "yes", "sensitive": "sex", "task": "month", "id": "person"}
SETTINGS = {"shots": 4}
PEOPLE = """
select task, id, label, decision, unpriced, probability, version, groups from people order by 1, 2
"""


def month(number, rows=24):
    """Return one month of loans, the same whenever it is asked for."""
    rng = np.random.default_rng(number)
    table = pd.DataFrame({"person": [f"{number}-{i}" for i in range(rows)]})
    table["month"], table["sex"] = f"2024-{number:02d}", rng.choice(["F", "M"], rows)
    table["income"] = rng.normal(46 + 8 * (table.sex == "M"), 12).round(1)
    score = (table.income - 50) / 8 + rng.logistic(size=rows)
    return table.assign(paid=np.where(score > 0, "yes", "no"))


def unlabelled(number, rows=24):
    return month(number, rows).drop(columns="paid")


def labels(number, first=0, last=None):
    return month(number)[["person", "month", "paid"]][first:last]


def begun(folder):
    """Start the run on its first two months, or go on with it."""
    table = Path(folder).with_suffix(".csv")
    if not table.exists():  # whole or not at all: whoever writes it may be killed
        half = table.with_suffix(f".{os.getpid()}")
        pd.concat([month(1), month(2)]).to_csv(half, index=False)
        half.replace(table)
    if not holds_run(Path(folder)):
        return ffml.run(str(table), out=folder, **ROLES, **SETTINGS)
    run = ffml.open(folder)
    run.update(str(table))
    return run


STEPS = {
    "run": lambda run: None,
    "update without labels": lambda run: run.update(unlabelled(3)),
    "decide": lambda run: run.decide(unlabelled(9, 3), task="counter"),
    "label a few": lambda run: run.label(labels(3, 0, 6)),
    "decide about one more": lambda run: run.decide(unlabelled(9, 4), task="counter"),
    "label the others": lambda run: run.label(labels(3, 6)),
    "label who came one by one": lambda run: run.label(labels(9, 0, 4).assign(month="counter")),
    "update with labels": lambda run: run.update(month(4)),
}


def live(folder):
    """Do everything that is not done yet."""
    run = begun(folder)
    for step in STEPS.values():
        step(run)
    return run


def ask(folder, query):
    """Ask the ledger itself."""
    with closing(sqlite3.connect(Path(folder) / "run.db")) as raw:
        return raw.execute(query).fetchall()


def outcome(folder):
    """Return all that must be the same after any interruption; times are left out."""
    run = ffml.open(folder, write=False)
    version = run.store.version()
    assert run.verify().sound
    rounds = [(r.task, r.status, {**r.document, "seconds": 0}) for r in run.store.rounds()]
    answer = repr(run.answer)
    run.close()
    return ask(folder, PEOPLE), version.state, version.blobs, version.number, rounds, answer
