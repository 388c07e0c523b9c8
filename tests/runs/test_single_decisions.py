"""Decisions about people as they come are the same one by one, in a batch and from a file."""

import json
import shutil
from contextlib import nullcontext

import numpy as np
import pandas as pd
import pytest
from ledgers import decided
from months import MONTHS, SMALL, begin, labels, loans, of, unlabelled

import ffml
from ffml.base import FFMLError

FRAME = loans(4, 60)
APRIL = of(FRAME, MONTHS[3])
NEW = unlabelled(APRIL)


@pytest.fixture(scope="module", params=["plain", "bounded"])
def learned(request, tmp_path_factory):
    """A run over three months, without a bound and with prices of a bound."""
    folder = tmp_path_factory.mktemp("decide")
    more = {} if request.param == "plain" else {"wrappers": None, "max_gap": 0.02, **SMALL}
    begin(of(FRAME, *MONTHS[:3]), folder / "run", label_delay=1, **more).close()
    return folder / "run"


@pytest.fixture
def run(learned, tmp_path):
    shutil.copytree(learned, tmp_path / "run")
    with ffml.open(tmp_path / "run").store as store:
        yield ffml.runs.Run(store)


def same(one, other):
    columns = ["id", "task", "probability", "decision"]
    pd.testing.assert_frame_equal(
        one[columns].reset_index(drop=True), other[columns].reset_index(drop=True), check_exact=True
    )


def test_one_by_one_in_a_batch_and_from_a_file(run, tmp_path):
    batch = run.decide(NEW, record=False)
    NEW.to_csv(tmp_path / "new.csv", index=False)
    same(batch, run.decide(tmp_path / "new.csv", record=False))
    same(batch, pd.concat([run.decide(NEW[i : i + 1]) for i in range(len(NEW))]))
    same(batch, run.decide(tmp_path / "new.csv"))  # known by now
    assert 0 < batch.decision.mean() < 1 and list(batch.task.unique()) == [MONTHS[3]]


def test_what_is_recorded_is_what_was_said(run):
    said = run.decide(NEW)
    kept = run.decisions[run.decisions.task == MONTHS[3]].reset_index(drop=True)
    assert kept.id.tolist() == said.id.tolist() and (kept.decision == said.decision).all()
    assert (kept.probability == said.probability.astype(float)).all()
    assert kept.sex.tolist() == NEW.sex.tolist() and kept.label.isna().all()
    assert run.verify().sound


def test_deciding_again_changes_nothing(run):
    said = run.decide(NEW)
    head = run.store.head
    same(said, run.decide(NEW))
    same(said.iloc[::-1], run.decide(NEW.iloc[::-1]))
    assert run.store.head == head
    with pytest.raises(FFMLError, match=f"'{NEW.applicant.iloc[0]}' was decided about in task"):
        run.decide(NEW.assign(income=NEW.income + 1))
    assert run.store.head == head


def test_nothing_is_written_unless_asked(run):
    head = run.store.head
    run.decide(NEW, record=False)
    assert run.store.head == head


def test_groups_that_are_not_known(run):
    said = run.decide(NEW.drop(columns="sex"), task="unknown")
    assert (said.decision == run.decide(NEW, record=False).decision).all()
    assert run.decisions[run.decisions.task == "unknown"].sex.isna().all()
    assert run.answer["people"] == 240  # they are in no group's rate, and every face says so
    assert "the sex of 60 people, who are in no rate by it" in str(run.answer)
    assert "the sex of 60 people is not known" in run.check(max_gap=1.0)[0].words
    other = run.decide(NEW[:2].assign(sex="X", applicant=[9000, 9001]), task="unknown")
    assert len(other) == 2 and run.verify().sound


