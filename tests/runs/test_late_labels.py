"""Labels that come later: as if they had been there in replay, and each finds its person."""

import json
import shutil

import pandas as pd
import pytest
from months import MONTHS, approved, begin, labels, loans, of, state, tables, unlabelled

import ffml
from ffml.base import FFMLError

FRAME = loans(5, 60)
APRIL, MAY = (of(FRAME, month) for month in MONTHS[3:])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Runs over all months and over the first three: labels come a month late."""
    folder = tmp_path_factory.mktemp("labels")
    begin(FRAME, folder / "whole", label_delay=1).close()
    begin(of(FRAME, *MONTHS[:3]), folder / "begun", label_delay=1).close()
    return folder


@pytest.fixture
def begun(folder, tmp_path):
    shutil.copytree(folder / "begun", tmp_path / "run")
    return ffml.open(tmp_path / "run")


def refused(run, data, message, **more):
    head = run.store.head
    with pytest.raises(FFMLError, match=message) as caught:
        run.label(data, **more)
    assert "\n" not in str(caught.value) and run.store.head == head


def test_late_labels_are_those_of_the_replay(folder, begun):
    """Decide about April, then May, then hear of April, then of May: as with label_delay=1."""
    begun.update(unlabelled(APRIL))
    begun.update(unlabelled(MAY))
    assert begun.label(labels(APRIL.sample(frac=1, random_state=0))).learned == (MONTHS[3],)
    assert begun.label(labels(MAY)[30:]) == (30, 0, (), ())
    assert begun.answer["people"] - begun.answer["labelled"] == 30
    assert begun.label(labels(MAY)) == (30, 30, (), ())  # learned from after round 6
    whole = ffml.open(folder / "whole")
    assert state(begun) == state(whole) and tables(begun) == tables(whole)


def test_nothing_is_learned_before_its_label_could_be_known(folder, tmp_path):
    """Of round t, the labels of round t - 1 are the last that the decision knows."""
    turned = FRAME.approved.map({"yes": "no", "no": "yes"})
    changed = FRAME.assign(approved=FRAME.approved.where(FRAME.month < MONTHS[3], turned))
    other = begin(changed, tmp_path / "changed", label_delay=1).decisions
    own = ffml.open(folder / "whole").decisions
    assert (own.probability == other.probability)[own.task <= MONTHS[3]].all()
    assert (own.probability == other.probability)[own.task == MONTHS[4]].all()
    assert (own.label != other.label)[own.task >= MONTHS[3]].all()


def test_everybody_of_a_month_is_decided_about_and_judged(folder):
    run = ffml.open(folder / "whole")
    assert len(run.decisions) == run.answer["people"] == 300
    assert (run.rounds.n_support == 0).all() and (run.rounds.n_validation == 60).all()


def test_the_same_labels_twice_and_what_is_refused(begun):
    begun.update(unlabelled(APRIL))
    april = labels(APRIL)
    assert begun.label(april[:20]) == (20, 0, (), ())
    head = begun.store.head
    assert begun.label(april[:20]) == (0, 20, (), ()) and begun.store.head == head
    wrong = april[:1].assign(approved={"yes": "no", "no": "yes"}[april.approved.iloc[0]])
    refused(begun, wrong, "id '180' of task '2024-04' has the .*favourable label .*--correct")
    both = pd.concat([april[20:30], april[25:26].assign(approved="maybe")])
    refused(begun, both, "is .maybe., and the run knows no and yes")
    refused(begun, pd.concat([april[:1], wrong]), "id '180' has two labels in one file")
    strangers = april.assign(applicant=april.applicant + 10_000)
    refused(begun, strangers, "60 of 60 labels are for people the run has not decided about")
    refused(begun, april.drop(columns="applicant"), "no id column 'applicant'")
    refused(begun, april.drop(columns="approved"), "no label column 'approved'")
    assert begun.label(labels(of(FRAME, MONTHS[0]))) == (0, 60, (), ())  # learned from long ago


def test_ids_that_come_again_need_their_task(begun):
    """Customers who apply every month: one month's file given once more changes nothing."""
    again = MAY.assign(applicant=APRIL.applicant.to_numpy())
    begun.update(unlabelled(APRIL))
    begun.label(labels(APRIL))
    begun.update(unlabelled(again))
    refused(begun, labels(APRIL), "id '180' occurs in 2 tasks; add the task's column")
    assert begun.label(labels(APRIL, "month")) == (0, 60, (), ())
    assert begun.decisions[begun.decisions.task == MONTHS[4]].label.isna().all()
    assert begun.label(labels(again, "month")).new == 60
    kept = begun.decisions[begun.decisions.task == MONTHS[4]]
    assert (kept.label.to_numpy() == (again.approved == "yes")).all()
    stranger = labels(again, "month").assign(month="2024-11")
    refused(begun, stranger, "the run has no task '2024-11'")


