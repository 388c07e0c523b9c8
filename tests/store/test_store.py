"""The ledger on SQLite and on a real PostgreSQL: what is written is what plain SQL says."""

import collections
import json
import sqlite3

import numpy as np
import pytest
from ledgers import blob, decided, plain_sql

from ffml.base import FFMLError
from ffml.store import Labels, verify

TRUTH = """
select task, groups, coalesce(label, -1), coalesce(decision, -1), coalesce(unpriced, -1), count(*)
from people group by 1, 2, 3, 4, 5
"""


def counted(store):
    tasks = {row.round: row.task for row in store.rounds()}
    cells = store.cells()
    return {
        (tasks[r], json.dumps(cells[c], sort_keys=True), y, d, u): n
        for r, c, y, d, u, n in zip(*(column.tolist() for column in store.counts()), strict=True)
    }


def truth(address):
    rows = plain_sql(address, TRUTH)
    return {(t, json.dumps(json.loads(g), sort_keys=True), *rest): n for t, g, *rest, n in rows}


def test_counts_equal_a_group_by_over_people_after_any_sequence(store, address):
    rng = np.random.default_rng(3)
    labels = {}  # our own books: (task, id) -> newest label
    for step in range(40):
        task = f"t{rng.integers(5)}"
        with store.transaction("test", "step") as t:
            if rng.random() < 0.6 or not labels:
                ids = [f"{task}.{step}.{i}" for i in range(rng.integers(0, 6))]
                people = decided(ids, rng)
                t.add_decisions(t.put_round(task, "open", {"step": step}), people)
                labels |= {(task, i): y for i, y in zip(ids, people.label.tolist(), strict=True)}
            else:
                keys = [list(labels)[i] for i in rng.permutation(len(labels))[:4]]
                values = rng.integers(0, 2, len(keys))
                given = Labels([k[1] for k in keys], values, [k[0] for k in keys])
                placement = t.add_labels(given, correct=True)
                before = [labels[k] for k in keys]
                fresh = [b != v for b, v in zip(before, values.tolist(), strict=True)]
                wrong = [f and b >= 0 for f, b in zip(fresh, before, strict=True)]
                assert len(placement.decision) == sum(fresh)
                assert len(placement.corrections) == sum(wrong)
                labels |= dict(zip(keys, values.tolist(), strict=True))
    assert counted(store) == truth(address)
    told = plain_sql(address, "select task, id, coalesce(label, -1) from people")
    assert {(t, i): y for t, i, y in told} == labels
    totals = store.totals()
    assert totals.n.sum() == len(labels) == len(store.decisions(columns=("id",))["id"])
    byword = collections.Counter()
    for key, n in counted(store).items():
        byword[key[2]] += n
    assert {y: int(totals.n[totals.label == y].sum()) for y in byword} == dict(byword)
    assert verify(store).findings == []


def test_a_failed_transaction_leaves_nothing(store):
    before = store.head
    with pytest.raises(RuntimeError), store.transaction("test", "round") as t:
        number = t.put_round("may", "open", {})
        t.add_decisions(number, decided(["a", "b"]))
        t.put_version({}, b"state", **blob(b"trees"))
        raise RuntimeError
    assert (store.head, store.rounds(), store.cells()) == (before, [], {})
    assert store.version() is None
    with store.transaction("test", "round") as t:  # nor does it leave a number for a cell
        t.add_decisions(t.put_round("may", "open", {}), decided(["a", "b"]))
    assert verify(store).sound


def test_people_come_back_as_they_went_in(store):
    people = decided(["a", "Zoë", "c"], x=np.arange(6, dtype=np.float32).reshape(3, 2))
    people = people._replace(probability=np.array([0.25, np.nan, -0.0]))
    with store.transaction("test", "round") as t:
        number = t.put_round("may", "decided", {"auc": np.float32("nan"), "n": np.int64(3)})
        t.add_decisions(number, people)
    rows = store.decisions(number, columns=("id", "probability", "decision", "content", "x"))
    assert rows["id"].tolist() == list(people.ids)
    np.testing.assert_array_equal(rows["probability"], [0.25, np.nan, 0.0])
    np.testing.assert_array_equal(rows["decision"], people.decision)
    np.testing.assert_array_equal(rows["content"], people.content)
    np.testing.assert_array_equal(rows["x"], people.x)
    assert store.decisions(ids=["c"])["task"].tolist() == ["may"]
    assert store.decisions(ids=["nobody"])["id"].size == 0
    assert store.rounds()[0].document == {"auc": None, "n": 3}
    assert store.document("name") == "loans" and store.document("nothing") is None
    assert verify(store).findings == []


def test_an_id_comes_once_in_a_task(store):
    with pytest.raises(FFMLError, match="'a' comes twice"), store.transaction("t", "w") as t:
        t.add_decisions(t.put_round("may", "open", {}), decided(["a", "b", "a"]))
    for task in ("may", "june"):
        with store.transaction("t", "w") as t:
            t.add_decisions(t.put_round(task, "open", {}), decided(["a", "b"]))
    with pytest.raises(FFMLError, match="'b' comes twice in task 'may'"):  # noqa: SIM117
        with store.transaction("t", "w") as t:
            t.add_decisions(1, decided(["c", "b"]))


def test_only_the_newest_versions_keep_their_bytes(store, address):
    for number in range(1, 7):
        with store.transaction("test", "learn") as t:
            blobs = blob(b"the same", b"%d" % (number // 5))
            assert t.put_version({"number": number}, b"state %d" % number, **blobs) == number
    assert [store.version(n).state for n in (3, 4, 6)] == [None, b"state 4", b"state 6"]
    newest = store.version()
    assert [*newest.blobs.values()] == [b"the same", b"1"]
    assert (newest.parent, newest.document) == (5, {"number": 6})
    assert plain_sql(address, "select count(*) from blobs") == [(3,)]  # one of them is shared
    assert store.version(9) is None
    assert verify(store).findings == []


def test_forgetting_a_person(store, address):
    secret = "Miss Forgettable"
    for task in ("may", "june"):
        with store.transaction("test", "round") as t:
            people = decided([secret, "b"], x=np.full((2, 2), 7.25, np.float32))
            t.add_decisions(t.put_round(task, "open", {}), people)
    before = counted(store)
    assert store.forget(secret, tasks=["may"]) == 1
    assert store.decisions(ids=[secret])["task"].tolist() == ["june"]
    assert store.forget(secret) == 1
    assert counted(store) == before == truth(address)
    result = verify(store)
    assert (result.findings, result.forgotten) == ([], 2)
    with pytest.raises(FFMLError, match="knows no id"):
        store.forget(secret)
    with pytest.raises(FFMLError, match="has not decided about"):
        store.place(Labels([secret], np.ones(1)))
    rows = plain_sql(address, "select id, content, x from decisions where forgotten is not null")
    assert rows == [(None, None, None)] * 2
    if "://" not in str(address):
        assert not any(secret.encode() in path.read_bytes() for path in address.glob("run.db*"))
        with sqlite3.connect(address / "run.db") as raw:  # what is left is still vouched for
            raw.execute("update decisions set decision = coalesce(1 - decision, 1) where seq = 1")
        raw.close()
        assert "decisions" in {finding.table for finding in verify(store).findings}
