"""A small run behind the service: its people, its ledger, its clients."""

import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest
from lives import begun, unlabelled

import ffml
from ffml.store.copying import copy_ledger

GOOD = {"person": "x1", "sex": "F", "income": 50.0}


@contextmanager
def learning_here():
    """Learn in a thread: a process takes seconds to start, and services of their own have one."""
    from ffml import runtime
    from ffml.service._learner import Learner

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Learner, "_fresh", staticmethod(lambda: ThreadPoolExecutor(1)))
        patch.setattr(runtime, "configure", lambda *_, **__: None)  # JAX has started already
        yield


@pytest.fixture(scope="session")
def first(tmp_path_factory):
    """A run that nobody changes."""
    folder = tmp_path_factory.mktemp("service") / "loans"
    begun(folder).close()
    return folder


@pytest.fixture
def folder(first, tmp_path):
    """A run of the test's own."""
    copy_ledger(first, tmp_path / "loans")
    with learning_here():
        yield tmp_path / "loans"


@pytest.fixture
def client(folder):
    """Who asks a service of that run."""
    from starlette.testclient import TestClient

    from ffml.service.app import create_app

    with TestClient(create_app({"loans": str(folder)}), "http://localhost") as client:
        yield client


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
def serving(app, port=0):
    """Serve in a thread; yield the address."""
    from ffml.service.server import Server

    ready, at = threading.Event(), []
    server = Server(app, "127.0.0.1", port, lambda address: (at.append(address), ready.set()))
    thread = threading.Thread(target=server.run)
    thread.start()
    assert ready.wait(60)
    try:
        yield at[0]
    finally:
        server.handle_exit(signal.SIGTERM, None)
        thread.join(20)
        assert not thread.is_alive()