def test_who_is_of_no_known_group_is_counted_and_labelled_and_not_learned_from(run):
    """Whoever has a known group of one column alone is in the rates by that one."""
    run.decide(NEW[:40])
    run.decide(NEW[40:].drop(columns="sex"))
    assert run.label(labels(APRIL)).new == 60
    learned = run.store.rounds()[-1].document
    assert learned["n_rows"] == 40 and run.rounds.n_rows[4] == 60
    answer, decided = run.answer, run.decisions
    assert (answer["people"], answer["labelled"]) == (len(decided), 240)
    assert answer["accuracy"] == pytest.approx((decided.decision == decided.label).mean())
    assert answer["positive_share"] == pytest.approx(decided.decision.mean())
    april = decided[decided.task == MONTHS[3]]
    assert answer["now"]["people"] == 60 == len(april)
    assert run.rounds.accuracy[4] == pytest.approx((april.decision == april.label).mean())
    counted = answer["notions"][0]["fact"]["groups"]
    assert sum(group["people"] for group in counted) == 220
    assert run.verify().sound


def test_one_of_two_groups_may_be_known(tmp_path):
    frame = FRAME.assign(region=np.where(FRAME.index % 2, "north", "south"))
    run = begin(of(frame, *MONTHS[:3]), tmp_path / "two", sensitive=("sex", "region"))
    people = unlabelled(of(frame, MONTHS[3]))
    run.decide(people.drop(columns="sex"))
    decided = run.decisions[run.decisions.task == MONTHS[3]]
    assert decided.sex.isna().all()
    assert decided.region.tolist() == people.region.tolist()
    said = " ".join(run.check(max_gap=1.0)[0].words.split())
    assert "the sex of 60 people is not known" in said and "region of" not in said


def test_somebody_is_forgotten_before_the_labels_of_the_task_come(run):
    run.decide(NEW)
    person = str(NEW.applicant.iloc[3])
    assert run.forget(person) == 1
    others = APRIL[APRIL.applicant.astype(str) != person]
    assert run.label(labels(others)).new == 59
    assert run.store.rounds()[-1].status == "decided" and run.answer["people"] == 240
    assert run.verify().sound


def test_people_without_a_task_come_after_the_newest(run):
    said = run.decide(NEW.drop(columns="month"))
    assert set(said.task) == {"after round 3"}


def test_an_id_may_come_again_in_another_task(run):
    first = run.decide(NEW)
    again = run.decide(NEW.assign(month="2024-05"))
    assert (first.decision == again.decision).all() and len(run.decisions) == 180 + 120
    with pytest.raises(FFMLError, match="occurs in 2 tasks; add the task's column"):
        run.label(labels(APRIL))
    added = run.label(labels(APRIL.assign(month="2024-05"), "month"))
    assert added.new == 60 and run.store.document("keep_features") is False
    decided = run.decisions
    assert decided[decided.task == "2024-05"].label.notna().all()
    assert decided[decided.task == MONTHS[3]].label.isna().all()


def test_an_open_task_is_learned_from_once_labels_are_there(run):
    run.decide(NEW)
    version = run.store.version_number
    assert run.store.rounds()[-1].status == "open" and len(run.rounds) == 4
    some = run.label(labels(APRIL[:10]))
    assert (some.new, some.learned) == (10, ()) and run.store.version_number == version
    assert run.label(labels(APRIL)).new == 50
    assert run.store.version_number > version and run.store.rounds()[-1].status == "decided"
    kept = run.store.decisions(round=4, columns=("x",))["x"]
    assert all(len(x) == 0 for x in kept)  # nothing needs features any more
    (record,) = run.update(unlabelled(APRIL).assign(month="2024-05"))
    assert record.round == 5 and run.store.rounds()[3].status == "learned"
    assert run.verify().sound


def test_what_cannot_be_decided_about(run):
    for people, message in (
        (NEW.drop(columns="income"), "has no column 'income', which the model needs"),
        (NEW[:0], "no rows"),
        (pd.concat([NEW[:1], NEW[:1]]), "comes twice in task '2024-04'"),
    ):
        head = run.store.head
        with pytest.raises(FFMLError, match=message):
            run.decide(people)
        assert run.store.head == head


