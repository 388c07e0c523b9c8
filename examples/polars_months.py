"""A run that lives on, with polars: learn from the past, decide today, bring labels later."""

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import polars as pl

import ffml


def month(number: int, rows: int = 200) -> pl.DataFrame:
    """Draw a month of applications, in which one sex has the lower incomes."""
    rng = np.random.default_rng(number)
    sex, job = rng.choice(["F", "M"], rows), rng.choice(["office", "shop", "farm"], rows)
    income = rng.normal(46 + 8 * (sex == "M"), 12)
    score = (income - 50) / 8 + (job == "office") + rng.logistic(size=rows)
    people = {"applicant": [f"{number}-{i}" for i in range(rows)], "sex": sex, "job": job}
    approved = np.where(score > 0, "yes", "no")
    months = {"month": [f"2024-{number:02d}"] * rows}
    return pl.DataFrame({**months, **people, "income": income, "approved": approved})


with TemporaryDirectory() as folder:
    past = pl.concat([month(number) for number in range(1, 7)])
    run = ffml.run(
        past,
        label="approved",
        positive="yes",
        sensitive="sex",
        task="month",
        id="applicant",
        max_gap=0.05,
        out=Path(folder, "run"),
    )

    # A new month: nobody knows yet who will pay back.
    people = month(7)
    (record,) = run.update(people.drop("approved"))
    print(f"{record.task}: {record.n_unlabelled} people decided about")

    # Weeks later: half of the labels, then the others.
    labels = people.select("applicant", "approved")
    for part in (labels[:100], labels[100:]):
        added = run.label(part)
        print(f"{added.new} labels came; learned from: {', '.join(added.learned) or 'nothing yet'}")
    decisions = pl.from_pandas(run.decisions).filter(pl.col("task") == "2024-07")
    rates = decisions.group_by("sex").agg(pl.col("decision").mean()).sort("sex")
    print(", ".join(f"{sex}: {rate:.2f} approved" for sex, rate in rates.iter_rows()))
    run.report(*sys.argv[1:])
    run.close()
