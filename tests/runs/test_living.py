"""A run that goes on with new tables gives what one run over all of them gives, to the last bit."""

import shutil
import signal
import sqlite3
import subprocess
import sys
from contextlib import suppress

import pandas as pd
import pytest
from faults import Disk, Killed
from months import MONTHS, OPTIONS, ROLES, hurry_too, run, write_months
from workshop import outcome

import ffml
from ffml.base import FFMLError


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The tables, a run over all months, and one over the first three."""
    folder = tmp_path_factory.mktemp("months")
    write_months(folder)
    with pytest.MonkeyPatch.context() as patch:
        hurry_too(patch)
        for table, out in (("all.csv", "whole"), ("begun.csv", "begun")):
            run(folder / table, "--drop", "applicant", *OPTIONS, "--out", folder / out)
    return folder


@pytest.fixture(autouse=True)
def in_a_hurry(monkeypatch):
    hurry_too(monkeypatch)


@pytest.fixture
def begun(folder, tmp_path):
    shutil.copytree(folder / "begun", tmp_path / "run")
    return tmp_path / "run"


def same(run_dir, folder):
    found, expected = outcome(run_dir), outcome(folder / "whole")
    assert found == expected


def test_month_by_month_is_all_at_once(folder, begun):
    assert [r.task for r in ffml.update(begun, folder / "2024-04.csv")] == ["2024-04"]
    assert [r.round for r in ffml.update(begun, folder / "2024-05.csv")] == [5]
    same(begun, folder)


def test_the_default_recipe_too(folder, tmp_path):
    options = [*ROLES, "--drop", "applicant", "--set", "shots=10", "--quiet"]
    for table, out in (("all.csv", "whole"), ("begun.csv", "begun")):
        run(folder / table, *options, "--out", tmp_path / out)
    ffml.update(tmp_path / "begun", folder / "all.csv")
    same(tmp_path / "begun", tmp_path)


def test_a_table_that_has_grown_a_data_frame_and_a_database(folder, begun, tmp_path):
    whole = pd.read_csv(folder / "all.csv")
    with sqlite3.connect(tmp_path / "loans.db") as database:
        whole[whole.month == MONTHS[3]].to_sql("loans", database, index=False)
    query = "SELECT * FROM loans"
    assert len(ffml.update(begun, f"sqlite:///{tmp_path / 'loans.db'}", query=query)) == 1
    assert len(ffml.update(begun, whole)) == 1  # the four months before are passed over
    same(begun, folder)


def test_a_folder_of_files_takes_a_file_as_its_next_task(folder, tmp_path):
    for name, months in (("some", MONTHS[:3]), ("every", MONTHS)):
        (tmp_path / name).mkdir()
        for month in months:
            shutil.copy(folder / f"{month}.csv", tmp_path / name)
        options = [word for word in OPTIONS if word not in ("--task", "month")]
        drop = ["--drop", "applicant", "--drop", "month"]
        run(tmp_path / name, *drop, *options, "--out", tmp_path / f"run-{name}")
    ffml.update(tmp_path / "run-some", folder / "2024-04.csv")
    shutil.copy(folder / "2024-04.csv", tmp_path / "some")
    shutil.copy(folder / "2024-05.csv", tmp_path / "some")
    assert len(ffml.update(tmp_path / "run-some")) == 1  # the run's own folder, which has grown
    assert outcome(tmp_path / "run-some") == outcome(tmp_path / "run-every")


def test_the_same_table_twice_changes_nothing(folder, begun):
    ffml.update(begun, folder / "2024-04.csv")
    before = {p: p.read_bytes() for p in sorted(begun.rglob("*")) if p.is_file()}
    assert ffml.update(begun, folder / "2024-04.csv") == []
    assert {p: p.read_bytes() for p in sorted(begun.rglob("*")) if p.is_file()} == before


def test_what_is_refused_changes_nothing(folder, begun, tmp_path):
    whole = pd.read_csv(folder / "all.csv")
    april = whole[whole.month == MONTHS[3]]
    changed = whole.assign(age=whole.age + (whole.index == 70))
    before = {p: p.read_bytes() for p in sorted(begun.rglob("*")) if p.is_file()}
    for data, message in (
        (changed, "the past has changed: task '2024-02'"),
        (whole[whole.index != 70], "the past has changed: task '2024-02'"),
        (april.assign(sex="X"), "new group 'X', and the run compares F, M"),
        (april.assign(approved="maybe"), "more than two values"),
        (april.drop(columns="age"), "no column 'age'"),
        (april.assign(age="old"), "held numbers when it was fitted"),
        (april[:0], "has no rows"),
        (tmp_path / "none.csv", "no such file"),
    ):
        with pytest.raises(FFMLError, match=message):
            ffml.update(begun, data)
        assert {p: p.read_bytes() for p in sorted(begun.rglob("*")) if p.is_file()} == before


def test_a_month_without_labels_is_decided_about(folder, begun):
    april = pd.read_csv(folder / "2024-04.csv")
    (record,) = ffml.update(begun, april.drop(columns="approved"))
    assert record.task == "2024-04" and record.undefined["dp"]


def test_one_label_or_one_group_in_a_month_is_enough(folder, begun):
    april = pd.read_csv(folder / "2024-04.csv")
    ffml.update(begun, april.assign(approved="yes"))
    may = pd.read_csv(folder / "2024-05.csv")
    (record,) = ffml.update(begun, may[may.sex == "F"])
    assert record.undefined["dp"]


def test_a_new_category_is_all_zeros(folder, begun):
    april = pd.read_csv(folder / "2024-04.csv")
    assert len(ffml.update(begun, april.assign(job="mine"))) == 1


@pytest.mark.parametrize("mode", ["kill", "torn", "power"])
def test_a_kill_at_every_operation_loses_nothing(mode, folder, begun, tmp_path):
    later = pd.read_csv(folder / "all.csv")
    later = later[later.month > MONTHS[2]]
    at, work = 0, tmp_path / "killed"
    while True:
        at += {"kill": 3, "torn": 7, "power": 5}[mode]
        shutil.copytree(begun, work)
        with pytest.MonkeyPatch.context() as patch:
            disk = Disk(patch, mode, at, seed=at)
            with suppress(Killed):
                ffml.update(work, later)
        ffml.update(work, later)
        same(work, folder)
        shutil.rmtree(work)
        if not disk.dead:
            break
    assert at > 30


def test_a_second_process_is_refused(folder, begun):
    code = "import sys, time; from pathlib import Path; from ffml.store import durable; "
    code += "held = durable.lock(Path(sys.argv[1])); print('held', flush=True); time.sleep(60)"
    words = [sys.executable, "-c", code, begun]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout.readline() == "held\n"
        with pytest.raises(FFMLError, match="another process is writing"):
            ffml.update(begun, folder / "2024-04.csv")
        other.send_signal(signal.SIGKILL)
    assert len(ffml.update(begun, folder / "2024-04.csv")) == 1  # the system gave the lock back


def test_the_command(folder, begun, run_main):
    code, out, _ = run_main("update", begun, folder / "2024-04.csv")
    assert code == 0 and "2024-04" in out
    code, out, _ = run_main("update", begun, folder / "2024-04.csv")
    assert code == 0 and "nothing new: all tasks of" in " ".join(out.split())
    assert run_main("check", begun, "--max-gap", "1")[1].startswith("met: 4 of 4 rounds are done")
    code, _, err = run_main("run", "--resume", begun)
    assert code == 2 and "go on with: ffml update" in err


def test_an_unfinished_run_and_a_data_set_are_refused(folder, begun, tmp_path, run_main):
    newest = max((begun / "checkpoint").glob("round-*"))
    newest.unlink()
    code, _, err = run_main("update", begun, folder / "2024-04.csv")
    assert code == 2 and "has done 2 of 3 rounds; finish it first" in err
    small = ["--set", "data.num_tasks=2", "--set", "rounds=1"]
    run_main("run", "synthetic", *small, *OPTIONS[8:], "--out", tmp_path / "set")
    code, _, err = run_main("update", tmp_path / "set", folder / "2024-04.csv")
    assert code == 2 and "learned the data set 'synthetic'" in err
