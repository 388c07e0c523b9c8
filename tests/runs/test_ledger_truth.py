"""The ledger's truth: after whatever happened, every face says what plain SQL says."""

import pytest
from faces import agree, hold_first_line, truth_of
from months import OPTIONS, WORDS, approved, begin, labels, loans, of, unlabelled

MONTHS = [f"2024-{month:02d}" for month in range(1, 13)]


@pytest.fixture
def out(tmp_path):
    return tmp_path / "run"


def one_by_one(run, frame, months, whom):
    """Decide month by month; labels come for those of whom ``whom`` says so."""
    for month in months:
        people = of(frame, month)
        run.update(unlabelled(people))
        if len(some := people[people.applicant.isin(whom(run, month))]):
            run.label(labels(some))


def test_labels_of_the_approved_only_do_not_hide_a_gap(out, run_main):
    """Five months with all labels, then eleven with those of the approved alone."""
    frame = loans(16, 100, apart=5)
    names = frame.month.unique()
    run = begin(of(frame, *names[:5]), out, label_delay=1)
    one_by_one(run, frame, names[5:], approved)
    truth, code = agree(out, run_main)
    assert truth.ratio("sex") < 0.8 and code == 1
    selected = truth.ask("select count(*) from people where label is null and decision = 1")
    assert selected == [(0,)]
    _, text, _ = run_main("check", out, "--max-gap", "0.05", "--notion", "equal-opportunity")
    assert "cannot be measured" in text and "0.0 of 100" not in text


@pytest.mark.parametrize("ids", [True, False])
def test_labels_that_are_missing_from_the_first_table_on(ids, out, run_main):
    frame = loans(4, 60)
    frame.loc[(frame.month == MONTHS[3]) | (frame.index % 7 == 0), "approved"] = None
    more = {} if ids else {"id": None, "drop": ("applicant",)}
    begin(frame, out, label_delay=1, **more).close()
    truth, _ = agree(out, run_main)
    assert truth.people() == (240, frame.approved.notna().sum())


def test_rows_that_are_adapted_to_are_not_decided_about(out, run_main):
    begin(loans(5, 60), out).close()  # labels of the task itself are there, as in the paper
    truth, _ = agree(out, run_main)
    assert truth.people()[0] < 300


def test_late_repeated_and_corrected_labels(out, run_main, tmp_path):
    frame = loans(5, 60)
    run = begin(of(frame, *MONTHS[:3]), out, label_delay=1)
    run.close()
    for month in MONTHS[3:5]:
        unlabelled(of(frame, month)).to_csv(tmp_path / "new.csv", index=False)
        code, said, err = run_main("update", out, "new.csv")
        assert code == 0, err
        hold_first_line(said, out)
    agree(out, run_main)
    late = labels(of(frame, *MONTHS[3:5]))
    late.to_csv(tmp_path / "late.csv", index=False)
    for new, known in ((120, 0), (0, 120)):
        code, said, _ = run_main("label", out, "late.csv")
        assert code == 0 and f"{new} new labels, {known} known before" in said
        before, _ = agree(out, run_main)
    wrong = late[:9].assign(approved=late.approved[:9].map({"yes": "no", "no": "yes"}))
    wrong.to_csv(tmp_path / "wrong.csv", index=False)
    code, _, err = run_main("label", out, "wrong.csv")
    assert code == 2 and err.count("\n") == 1 and "--correct" in err
    assert agree(out, run_main)[0].rows == before.rows
    code, said, _ = run_main("label", out, "wrong.csv", "--correct")
    assert code == 0 and "9 corrections" in said
    after, _ = agree(out, run_main)
    assert sum(a[3] != b[3] for a, b in zip(after.rows, before.rows, strict=True)) == 9


def test_tasks_of_one_person_and_of_one_group(out, run_main, tmp_path):
    frame = loans(4, 60)
    run = begin(of(frame, *MONTHS[:3]), out, label_delay=1)
    april = of(frame, MONTHS[3])
    run.update(unlabelled(april[april.sex == "F"]))
    agree(out, run_main)
    run.close()
    for i, day in enumerate(("2024-05", "2024-06")):
        unlabelled(april[i : i + 1].assign(month=day)).to_csv(tmp_path / "one.csv", index=False)
        code, said, err = run_main("update", out, "one.csv")
        assert code == 0 and "nobody to compare with" in said, err
        hold_first_line(said, out)
    truth, _ = agree(out, run_main)
    assert [sum(t == task for t, *_ in truth.rows) for task in (4, 5)] == [1, 1]


def test_people_who_come_one_by_one(out, run_main):
    frame = loans(4, 60)
    run = begin(of(frame, *MONTHS[:3]), out, label_delay=1)
    april = of(frame, MONTHS[3])
    for i in range(20):
        run.decide(unlabelled(april[i : i + 1]))
    run.decide(unlabelled(april))
    truth, _ = agree(out, run_main)
    assert sum(task == 3 for task, *_ in truth.rows) == 60
    run.label(labels(april[:30]))
    agree(out, run_main)
    run.label(labels(april))
    assert agree(out, run_main)[0].people() == (240, 240)