def test_dates_find_the_period_that_they_fall_into(tmp_path):
    """With --time and --by, labels may name any day of a period, or its name."""
    days = pd.to_datetime(FRAME.month) + pd.to_timedelta(FRAME.index % 28, "D")
    dated = FRAME.assign(day=days.dt.strftime("%Y-%m-%d"), applicant=FRAME.index % 60)
    dated = dated.drop(columns="month")
    first, later = dated[dated.day < MONTHS[3]], dated[dated.day >= MONTHS[3]]
    roles = {"task": None, "time": "day", "by": "month", "label_delay": 1}
    run = begin(first, tmp_path / "run", **roles)
    run.update(later.drop(columns="approved"))
    refused(run, later[:60][["applicant", "approved"]], "occurs in 5 tasks; add the task's column")
    assert run.label(later[["applicant", "day", "approved"]]).new == 120
    kept = run.decisions.set_index(["task", "id"]).label
    wanted = later.assign(task=later.day.str[:7], id=later.applicant.astype(str))
    wanted = (wanted.set_index(["task", "id"]).approved == "yes").astype(int)
    assert (kept[wanted.index] == wanted).all()
    head = run.store.head
    assert run.label(later[["applicant", "day", "approved"]]).known == 120
    assert run.store.head == head


def test_labels_of_the_approved_only_are_noticed(begun, run_main, tmp_path):
    begun.update(unlabelled(APRIL))
    some = labels(APRIL[APRIL.applicant.isin(approved(begun, MONTHS[3]))])
    begun.close()
    some.to_csv(tmp_path / "some.csv", index=False)
    out = run_main("check", begun.folder, "--max-gap", "1")[1]
    assert "labels of 60 people are not there yet" in out
    code, out, _ = run_main("label", begun.folder, "some.csv")
    assert code == 0 and f"{len(some)} new labels, 0 known before" in out
    found = json.loads((begun.folder / "summary.json").read_text())["answer"]
    shares = found["labels"]
    assert shares["if_positive"] == 1 and shares["if_negative"] == 0 and shares["selective"]
    assert found["accuracy"] is None
    for name in ("report.html", "model_card.md"):
        page = " ".join((begun.folder / name).read_text().replace("\\", "").split())
        assert "cannot be measured" in page


def test_a_pilot_of_labels_supports_the_decision_about_the_others(tmp_path):
    """Where a task comes with a few labels, its rows with labels are adapted to."""
    run = begin(of(FRAME, *MONTHS[:3]), tmp_path / "run")
    (record,) = run.update(APRIL.assign(approved=APRIL.approved.where(APRIL.index < 200)))
    assert record.n_support > 0 and record.n_unlabelled == 40
    assert (run.decisions.task == MONTHS[3]).sum() == 40
    assert run.label(labels(APRIL)[20:]) == (40, 0, (MONTHS[3],), ())


def test_an_id_column_that_was_given_no_part_before(tmp_path):
    """Rows without ids are named by their content; the ledger's names find them."""
    run = begin(of(FRAME, *MONTHS[:3]), tmp_path / "run", id=None, drop=("applicant",))
    refused(run, labels(APRIL), "came without ids, by which labels find their people")
    run.update(unlabelled(APRIL), id="applicant")
    assert run.label(labels(APRIL), id="applicant").new == 60
