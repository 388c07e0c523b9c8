"""Months of loans in one table and in several, and the runs that learn from them."""

import pandas as pd
from loans import write_loans
from quick import QUICK, SMALL
from workshop import hurry

import ffml
from ffml import runtime

ROLES = ["--label", "approved", "--positive", "yes", "--sensitive", "sex", "--task", "month"]
OPTIONS = [*ROLES, "--method", "ffml", *QUICK, *SMALL, "--quiet"]
MONTHS = [f"2024-{month:02d}" for month in range(1, 6)]


def write_months(folder, rows=60):
    """Write all.csv with all months, begun.csv with the first three, and one file a month."""
    whole = pd.read_csv(write_loans(folder / "all.csv", len(MONTHS), rows))
    for month in MONTHS:
        whole[whole.month == month].to_csv(folder / f"{month}.csv", index=False)
    whole[whole.month <= MONTHS[2]].to_csv(folder / "begun.csv", index=False)
    return whole


def run(*words):
    """Call ``ffml run`` in this process."""
    from ffml.cli import app

    app(["run", *map(str, words)], standalone_mode=False)


def hurry_too(patch):
    """Leave out charts and most draws, and do not set up JAX, which has started already."""

    def write_report(run, folder):
        (folder / "report.html").write_text("")
        return folder / "report.html"

    hurry(patch)
    patch.setattr(ffml.report, "_write_report", write_report)
    patch.setattr(runtime, "configure", lambda *args, **kwargs: None)
