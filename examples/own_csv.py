"""Your own CSV: look at it, learn from it, gate it, decide about new rows.

The commands are those that you would type; see docs/quickstart.md.
"""

import csv
import json
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import ffml

ROLES = ["--label", "approved", "--positive", "yes", "--sensitive", "sex", "--task", "month"]


def write_loans(path: Path, months: range, seed: int) -> Path:
    """Write a table in which one sex has the lower incomes."""
    rng = np.random.default_rng(seed)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["applicant", "month", "sex", "income", "debt", "approved"])
        for i in range(150 * len(months)):
            sex, debt = rng.choice(["F", "M"]), rng.gamma(3, 6)
            income = rng.normal(54 if sex == "M" else 46, 12)
            repaid = (income - 50) / 8 - (debt - 18) / 5 + rng.logistic() > 0
            row = [i, f"2024-{months[i // 150]:02d}", sex, round(income, 1), round(debt, 1)]
            writer.writerow([*row, "yes" if repaid else "no"])
    return path


def command(*arguments: object) -> None:
    """Run a command of ffml."""
    subprocess.run([sys.executable, "-m", "ffml", *map(str, arguments)], check=True)


with TemporaryDirectory() as folder:
    run, decisions = Path(folder, "run"), Path(folder, "decisions.csv")
    table = write_loans(Path(folder, "loans.csv"), range(1, 10), seed=0)
    command("inspect", table, *ROLES, "--drop", "applicant")
    command("run", table, *ROLES, "--drop", "applicant", "--out", run)
    for finding in ffml.open(run).check(min_dp=0.5, max_violation=0.2):
        print(f"{finding.answer}: {finding.sentence()}")
    known = write_loans(Path(folder, "known.csv"), range(10, 11), seed=1)  # outcomes so far
    new = write_loans(Path(folder, "new.csv"), range(10, 11), seed=2)
    command("predict", run, new, "--support", known, "--keep", "applicant", "--out", decisions)
    with decisions.open(encoding="utf-8") as file:
        selected = [row["decision"] == "1" for row in csv.DictReader(file)]
    pooled = json.loads((run / "summary.json").read_text(encoding="utf-8"))["pooled"]
    print(f"DP ratio {pooled['dp']:.2f} of ceiling {pooled['dp_ceiling']:.2f} over 9 months; in")
    print(f"October {sum(selected)} of {len(selected)} applicants would be approved.")
