"""People to ask a service about, what its ledger has of them, and a service that listens."""

import threading
from contextlib import contextmanager

from lives import unlabelled

import ffml
from ffml.service.server import Server

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


@contextmanager
def serving(app):
    """Serve in a thread; yield the address."""
    ready, at = threading.Event(), []
    server = Server(app, "127.0.0.1", 0, lambda address: (at.append(address), ready.set()))
    thread = threading.Thread(target=server.run)
    thread.start()
    assert ready.wait(60)
    try:
        yield at[0]
    finally:
        server.should_exit = True
        thread.join()
