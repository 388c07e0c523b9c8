"""A run that lives on, with polars: learn from the past, decide today, bring labels later."""

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import polars as pl

import ffml

FEATURES = ["job", "income"]  # never the sensitive column


def month(number: int, rows: int = 200) -> pl.DataFrame:
    """Draw a month of applications, in which one sex has the lower incomes."""
    rng = np.random.default_rng(number)
    sex, job = rng.choice(["F", "M"], rows), rng.choice(["office", "shop", "farm"], rows)
    income = rng.normal(46 + 8 * (sex == "M"), 12)
    score = (income - 50) / 8 + (job == "office") + rng.logistic(size=rows)
    people = {"applicant": [f"{number}-{i}" for i in range(rows)], "sex": sex, "job": job}
    approved = np.where(score > 0, "yes", "no")
    return pl.DataFrame({**people, "income": income, "approved": approved})


with TemporaryDirectory() as folder:
    run = Path(folder, "run")
    model = ffml.FairMetaClassifier(max_gap=0.05)
    for number in range(1, 7):
        past = month(number)
        model.partial_fit(
            past[FEATURES],
            past["approved"],
            sensitive_features=past.select("sex"),
            task=f"month {number}",
        )
    model.save(run)

    # A new month: nobody knows yet who will pay back.
    people = month(7).with_columns(task=pl.lit("month 7"))
    opened = ffml.open(run)
    (record,) = opened.update(people.drop("approved"), id="applicant")
    print(f"{record.task}: {record.n_unlabelled} people decided about")

    # Weeks later: half of the labels, then the others.
    labels = people.select("applicant", "approved")
    for part in (labels[:100], labels[100:]):
        added = opened.label(part, id="applicant")
        print(f"{added.new} labels came; learned from: {', '.join(added.learned) or 'nothing yet'}")
    decisions = pl.from_pandas(opened.decisions).filter(pl.col("task") == "month 7")
    rates = decisions.group_by("sex").agg(pl.col("decision").mean()).sort("sex")
    print(", ".join(f"{sex}: {rate:.2f} approved" for sex, rate in rates.iter_rows()))
