"""Whatever is changed by plain SQL is found, and said where."""

import numpy as np
import pytest
from ledgers import blob, decided, plain_sql

from ffml.store import Labels, verify

TAMPERING = {
    "update decisions set decision = coalesce(1 - decision, 1) where seq = 2": "task may, id b",
    "update decisions set probability = 0.123 where seq = 5": "task june, id b",
    "update decisions set content = 1 where seq = 5": "task june, id b",
    "update decisions set id = 'z' where seq = 2": "task may, id z",
    "update decisions set first_label = null where seq = 3": "task may, id c",
    "update decisions set version = 9 where seq = 6": "task june, id d",
    "update decisions set cell = 3 - cell where seq = 4 and cell < 3": "task june, id a",
    "delete from decisions where seq = 3": "decisions: number 3, event 2: missing",
    "delete from decisions where seq = 6": "decisions: number 6, event 3: missing",
    "insert into decisions select 99, round, 'new', cell, content, version, probability, decision, "
    "unpriced, first_label, event, hash, forgotten, x from decisions where seq = 3": "new: added",
    "update decisions set id = null, content = null where seq = 2": "task may, a person forgotten",
    "update labels set label = 1 - label": "labels: number 1, task may, id a: changed",
    "delete from labels": "labels: number 1, event 6: missing",
    "insert into labels select 2, 2, label, event, hash from labels": "id b: added",
    "update rounds set document = '{}' where round = 2": "rounds: task june: changed",
    "update rounds set status = 'open' where round = 1": "rounds: task may: changed",
    "insert into rounds values (3, 'july', 'open', '{}')": "rounds: task july: added",
    "update run set value = '7' where key = 'name'": "run: document name: changed",
    "delete from run where key = 'name'": "run: document name: missing",
    "insert into run values ('more', '1')": "run: document more: added",
    "update cells set groups = '{}' where cell = 1": "cells: cell 1: changed",
    "update versions set state = state || state where number = 1": "version 1: its state or a blob",
    "update versions set state = null where number = 1": "version 1: its state is missing",
    "update versions set document = '{}' where number = 1": "versions: version 1: changed",
    "update blobs set bytes = bytes || bytes": "version 1: its state or a blob",
    "delete from versions where number = 2": "versions: version 2: missing",
    "update counts set n = n + 1 where round = 2": "counts: task june",
    "delete from counts where round = 1": "counts: task may",
    "update events set who = 'nobody' where seq = 3": "events: event 3, round: changed",
    "update events set at = '2020' where seq = 1": "events: event 1, create: changed",
    "delete from events where seq = 4": "events: event 4: missing",
    "drop view people; create view people as select r.task, d.id, d.first_label as label, "
    "d.decision, d.unpriced, c.groups from decisions d join rounds r on r.round = d.round "
    "join cells c on c.cell = d.cell": "people: task may",
}
SWAP = [
    "update decisions set seq = -1 where seq = 2",
    "update decisions set seq = 2 where seq = 3",
    "update decisions set seq = 3 where seq = -1",
]


@pytest.fixture
def ledger(store):
    for task, ids in {"may": ["a", "b", "c"], "june": ["a", "b", "d"]}.items():
        with store.transaction("test", "round") as t:
            people = decided(ids)._replace(label=np.array([-1, 1, 0]))
            t.add_decisions(t.put_round(task, "decided", {"task": task}), people)
    for number in (1, 2):
        with store.transaction("test", "learn") as t:
            t.put_version({"number": number}, b"state", **blob(b"trees"), round=number)
    with store.transaction("test", "label") as t:
        t.add_labels(Labels(["a"], np.ones(1), ["may"]))
    return store


def tamper(address, *statements):
    if "://" in str(address):  # as somebody who may do everything
        statements = ("set session_replication_role = replica", *statements)
        plain_sql(address, "; ".join(statements))
    else:
        for statement in "; ".join(statements).split("; "):
            plain_sql(address, statement)


@pytest.mark.parametrize("statement", TAMPERING, ids=lambda s: s[:50])
def test_tampering_is_found_and_located(ledger, address, statement):
    assert verify(ledger).findings == []
    tamper(address, statement)
    told = "\n".join(map(str, verify(ledger).findings))
    assert TAMPERING[statement] in told


def test_rows_that_changed_places_are_found(ledger, address):
    tamper(address, *SWAP)
    told = [str(finding) for finding in verify(ledger).findings]
    assert told == [
        "decisions: number 2, task may, id c: changed",
        "decisions: number 3, task may, id b: changed",
    ]


def test_a_row_with_a_hash_of_its_own_making_is_found(ledger, address):
    rows = plain_sql(address, "select hash from decisions where seq = 1")
    other = bytes(rows[0][0])[::-1].hex()
    literal = f"x'{other}'" if "://" not in str(address) else f"'\\x{other}'"
    tamper(address, f"update decisions set hash = {literal} where seq = 1")
    assert "id a: changed" in str(verify(ledger).findings[0])


def test_an_older_copy_is_found_by_a_head_noted_elsewhere(ledger, address):
    head = ledger.head
    assert verify(ledger, head).sound
    tamper(address, "delete from labels", "delete from events where seq = 6")
    found = [finding.what for finding in verify(ledger, head).findings]
    assert "missing: an older copy was put back" in found


def test_a_person_put_back_after_forgetting_is_found(ledger, address):
    content_of_d = plain_sql(address, "select content from decisions where seq = 6")
    ledger.forget("d")
    assert verify(ledger).forgotten == 1
    ((content,),) = content_of_d
    back = f"update decisions set forgotten = null, id = 'd', content = {content} where seq = 6"
    tamper(address, back)
    assert any("put back" in finding.what for finding in verify(ledger).findings)


@pytest.mark.parametrize(
    "change",
    [
        "decisions set decision = 'x' where seq = 2",
        "decisions set probability = 'x' where seq = 2",
        "decisions set hash = 'x' where seq = 2",
        "decisions set version = 1e300 where seq = 2",
        "events set document = '{' where seq = 2",
        "events set document = '[]' where seq = 2",
        "labels set hash = 'x', label = 'y'",
        "versions set state = 'x'",
    ],
)
def test_values_of_another_kind_are_found(ledger, address, change):
    if "://" in str(address):
        pytest.skip("PostgreSQL refuses them")
    tamper(address, f"update {change}")
    assert change.split()[0] in {finding.table for finding in verify(ledger).findings}
