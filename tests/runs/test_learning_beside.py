"""Who decides does not wait while labels are learned from, and the ledger can be replayed."""

import threading

import pandas as pd
import pytest
from lives import begun, labels, month, unlabelled

import ffml
from ffml.runs import _labels


@pytest.fixture
def busy(monkeypatch):
    """Learning that begins when it is told, and ends when it is told."""
    began, go_on = threading.Event(), threading.Event()
    absorb = _labels.absorb

    def slow(*arguments):
        began.set()
        assert go_on.wait(60)
        return absorb(*arguments)

    monkeypatch.setattr(_labels, "absorb", slow)
    return began, go_on


def test_people_are_decided_about_while_their_task_is_learned_from(tmp_path, busy):
    began, go_on = busy
    run = begun(tmp_path / "loans")
    run.decide(unlabelled(9), task="counter")
    learner = ffml.open(tmp_path / "loans")
    added = []
    brings = threading.Thread(
        target=lambda: added.append(learner.label(labels(9).assign(month="counter")))
    )
    brings.start()
    assert began.wait(60)
    late = unlabelled(8, 3)
    said = run.decide(late, task="counter")  # returns while the other one learns
    assert not added and len(said) == 3
    go_on.set()
    brings.join()
    assert added[0].learned == ("counter",) and added[0].new == 24
    row = run.store.round_of("counter")
    assert row.status == "learned" and row.document["n_rows"] == 24
    assert not [x for x in run.store.decisions(round=row.round, columns=("x",))["x"] if len(x)]
    frame = run.rounds
    assert frame.loc[row.round, "n_validation"] + frame.loc[row.round, "n_unlabelled"] == 27
    assert run.verify().sound
    later = run.label(
        pd.DataFrame({"person": late.person, "month": "counter", "paid": month(8)[:3].paid})
    )
    assert later.new == 3 and run.verify().sound
    learner.close()
    run.close()


def test_a_run_that_learned_beside_decisions_is_replayed(tmp_path, busy):
    began, go_on = busy
    table = pd.concat([month(1), month(2)])
    from lives import ROLES, SETTINGS

    run = ffml.run(table, out=tmp_path / "run", keep_features=True, **ROLES, **SETTINGS)
    run.decide(unlabelled(9), task="counter")
    learner = ffml.open(tmp_path / "run")
    brings = threading.Thread(target=lambda: learner.label(labels(9).assign(month="counter")))
    brings.start()
    assert began.wait(60)
    run.decide(unlabelled(8, 3), task="counter")
    go_on.set()
    brings.join()
    assert run.replay()
    learner.close()
    run.close()


def test_labels_that_fail_to_be_written_leave_nothing(tmp_path, monkeypatch):
    run = begun(tmp_path / "loans")
    run.decide(unlabelled(9), task="counter")
    before = run.store.head
    monkeypatch.setattr(_labels.Session, "put_state", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        run.label(labels(9).assign(month="counter"))
    assert run.store.head == before and run.store.round_of("counter").status == "open"
    monkeypatch.undo()
    assert run.label(labels(9).assign(month="counter")).new == 24
    run.close()
