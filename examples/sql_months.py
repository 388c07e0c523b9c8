"""A run on a database: learn from a query, go on when it has grown, ask the ledger by SQL."""

import sqlite3
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import ffml

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


with TemporaryDirectory() as folder:
    database = Path(folder, "loans.db")
    address = f"sqlite:///{database}"
    add_months(database, range(1, 7))
    run = ffml.run(
        address,
        query=QUERY,
        label="approved",
        positive="yes",
        sensitive="sex",
        task="month",
        out=Path(folder, "run"),
    )
    add_months(database, range(7, 8))
    print("new:", [record.task for record in run.update(address)])  # the run's own query
    print("again:", [record.task for record in run.update(address)])  # nothing was added since
    run.close()
    with closing(sqlite3.connect(Path(folder, "run", "run.db"))) as ledger:
        for groups, people, rate in ledger.execute(
            "select groups, count(*), avg(decision) from people "
            "where decision is not null group by groups order by groups"
        ):
            print(f"{groups}: {people} decided about, {100 * rate:.0f} of 100 approved")
