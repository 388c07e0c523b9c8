"""What a service needs of a run, on both databases: keys, versions, rates by time, readers."""

import datetime
import sqlite3
import threading
import uuid
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import sqlalchemy as sa
from months import MONTHS, begin, labels, loans, of, unlabelled

import ffml
from ffml.base import FFMLError

FRAME = loans(4, 40)
APRIL = of(FRAME, MONTHS[3])
NEW = unlabelled(APRIL)
GOLDEN = Path(__file__).parents[1] / "golden" / "ledger_format_1.sql"
SMALL = {"shots": 2, "tasks_per_round": 2, "rows_per_task": 8}


@pytest.fixture(params=["sqlite", "postgresql"])
def run(request, tmp_path):
    """A run over three months."""
    out = tmp_path / "run"
    if request.param == "postgresql":
        out = f"{request.getfixturevalue('server')}?run=r{uuid.uuid4().hex}"
    run = begin(of(FRAME, *MONTHS[:3]), out, **SMALL)
    run.address = out
    yield run
    run.close()


def test_a_request_that_comes_twice_is_one_decision(run):
    people = NEW[:3].drop(columns="month")
    first = run.decide(people, key="a")
    run.update(APRIL)  # who has no task would come after another round now
    head = run.store.head
    again = run.decide(people, key="a")
    pd.testing.assert_frame_equal(first, again)
    assert run.store.head == head
    with pytest.raises(FFMLError, match="another request was made under the key 'a'"):
        run.decide(people[:2], key="a")
    other = run.decide(people, key="b")
    assert (other.number != first.number).all() and set(other.task) == {"after round 4"}
    assert run.verify().sound


def test_of_many_at_once_one_decides(run):
    people = NEW[:2]

    def ask(_):
        mine = ffml.open(run.address)
        try:
            return mine.decide(people, key="same").number.tolist()
        finally:
            mine.close()

    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(ask, range(8)))
    assert len({tuple(one) for one in answers}) == 1 and len(run.decisions) == 3 * 20 + 2
    with run.store.transaction("test", "twice") as ledger, pytest.raises(sa.exc.IntegrityError):
        ledger.put_request("same", "x", [1])


def test_labels_by_the_number_of_a_decision(run):
    said = run.decide(NEW)
    given = pd.DataFrame({"number": said.number, "approved": APRIL.approved.to_numpy()})
    assert run.label(given[:5], id="number").new == 5
    head = run.store.head
    added = run.label(given[:5], id="number")
    assert (added.new, added.known) == (0, 5) and run.store.head == head
    assert run.label(labels(APRIL)).known == 5
    with pytest.raises(FFMLError, match="has no decision 99999"):
        run.label(pd.DataFrame({"number": [99999], "approved": ["yes"]}), id="number")
    with pytest.raises(FFMLError, match="'x' is not the number of a decision"):
        run.label(pd.DataFrame({"number": ["x"], "approved": ["yes"]}), id="number")


def test_a_version_is_promoted_and_rolled_back(run):
    newest = run.store.version_number
    before = run.decide(NEW, record=False)
    assert [row.deciding for row in run.versions] == [False] * (newest - 1) + [True]
    assert run.versions[-1].task == MONTHS[2] and run.versions[-1].parent == newest - 1
    assert run.roll_back() == newest - 1 == run.store.deciding
    back = run.decide(NEW, task="one")
    assert set(back.version) == {newest - 1} and set(before.version) == {newest}
    assert not np.allclose(back.probability, before.probability)
    with pytest.raises(FFMLError, match="promote it first"):
        run.update(APRIL)
    with pytest.raises(FFMLError, match="let the newest one decide first"):
        run.forget(str(NEW.applicant.iloc[0]))
    assert run.promote() == newest and run.verify().sound
    assert (run.decide(NEW, record=False).probability == before.probability).all()
    with pytest.raises(FFMLError, match="version 99 has no state"):
        run.promote(99)


