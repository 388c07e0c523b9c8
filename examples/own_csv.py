"""Your own CSV: learn from it, gate it, decide about new rows. Commands: docs/quickstart.md."""

import csv
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import ffml


def write_loans(path: Path, months: range, seed: int) -> Path:
    """Write a table in which one sex has the lower incomes."""
    rng = np.random.default_rng(seed)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["applicant", "month", "sex", "income", "debt", "approved"])
        for i in range(400 * len(months)):
            sex, debt = rng.choice(["F", "M"]), rng.gamma(3, 6)
            income = rng.normal(54 if sex == "M" else 46, 12)
            repaid = (income - 50) / 8 - (debt - 18) / 5 + rng.logistic() > 0
            person, month = f"{seed}-{i}", f"2024-{months[i // 400]:02d}"
            row = [person, month, sex, round(income, 1), round(debt, 1)]
            writer.writerow([*row, "yes" if repaid else "no"])
    return path


with TemporaryDirectory() as folder:
    run = ffml.run(
        write_loans(Path(folder, "loans.csv"), range(1, 10), seed=0),
        label="approved",
        positive="yes",
        sensitive="sex",
        task="month",
        id="applicant",
        max_gap=0.05,
        out=Path(folder, "run"),
    )
    print(run.answer)
    for finding in run.check(min_dp=0.5, max_violation=0.2):
        print(f"{finding.answer}: {finding.words}")
    known = write_loans(Path(folder, "known.csv"), range(10, 11), seed=1)  # outcomes so far
    new = write_loans(Path(folder, "new.csv"), range(10, 11), seed=2)
    decided = run.decide(new, support=known)  # adapted to October's, and kept in the ledger
    run.report(*sys.argv[1:])  # one HTML file: into the run's folder, or where you say
    print(f"In October {decided.decision.sum()} of {len(decided)} applicants would be approved.")
    run.close()
