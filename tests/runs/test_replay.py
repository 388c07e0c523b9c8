"""`ffml replay`: learned again from the ledger, a run ends with the same bytes."""

import shutil
import sqlite3
from contextlib import closing

import pytest
from months import MONTHS, begin, labels, loans, of, unlabelled

import ffml
from ffml.base import FFMLError

FRAME = loans(5, 40)


def grown(run):
    """Let a run go on: a month without labels, some labels, another month, the rest."""
    april, may = (of(FRAME, month) for month in MONTHS[3:5])
    run.update(unlabelled(april))
    run.label(labels(april[:9]))
    run.update(unlabelled(may.sample(frac=1, random_state=0)))
    run.label(labels(april))
    run.label(labels(may[:30]))
    wrong = labels(may[:2]).assign(approved=may.approved[:2].map({"yes": "no", "no": "yes"}))
    run.label(wrong, correct=True)
    return run


@pytest.fixture(scope="module", params=["features", "table"])
def learned(request, tmp_path_factory):
    """A run that has seen much, with features in the ledger and without, and its tables."""
    folder = tmp_path_factory.mktemp("replay")
    first = of(FRAME, *MONTHS[:3])
    keep = request.param == "features"
    grown(begin(first, folder / "run", label_delay=1, keep_features=keep)).close()
    FRAME.to_csv(folder / "all.csv", index=False)
    return folder


@pytest.fixture
def run(learned, tmp_path):
    shutil.copytree(learned / "run", tmp_path / "run")
    return ffml.open(tmp_path / "run")


def data_of(run, learned):
    return None if run.store.document("keep_features") else learned / "all.csv"


def test_the_same_bytes(run, learned):
    head = run.store.head
    assert run.replay(data_of(run, learned))
    assert run.store.head == head  # asking changes nothing
    if data := data_of(run, learned):
        assert run.replay(FRAME.sample(frac=1, random_state=3)) and data


def test_the_command(run, learned, run_main):
    data = data_of(run, learned)
    code, out, err = run_main("replay", run.folder, *([data] if data else []))
    assert code == 0 and "the same bytes after a replay" in out, err


def test_other_decisions_are_other_bytes(run, learned, run_main):
    """A label that was changed by hand is found: what was learned does not follow from it."""
    run.close()
    with closing(sqlite3.connect(run.folder / "run.db")) as ledger, ledger:
        ledger.execute("update decisions set first_label = 1 - first_label where round = 1")
    assert not ffml.open(run.folder).verify().sound
    data = data_of(run, learned)
    code, out, _ = run_main("replay", run.folder, *([data] if data else []))
    assert code == 1 and "other bytes" in out


def test_data_that_are_not_those_of_the_run(run, run_main):
    if run.store.document("keep_features"):
        pytest.skip("the ledger has all that it needs")
    for data in (FRAME.assign(age=FRAME.age + 1), FRAME[FRAME.month != MONTHS[1]], FRAME[5:]):
        with pytest.raises(FFMLError, match="of the run is not in the data, or has changed; give"):
            run.replay(data)


def test_rows_without_ids_and_with_labels_of_the_task(tmp_path):
    """The paper's protocol: some rows are adapted to; equal rows are told apart by order."""
    twice = of(FRAME, *MONTHS[:3]).copy()
    twice.loc[twice.index[1::2], ["age", "income", "job", "sex"]] = twice.loc[
        twice.index[::2], ["age", "income", "job", "sex"]
    ].to_numpy()
    run = begin(twice, tmp_path / "run", id=None, drop=("applicant",))
    assert run.replay(twice)


def test_decisions_made_one_by_one_are_kept_in_a_replay(tmp_path):
    april = of(FRAME, MONTHS[3])
    first = of(FRAME, *MONTHS[:3])
    run = begin(first, tmp_path / "run", label_delay=1, keep_features=True)
    run.decide(unlabelled(april[:20]))
    run.decide(unlabelled(april))
    run.label(labels(april))
    run.update(unlabelled(of(FRAME, MONTHS[4])))
    assert run.replay()
