"""A table of loans, month by month, and what its columns are."""

import csv

import numpy as np

ROLES = ["--label", "approved", "--positive", "yes", "--sensitive", "sex", "--task", "month"]


def write_loans(path, months=4, rows=60, seed=0):
    rng = np.random.default_rng(seed)
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["applicant", "month", "age", "income", "job", "sex", "approved"])
        for i in range(months * rows):
            sex = rng.choice(["F", "M"])
            income = rng.normal(50 + 5 * (sex == "M"), 10)
            label = "yes" if income + rng.normal(0, 5) > 52 else "no"
            job = rng.choice(["office", "shop", ""])
            month = f"2024-{i // rows + 1:02d}"
            writer.writerow([i, month, rng.integers(18, 70), round(income, 1), job, sex, label])
    return path
