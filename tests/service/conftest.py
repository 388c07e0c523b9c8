"""A small run behind the service."""

import pytest
from lives import begun
from starlette.testclient import TestClient

from ffml.service.app import create_app
from ffml.store.copying import copy_ledger


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
