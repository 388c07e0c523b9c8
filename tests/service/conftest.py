"""A small run behind the service."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from lives import begun
from starlette.testclient import TestClient

from ffml import runtime
from ffml.service._learner import Learner
from ffml.service.app import create_app
from ffml.store.copying import copy_ledger


@pytest.fixture(autouse=True, scope="package")
def learns_here():
    """Learn in a thread: a process takes seconds to start, and services of their own have one."""
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
    return tmp_path / "loans"


@pytest.fixture
def client(folder):
    with TestClient(create_app({"loans": str(folder)}), "http://localhost") as client:
        yield client