def test_together_prices_are_of_these_people(run):
    apart = run.decide(NEW, record=False)
    together = run.decide(NEW, record=False, together=True)
    assert (apart.id == together.id).all()
    assert np.isfinite(together.probability).all()


def test_the_command(run, run_main, tmp_path):
    folder = run.folder
    NEW.to_csv(tmp_path / "new.csv", index=False)
    code, out, err = run_main("decide", folder, "new.csv", "--out", "d.csv")
    assert code == 0 and f"60 decisions ({MONTHS[3]})" in out, err
    assert pd.read_csv("d.csv").decision.tolist() == run.decide(NEW).decision.tolist()
    code, out, _ = run_main("decide", folder, "new.csv", "--json")
    assert code == 0 and len(json.loads(out)) == 60
    code, _, err = run_main("decide", folder, "none.csv")
    assert code == 2 and err.count("\n") == 1


def test_time_goes_on_for_single_people_too(run):
    for month, message in (
        ("2024-3", "are the same period"),
        ("2023-05", "comes before '2024-03'"),
        ("2124-05", "lies more than a year ahead"),
    ):
        head = run.store.head
        with pytest.raises(FFMLError, match=message):
            run.decide(NEW[:1].assign(month=month))
        assert run.store.head == head


def test_an_open_task_that_comes_as_a_table(run):
    """Known people are passed over, their labels are labels, and new ones are to be decided."""
    run.decide(NEW[:50])
    with pytest.raises(FFMLError, match=r"10 of the rows .* decide about them with `ffml decide`"):
        run.update(APRIL)
    assert run.update(APRIL[:50]) == []
    assert run.decisions[run.decisions.task == MONTHS[3]].label.notna().sum() == 50


def add_equally_many(run, times, women, men):
    """Decide about 300 women and 300 men of an open task, so many of each favourably."""
    for _ in range(times):
        before = len(run.decisions)
        people = decided([f"{before}-{i}" for i in range(600)])
        sex = np.repeat(["F", "M"], 300)
        most = np.repeat([women, men], 300)
        positive = (np.arange(600) % 300 < most).astype(int)
        people = people._replace(groups={"sex": sex}, decision=positive, label=np.full(600, -1))
        with run.store.transaction("test", "people") as ledger:
            ledger.add_decisions(ledger.put_round("2024-04", "open", {}), people)


@pytest.mark.parametrize("meanwhile", [False, True])
def test_an_alarm_that_was_shown_stands_though_its_task_grows(run, meanwhile):
    """Evidence in a task that is still open may shrink again; what somebody has read does not.

    Who reads at one moment cannot write in it: others may come before the alarm is kept.
    """
    if not run.record.asked:
        pytest.skip("nothing was asked for")
    add_equally_many(run, 1, 60, 240)
    assert not run.record.raised
    with ffml.open(run.store.name) as other, run.store.snapshot() if meanwhile else nullcontext():
        assert "Alarm in round 4" in str(run.answer)
        add_equally_many(other, 20, 150, 150)
    assert run.record.raised
    assert "Alarm in round 4" in str(run.answer)
    assert any("Alarm" in finding.words for finding in run.check())


def test_a_table_that_was_in_memory_has_to_be_given_again(run):
    for again in (run.update, run.replay):
        with pytest.raises(FFMLError, match="was a data frame, which is not kept; give it again"):
            again()


def test_nobody_is_decided_about_who_is_adapted_to(run):
    before = run.decisions
    with pytest.raises(FFMLError, match="5 of those to be decided about are among the labelled"):
        run.decide(NEW, support=APRIL[:5])
    pd.testing.assert_frame_equal(run.decisions, before)
    assert len(run.decide(NEW[5:], support=APRIL[:5])) == 55
    assert len(run.decide(NEW[:5].drop(columns="applicant"), support=APRIL[:5], record=False)) == 5
