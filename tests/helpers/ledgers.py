"""Places for ledgers, people to put into them, and plain SQL to ask what is there."""

import hashlib
import itertools
import sqlite3
from contextlib import closing

import numpy as np
import pytest

from ffml.store import Decided, Store
from ffml.store._database import split_run

_numbers = itertools.count()


@pytest.fixture(params=["sqlite", "postgresql"])
def address(request, tmp_path):
    """A place for a run: a folder, then a namespace of a PostgreSQL server."""
    if request.param == "sqlite":
        return tmp_path / "run"
    return f"{request.getfixturevalue('server')}?run=run_{next(_numbers)}"


@pytest.fixture
def store(address):
    """A run that has just begun."""
    with Store.create(address, {"name": "loans"}) as store:
        yield store


def plain_sql(address, query):
    """Ask the database itself."""
    if "://" not in str(address):
        with closing(sqlite3.connect(address / "run.db")) as raw, raw:
            return raw.execute(query).fetchall()
    import psycopg

    url, schema = split_run(address)
    with psycopg.connect(url) as raw:
        raw.execute(f'set search_path to "{schema}"')
        cursor = raw.execute(query)
        return cursor.fetchall() if cursor.description else []


def decided(ids, rng=None, version=0, x=None):
    """People with random groups, decisions and labels."""
    rng, n = rng or np.random.default_rng(0), len(ids)
    groups = {"sex": rng.choice(["F", "M"], n), "race": rng.choice(["a", "b", "c"], n)}
    decision, unpriced, label = rng.integers(-1, 2, (3, n))
    content = rng.integers(-(2**63), 2**63 - 1, n)
    return Decided(ids, groups, version, rng.random(n), decision, unpriced, label, content, x)


def blob(*data):
    """Return parts of a state as a version takes them."""
    new = {hashlib.sha256(one).hexdigest(): one for one in data}
    return {"parts": [*new], "new": new}
