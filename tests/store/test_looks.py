"""What the page asks of a ledger, on both databases, against plain counting."""

from collections import Counter

import numpy as np
import pytest
from ledgers import decided, plain_sql

from ffml.base import FFMLError
from ffml.store import Labels

DAYS = ("2026-01-01T09", "2026-01-02T09", "2026-01-02T11", "2026-02-01T00")


def told(store, address):
    """Fill a ledger on four moments, labels on the last one; return its people."""
    rng = np.random.default_rng(1)
    moved(address, "2025-12-31T00")
    for number, when in enumerate(DAYS[:3]):
        people = decided([f"{number}.{i}" for i in range(12)], rng)
        with store.transaction("test", "decide") as ledger:
            ledger.add_decisions(ledger.put_round(f"t{number % 2}", "open", {}), people)
        moved(address, when)
    known = {row[0] for row in plain_sql(address, "select id from people where label is null")}
    ids = sorted(known)[:5]
    with store.transaction("test", "label") as ledger:
        ledger.add_labels(Labels(ids, np.ones(len(ids), int)))
    moved(address, DAYS[3])
    return plain_sql(
        address, "select task, id, label, decision, at, version from people order by at, id"
    )


def moved(address, when):
    """Let the newest event be of another time."""
    plain_sql(
        address,
        f"update events set at = '{when}:00:00+00:00' where seq = (select max(seq) from events)",
    )


def test_looks_are_what_counting_says(store, address):
    people = [row for row in told(store, address) if row[3] is not None]
    newest = store.newest(5)
    assert [row.at for row in newest] == sorted((row[4] for row in people), reverse=True)[:5]
    every = {(r.task, r.id): (r.label, r.decision) for r in store.newest(1000)}
    assert every == {(task, id): (label, decision) for task, id, label, decision, *_ in people}
    for by, length in (("day", 10), ("hour", 13), ("month", 7)):
        counts = Counter(row[4][:length] for row in people)
        chosen = Counter(row[4][:length] for row in people if row[3] == 1)
        assert store.by_time("2026", by) == {p: (n, chosen[p]) for p, n in counts.items()}
    assert store.by_time("2026-01-02", "day").keys() == {"2026-01-02"}
    assert store.by_time("2027", "day") == {}


def test_labels_that_wait_and_those_that_came(store, address):
    people = [row for row in told(store, address) if row[3] is not None]
    everybody = Counter(row[0] for row in people)
    lacking = Counter(row[0] for row in people if row[2] is None)
    rows = store.waiting(10)
    assert [(r.task, r.people, r.waiting) for r in rows] == [
        (task, everybody[task], lacking[task]) for task in ("t1", "t0")
    ]
    assert [r.since[:13] for r in rows] == [DAYS[1], DAYS[0]]
    assert [r.task for r in store.waiting(1)] == ["t1"]
    delays = store.delays(100)
    assert len(delays) == 5 and {came[:13] for _, came in delays} == {DAYS[3]}
    assert {at[:13] for at, _ in delays} <= {*DAYS[:3]}


def test_another_period_is_refused(store):
    with pytest.raises(FFMLError, match="hour"):
        store.by_time("2026", "week")
