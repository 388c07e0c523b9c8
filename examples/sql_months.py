"""A run on a database: learn from a query, and go on when the table has grown.

The commands are those that you would type; see docs/monthly.md.
"""

import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

ROLES = ["--label", "approved", "--positive", "yes", "--sensitive", "sex", "--task", "month"]
QUERY = "SELECT month, sex, income, debt, approved FROM loans ORDER BY month"


def add_months(database: Path, months: range) -> None:
    """Add months of loans, in which one sex has the lower incomes."""
    with closing(sqlite3.connect(database)) as connection, connection:
        columns = "month TEXT, sex TEXT, income REAL, debt REAL, approved TEXT"
        connection.execute(f"CREATE TABLE IF NOT EXISTS loans ({columns})")
        for month in months:
            rng = np.random.default_rng(month)
            for _ in range(150):
                sex, debt = str(rng.choice(["F", "M"])), rng.gamma(3, 6)
                income = rng.normal(54 if sex == "M" else 46, 12)
                paid = (income - 50) / 8 - (debt - 18) / 5 + rng.logistic() > 0
                row = (f"2024-{month:02d}", sex, income, debt, "yes" if paid else "no")
                connection.execute("INSERT INTO loans VALUES (?, ?, ?, ?, ?)", row)


def ffml(*arguments: object) -> str:
    """Run a command of ffml; return what it prints."""
    command = [sys.executable, "-m", "ffml", *map(str, arguments)]
    done = subprocess.run(command, check=True, capture_output=True, encoding="utf-8")
    return done.stdout


with TemporaryDirectory() as folder:
    database, run = Path(folder, "loans.db"), Path(folder, "run")
    address = f"sqlite:///{database}"
    add_months(database, range(1, 7))
    ffml("run", address, "--query", QUERY, *ROLES, "--out", run)
    add_months(database, range(7, 8))
    ffml("update", run, address)  # the run's own query
    print(ffml("update", run, address).replace(folder, "…"))  # nothing has been added since
