"""A run that goes on with new tables gives what one run over all of them gives, to the last bit."""

import shutil
import sqlite3

import pytest
from months import MONTHS, OPTIONS, SMALL, begin, loans, of, state, tables, unlabelled

import ffml
from ffml.base import FFMLError

FRAME = loans(5, 60)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A run over all months, and one over the first three."""
    folder = tmp_path_factory.mktemp("months")
    begin(FRAME, folder / "whole").close()
    begin(of(FRAME, *MONTHS[:3]), folder / "begun").close()
    return folder


@pytest.fixture
def begun(folder, tmp_path):
    shutil.copytree(folder / "begun", tmp_path / "run")
    return ffml.open(tmp_path / "run")


def same(run, other):
    other = ffml.open(other)
    assert state(run) == state(other) and tables(run) == tables(other)
    assert run.decisions.equals(other.decisions)


def test_month_by_month_is_all_at_once(folder, begun):
    assert [r.task for r in begun.update(of(FRAME, MONTHS[3]))] == ["2024-04"]
    assert [r.round for r in begun.update(of(FRAME, MONTHS[4]))] == [5]
    same(begun, folder / "whole")


def test_in_another_process_each(folder, begun):
    """As a monthly job does: opened anew for every month."""
    for month in MONTHS[3:]:
        run = ffml.open(begun.folder)
        run.update(of(FRAME, month))
        run.close()
    same(ffml.open(begun.folder), folder / "whole")


def test_the_default_recipe_too(tmp_path):
    more = {"wrappers": None, **SMALL}
    begin(FRAME, tmp_path / "whole", **more).close()
    run = begin(of(FRAME, *MONTHS[:3]), tmp_path / "begun", **more)
    run.update(FRAME)
    same(run, tmp_path / "whole")


def test_a_table_that_has_grown_and_a_database(folder, begun, tmp_path):
    with sqlite3.connect(tmp_path / "loans.db") as database:
        of(FRAME, MONTHS[3]).to_sql("loans", database, index=False)
    query = "SELECT * FROM loans"
    assert len(begun.update(f"sqlite:///{tmp_path / 'loans.db'}", query=query)) == 1
    assert len(begun.update(FRAME)) == 1  # the four months before are passed over
    same(begun, folder / "whole")


def test_a_folder_of_files_takes_a_file_as_its_next_task(tmp_path):
    for name, months in (("some", MONTHS[:3]), ("every", MONTHS), ("later", MONTHS)):
        (tmp_path / name).mkdir()
        for month in months:
            of(FRAME, month).drop(columns="month").to_csv(
                tmp_path / name / f"{month}.csv", index=False
            )
    more = {"task": None}
    begin(tmp_path / "every", tmp_path / "whole", **more).close()
    run = begin(tmp_path / "some", tmp_path / "run", **more)
    run.update(tmp_path / "later" / "2024-04.csv")
    for month in MONTHS[3:]:
        shutil.copy(tmp_path / "later" / f"{month}.csv", tmp_path / "some")
    assert len(run.update()) == 1  # the run's own folder, which has grown
    same(run, tmp_path / "whole")


def test_the_same_table_twice_changes_nothing(begun):
    begun.update(of(FRAME, MONTHS[3]))
    head = begun.store.head
    assert begun.update(of(FRAME, MONTHS[3])) == [] and begun.store.head == head


def test_what_is_refused_changes_nothing(begun, tmp_path):
    april = of(FRAME, MONTHS[3])
    head = begun.store.head
    for data, message in (
        (april.assign(sex="X"), "new group 'X', and the run compares F, M"),
        (april.assign(approved="maybe"), "more than two values"),
        (april.drop(columns="age"), "no column 'age'"),
        (april.assign(age="old"), "held numbers before"),
        (april.assign(applicant=7), "has '7' twice in task '2024-04'|'7' comes twice in task"),
        (april.assign(sex=None), "fill them in, or leave such rows out, or give .* `ffml decide`"),
        (april.assign(applicant=None), "rows without a value: 60 in id column 'applicant'"),
        (april[:0], "has no rows"),
        (tmp_path / "none.csv", "no such file"),
    ):
        with pytest.raises(FFMLError, match=message) as caught:
            begun.update(data)
        assert "\n" not in str(caught.value) and begun.store.head == head


def test_a_month_without_labels_is_decided_about(begun):
    (record,) = begun.update(unlabelled(of(FRAME, MONTHS[3])))
    assert record.task == "2024-04" and record.n_unlabelled == 60
    assert record.undefined["eo"] == "no labels yet" and "dp" not in record.undefined
    assert begun.answer["now"]["people"] == 60 and begun.store.rounds()[-1].status == "decided"


def test_one_label_or_one_group_in_a_month_is_enough(begun):
    begun.update(of(FRAME, MONTHS[3]).assign(approved="yes"))
    may = of(FRAME, MONTHS[4])
    (record,) = begun.update(may[may.sex == "F"])
    assert record.undefined["dp"]


def test_a_new_category_is_all_zeros(begun):
    assert len(begun.update(of(FRAME, MONTHS[3]).assign(job="mine"))) == 1


def test_the_command_says_first_what_happened_now(begun, run_main, tmp_path):
    begun.close()
    of(FRAME, MONTHS[3]).to_csv(tmp_path / "april.csv", index=False)
    code, out, err = run_main("update", begun.folder, "april.csv")
    assert code == 0, err
    said = [line for line in out.splitlines() if line.startswith("2024-04: ")]
    assert len(said) == 1 and "people decided; " in said[0] and "by sex: F " in said[0]
    assert len(out.splitlines()) < 12  # the past in a few lines
    code, out, _ = run_main("update", begun.folder, "april.csv")
    assert code == 0 and "nothing new: all tasks of" in " ".join(out.split())
    out = run_main("check", begun.folder, "--max-gap", "1")[1]
    assert out.startswith("met: 4 rounds are done, 4 of them judged")


def test_a_data_set_has_no_further_tasks(tmp_path, run_main):
    small = ["--set", "data.num_tasks=2", "--set", "rounds=1", *OPTIONS[8:]]
    code, _, err = run_main("run", "synthetic", *small, "--out", "set")
    assert code == 0, err
    of(FRAME, MONTHS[3]).to_csv(tmp_path / "april.csv", index=False)
    code, _, err = run_main("update", "set", "april.csv")
    assert code == 2 and "learned the data set 'synthetic'" in err and err.count("\n") == 1