def test_a_promoted_version_keeps_its_state_while_others_are_learned(run):
    old = run.promote(run.store.version_number)
    said = run.decide(NEW, record=False)
    for number, month in enumerate(("2024-05", "2024-06", "2024-07", "2024-08")):
        own = APRIL.assign(month=month, applicant=APRIL.applicant + 1000 * (number + 1))
        run.decide(unlabelled(own))
        assert run.label(labels(own, "month")).learned == (month,)
    assert run.store.version_number == old + 4 and run.store.deciding == old
    assert [row.number for row in run.versions if row.kept] == [old, old + 2, old + 3, old + 4]
    with ffml.open(run.address).store as store:
        again = ffml.runs.Run(store).decide(NEW, record=False)
    assert (again.probability == said.probability).all() and run.verify().sound
    assert [e.what for e in run.store.events() if e.who == "promote"] == [f"version {old}"]


def test_rates_by_time_are_those_of_the_decisions(run):
    run.decide(NEW)
    run.label(labels(APRIL[:7]))
    everybody = run.decisions
    whole = run.rates()
    expected = everybody.groupby("sex").decision.agg(["size", "sum"])
    assert whole.people.tolist() == expected["size"].tolist()
    assert whole.positive.tolist() == expected["sum"].tolist()
    assert whole.labelled.tolist() == everybody.groupby("sex").label.count().tolist()
    assert np.allclose(whole.label_rate, everybody.groupby("sex").label.mean().astype(float))
    at = next(event.at for event in run.store.events() if event.who == "decide")
    late = run.rates(start=at, by="day")
    assert late.people.sum() == len(NEW) and set(late.period) == {at[:10]}
    assert run.rates(end=at).people.sum() == len(everybody) - len(NEW)
    assert len(run.rates(start="2999")) == 0
    with pytest.raises(FFMLError, match="unknown period 'week'"):
        run.rates(by="week")
    zone = datetime.timezone(datetime.timedelta(hours=5.5))
    east = datetime.datetime.fromisoformat(at).astimezone(zone)
    assert run.rates(start=east.isoformat(), by="day").equals(late)
    for strange in ("garbage", "19.11.2026", "2026-3", "2026-02-30", ""):
        with pytest.raises(FFMLError, match="is a moment of UTC or its beginning, such as 2026-03"):
            run.rates(start=strange)


def test_readers_do_not_wait_for_who_writes(run):
    with ffml.open(run.address, write=False).store as store:
        reader = ffml.runs.Run(store)
        before = reader.rates().people.sum()
        begun, done = threading.Event(), threading.Event()

        def write():
            with run.store.transaction("test", "slow") as ledger:
                ledger.put_document("test", 1)
                begun.set()
                done.wait(30)

        writer = threading.Thread(target=write)
        writer.start()
        assert begun.wait(10)
        try:
            assert reader.rates().people.sum() == before and len(reader.versions) == 3
            assert reader.answer["people"] == before and store.document("test") is None
            assert len(reader.decide(NEW, record=False)) == len(NEW)
            assert reader.verify().sound and writer.is_alive()
        finally:
            done.set()
            writer.join()
        assert store.document("test") == 1


def test_a_run_of_format_1_is_read_and_goes_on(tmp_path):
    with closing(sqlite3.connect(tmp_path / "run.db")) as database:
        database.executescript(GOLDEN.read_text(encoding="utf-8"))
        database.execute("pragma journal_mode = wal")
    with ffml.open(tmp_path, write=False).store as store:
        old = ffml.runs.Run(store)
        assert store.document("format") == 1 and old.verify().sound and len(old.rates()) == 2
    with ffml.open(tmp_path).store as store:
        run = ffml.runs.Run(store)
        assert store.document("format") == 2 and run.verify().sound
        new = unlabelled(of(loans(3, 12), MONTHS[2]))
        said = run.decide(new, key="a")
        assert run.decide(new, key="a").equals(said) and said.number.is_unique
        assert run.verify().sound and len(store.events()) == 4 + 2
    with closing(sqlite3.connect(tmp_path / "run.db")) as database:
        names = {name for (name,) in database.execute("select name from sqlite_master")}
    assert {"requests", "events_at", "decisions_event"} <= names


def test_the_command_promotes(run, run_main):
    newest = run.store.version_number
    code, out, err = run_main("promote", run.address, "--back")
    assert code == 0 and f"version {newest - 1}," in out and run.store.deciding == newest - 1, err
    assert out.count("decides") == 1 and len(out.splitlines()) == 3
    assert run_main("promote", run.address)[0] == 0 and run.store.deciding == newest
    assert run_main("promote", run.address, "1", "--back")[0] == 2