def test_two_columns_and_three_groups(out, run_main):
    frame = loans(6, 90, groups=("A", "B", "C"), apart=4)
    frame["region"] = ["north", "south"] * 270
    run = begin(of(frame, *MONTHS[:4]), out, sensitive=("sex", "region"), label_delay=1)
    one_by_one(run, frame, MONTHS[4:6], approved)
    truth, _ = agree(out, run_main)
    assert set(truth.columns) == {"sex", "region"} and len(truth.columns["sex"]) == 3


def test_a_bound_that_is_kept_passes(out, run_main):
    frame = loans(12, 300, apart=0)
    begin(frame, out, label_delay=1).close()
    truth, code = agree(out, run_main, max_gap=0.3, min_ratio=0.4)
    assert code == 0 and truth.gap("sex") < 0.1


def test_the_same_people_in_another_order(out, run_main):
    frame = loans(4, 60)
    run = begin(frame.assign(approved=frame.approved.where(frame.month < MONTHS[3])), out)
    before, _ = truth_of(out)
    run.update(frame.sample(frac=1, random_state=1))
    after, _ = agree(out, run_main)
    assert len(after.rows) == len(before.rows) and after.people()[1] > before.people()[1]


def test_a_month_that_comes_as_a_frame_and_in_a_database(out, run_main, tmp_path):
    frame = loans(4, 60)
    run = begin(of(frame, *MONTHS[:3]), out, label_delay=1)
    run.close()
    import sqlite3

    with sqlite3.connect(tmp_path / "in.db") as database:
        unlabelled(of(frame, MONTHS[3])).to_sql("people", database, index=False)
        labels(of(frame, MONTHS[3])).to_sql("outcomes", database, index=False)
    address = f"sqlite:///{tmp_path / 'in.db'}"
    code, said, err = run_main("update", out, address, "--query", "select * from people")
    assert code == 0, err
    hold_first_line(said, out)
    code, said, err = run_main("label", out, address, "--query", "select * from outcomes")
    assert code == 0 and "60 new labels" in said, err
    agree(out, run_main)


EO = {"notions": ("equal-opportunity",), "max_gap": 0.05}


def test_what_needs_labels_is_said_of_those_who_have_one(out, run_main):
    frame = loans(6, 100)
    frame["approved"] = frame.approved.where(frame.index % 3 > 0)
    begin(frame, out, label_delay=1, **EO).close()
    agree(out, run_main)
    known = frame.approved.notna().sum()
    said = run_main("check", out)[1]
    assert f"Of the {known} with a label among 600 people decided" in said


def test_what_cannot_be_measured_is_said_by_every_face(out, run_main, tmp_path):
    """Labels of the approved alone: neither 0 nor 1 but words, and no gate passes."""
    frame = loans(6, 100)
    run = begin(of(frame, *MONTHS[:2]), out, label_delay=1, **EO)
    one_by_one(run, frame, MONTHS[2:6], approved)
    agree(out, run_main)
    verdicts = [one["verdict"] for one in run.answer["notions"]]
    assert verdicts == ["cannot be measured"] and "cannot be measured" in str(run.answer)
    code, said, _ = run_main("check", out)
    assert code == 3 and "cannot be measured" in said
    for name in ("report.html", "model_card.md"):
        assert "cannot be measured" in (out / name).read_text()
    run.decisions.to_csv(tmp_path / "d.csv", index=False)
    words = ["--decision", "decision", "--positive", 1, "--sensitive", "sex", "--label", "label"]
    asked = ["--task", "task", "--notion", "equal-opportunity", "--max-gap", "0.05"]
    code, said, err = run_main("audit", "d.csv", *words, *asked)
    assert code == 3 and "cannot be measured" in " ".join(said.split()), err


@pytest.mark.parametrize("ids", [True, False])
def test_missing_labels_on_the_command_line(ids, out, run_main, tmp_path):
    """The newest months have no labels: nobody is left out, in `inspect` neither."""
    frame = loans(5, 60)
    frame["approved"] = frame.approved.where(frame.month < MONTHS[3])
    frame.to_csv(tmp_path / "loans.csv", index=False)
    named = ["--set", "data.id=applicant"] if ids else ["--drop", "applicant"]
    code, said, err = run_main("inspect", "loans.csv", *WORDS, *named)
    assert code == 0 and "300" in said, err
    words = [*OPTIONS, *named, "--set", "label_delay=1", "--max-gap", "0.05"]
    code, _, err = run_main("run", "loans.csv", *words, "--out", out)
    assert code == 0, err
    truth, _ = agree(out, run_main)
    assert truth.people() == (300, 180)
