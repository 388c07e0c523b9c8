"""People to ask a service about, and what its ledger has of them."""

from lives import unlabelled

import ffml

GOOD = {"person": "x1", "sex": "F", "income": 50.0}


def persons(rows, number=9):
    """Return people as JSON has them."""
    return unlabelled(number, rows).drop(columns="month").to_dict("records")


def written(address):
    """Return all decisions of a ledger."""
    run = ffml.open(address, write=False)
    rows = run.store.decisions(columns=("id", "probability", "decision", "label"))
    run.close()
    values = (rows[name].tolist() for name in rows)
    return [repr(row) for row in zip(*values, strict=True)]  # NaN is as NaN
