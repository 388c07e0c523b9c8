"""The past given again: unchanged whatever the order, labels that arrived, and what changed."""

import shutil

import numpy as np
import pytest
from months import MONTHS, begin, labels, loans, of, state, tables, unlabelled

import ffml
from ffml.base import FFMLError

FRAME = loans(4, 40)
WAITING = FRAME.assign(approved=FRAME.approved.where(FRAME.month < MONTHS[3]))


@pytest.fixture(scope="module", params=["ids", "no ids"])
def learned(request, tmp_path_factory):
    """A run whose last month has no labels yet, with ids and without."""
    folder = tmp_path_factory.mktemp("again")
    more = {} if request.param == "ids" else {"id": None, "drop": ("applicant",)}
    begin(WAITING, folder / "run", label_delay=1, **more).close()
    return folder / "run"


@pytest.fixture
def run(learned, tmp_path):
    shutil.copytree(learned, tmp_path / "run")
    with ffml.open(tmp_path / "run").store as store:
        yield ffml.runs.Run(store)


@pytest.fixture
def has_ids(run):
    return bool(run.config["data"]["roles"].get("id"))


def refused(run, data, message):
    """Refuse it in one line, and leave the ledger as it was."""
    before = run.store.head
    with pytest.raises(FFMLError, match=message) as caught:
        run.update(data)
    assert "\n" not in str(caught.value) and run.store.head == before
    return str(caught.value)


@pytest.mark.parametrize("seed", range(3))
def test_shuffled_rows_are_the_same(run, seed):
    before = run.store.head
    assert run.update(WAITING.sample(frac=1, random_state=seed)) == []
    assert run.update(WAITING[seed::2]) == []  # some of them are enough
    assert run.store.head == before


def test_a_changed_row_is_named_with_its_column(run, has_ids):
    changed = WAITING.assign(age=WAITING.age + (WAITING.index == 70))
    said = refused(run, changed, "the past has changed: 1 people of task '2024-02'")
    assert " in age (" in said and ("('70')" in said or not has_ids)
    moved = WAITING.assign(sex=WAITING.sex.where(WAITING.index != 70, "F"))
    if WAITING.sex[70] == "M":
        assert " in sex (" in refused(run, moved, "the past has changed")


def test_new_rows_in_an_old_task_are_named(run, has_ids):
    more = WAITING[:1].assign(applicant=9000, income=1.5)
    said = refused(run, more, "task '2024-01' was decided about before, and 1 of the rows .* new")
    assert "give new people a task of their own" in said and ("'9000'" in said or not has_ids)


def test_labels_that_have_arrived_are_labels(run):
    late = FRAME.sample(frac=1, random_state=5)
    assert run.update(late) == []
    known = run.decisions.set_index("id").label
    assert known.notna().all()
    if run.config["data"]["roles"].get("id"):
        wanted = (FRAME.set_index(FRAME.applicant.astype(str)).approved == "yes").astype(int)
        assert (known == wanted[known.index]).all()
    else:
        assert known.mean() == pytest.approx((FRAME.approved == "yes").mean())
    head = run.store.head
    assert run.update(late) == [] and run.store.head == head  # given twice, nothing happens
    assert run.update(WAITING) == [] and run.store.head == head  # an old copy takes none away


def test_labels_by_update_are_those_by_label(run, has_ids, learned, tmp_path):
    if not has_ids:
        pytest.skip("labels find people by ids")
    shutil.copytree(learned, tmp_path / "other")
    other = ffml.open(tmp_path / "other")
    run.update(FRAME)
    other.label(labels(of(FRAME, MONTHS[3])))
    assert state(run) == state(other) and tables(run) == tables(other)


def test_a_contradiction_is_refused_and_then_corrected(run, has_ids):
    turned = FRAME.approved.map({"yes": "no", "no": "yes"})
    wrong = FRAME.assign(approved=FRAME.approved.where(FRAME.index != 3, turned))
    said = refused(run, wrong, "favourable label in the ledger and the .*favourable now")
    assert "ffml label --correct" in said
    if not has_ids:
        return
    given = labels(wrong[3:4])
    with pytest.raises(FFMLError, match=r"id '3' of task '2024-01' has the .* label .*--correct"):
        run.label(given)
    added = run.label(given, correct=True)
    assert (added.new, len(added.corrections)) == (1, 1)
    assert added.corrections[0].before != added.corrections[0].after
    number = run.store.rounds()[0].round
    came = run.store.labels_between(1, 99)
    assert [row.label for row in came if row.task == "2024-01"] == [added.corrections[0].after]
    kept = run.store.decisions(round=number, ids=["3"], columns=("first_label", "label"))
    assert kept["first_label"] != kept["label"]  # both are kept, the newer one counts
    assert run.label(given).known == 1  # given twice, it is known
    assert run.verify().sound


def test_time_goes_on(run):
    for month, message in (
        ("2023-05", "'2023-05' is new and comes before '2024-04', which was decided about"),
        (
            "2124-04",
            "'2124-04' lies more than a year ahead, .*correct the date",
        ),
        ("2024-4", "'2024-4' and '2024-04', which was decided about before, are the same period"),
        ("Apr 2024", "'Apr 2024' and '2024-04', .* are the same period; write it in one way"),
    ):
        refused(run, unlabelled(of(FRAME, MONTHS[3])).assign(month=month), message)
    (record,) = run.update(unlabelled(of(FRAME, MONTHS[3])).assign(month="2024-05"))
    assert record.task == "2024-05"


def test_two_new_months_are_played_in_the_order_of_time(run):
    both = unlabelled(FRAME[:80]).assign(month=np.repeat(["2024-06", "2024-05"], 40))
    assert [record.task for record in run.update(both)] == ["2024-05", "2024-06"]
