"""Nothing is removed or replaced that ffml did not write, no link is followed, damage is named."""

import os
import shutil
import sqlite3
import subprocess
import tempfile
from contextlib import closing
from multiprocessing import get_context
from pathlib import Path

import lives
import numpy as np
import pytest
from faults import Disk

import ffml
from ffml.base import FFMLError
from ffml.runs import _played
from ffml.runs.ownership import LEDGER, VIEWS, check_out, check_results
from ffml.runs.starting import run as start_run
from ffml.store import durable

FOREIGN = {
    "a file": ["notes.txt"],
    "a file in the place of one of ours": ["report.html"],
    "somebody's checkpoint": ["checkpoint/best.pt", "report.html"],
    "somebody's config": ["config.json"],
    "somebody's table": ["rounds.csv", "summary.json"],
    "a model": ["model.safetensors"],
}


@pytest.fixture(scope="module")
def begun(tmp_path_factory):
    """A run with two rounds and its views."""
    folder = tmp_path_factory.mktemp("begun") / "run"
    run = lives.begun(folder)
    run.report()
    run.close()
    return folder


@pytest.fixture
def folder(begun, tmp_path):
    shutil.copy(begun.with_suffix(".csv"), tmp_path)
    return shutil.copytree(begun, tmp_path / "run")


def overwrite(folder):
    table = str(folder.with_suffix(".csv"))
    start_run(table, out=folder, overwrite=True, **lives.ROLES, **lives.SETTINGS).close()


def update(folder):
    run = ffml.open(folder)
    try:
        return run.update(lives.month(3))
    finally:
        run.close()


def put(folder, *names):
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("{}")


def contents(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


# -- what is not ours --------------------------------------------------------------------------


@pytest.mark.parametrize("overwrite", [False, True])
@pytest.mark.parametrize("case", FOREIGN)
def test_a_folder_without_a_run_is_refused_and_stays(case, overwrite, tmp_path, run_main):
    put(tmp_path / "own", *FOREIGN[case])
    before = contents(tmp_path)
    more = ["--overwrite"] if overwrite else []
    code, _, err = run_main("run", "synthetic", "--out", "own", *more)
    assert code == 2 and err.count("\n") == 1
    assert "error: own holds " in err and ", but no run; choose another --out" in err
    assert contents(tmp_path) == before


def test_a_database_of_another_kind_is_refused_and_stays(tmp_path):
    with closing(sqlite3.connect(tmp_path / "run.db")) as raw, raw:
        raw.execute("create table miles (n int)")
    before = contents(tmp_path)
    for again in (False, True):
        with pytest.raises(FFMLError, match=r"run\.db is a database of another kind; choose anoth"):
            check_out(tmp_path, overwrite=again)
    with pytest.raises(FFMLError, match="holds no run"):
        ffml.open(tmp_path)
    assert contents(tmp_path) == before


@pytest.mark.parametrize("size", [0, 4096])
def test_what_a_start_that_was_killed_leaves_is_taken_over(size, tmp_path):
    folder = tmp_path / "run"
    folder.mkdir()
    with closing(sqlite3.connect(folder / "run.db")) as raw:
        raw.execute("pragma journal_mode = wal")
    os.truncate(folder / "run.db", size)
    put(folder, "run.lock")
    check_out(folder, overwrite=False)
    lives.begun(folder).close()
    with pytest.raises(FFMLError, match="already holds a run; add --overwrite"):
        check_out(folder, overwrite=False)
    check_out(folder, overwrite=True)


MINE = ("notes.txt", "decisions/may.csv", ".notes.tmp", "run.db.bak")


def test_overwriting_and_going_on_leave_other_files_alone(folder):
    put(folder, *MINE)
    mine = {path: data for path, data in contents(folder).items() if data == b"{}"}
    assert len(mine) == len(MINE)
    update(folder)
    assert mine.items() <= contents(folder).items()
    overwrite(folder)
    assert {path for path in contents(folder) if path.name not in LEDGER} == set(mine)
    assert mine.items() <= contents(folder).items()
    assert ffml.open(folder).store.tasks() == ["2024-01", "2024-02"]


@pytest.mark.parametrize("mine", [(), MINE])
def test_a_run_that_cannot_do_its_first_round_leaves_nothing(mine, folder, monkeypatch):
    def fail(*_):
        raise FFMLError("no")

    put(folder, *mine)
    monkeypatch.setattr(_played, "step", fail)
    with pytest.raises(FFMLError, match=r"^no$"):
        overwrite(folder)
    if mine:
        assert {str(path.relative_to(folder)) for path in contents(folder)} == set(mine)
    else:
        assert not folder.exists()


def test_the_command_leaves_nothing_either(begun, tmp_path, run_main, monkeypatch):
    def fail(*_):
        raise FFMLError("no")

    monkeypatch.setattr(_played, "step", fail)
    roles = [f"--{name}={value}" for name, value in lives.ROLES.items() if name != "id"]
    code, _, err = run_main("run", begun.with_suffix(".csv"), *roles, "--out", "new", "--quiet")
    assert (code, err) == (2, "error: no\n") and not (tmp_path / "new").exists()


# -- links -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["run.db", "run.lock", "run.db-wal", "report.html"])
def test_links_in_a_run_are_not_followed(name, folder, tmp_path):
    target = tmp_path / "elsewhere" / name
    target.parent.mkdir()
    if (folder / name).exists():
        shutil.move(folder / name, target)
    else:
        target.write_text("mine")
    (folder / name).symlink_to(target)
    before, elsewhere = contents(folder), contents(target.parent)
    attempts = [overwrite] if name in VIEWS else [overwrite, update]
    for attempt in attempts:
        with pytest.raises(FFMLError, match=rf"{name} is a link, which ffml does not "):
            attempt(folder)
    assert (contents(folder), contents(target.parent)) == (before, elsewhere)


def test_a_run_may_be_in_a_folder_that_is_a_link(folder, tmp_path):
    (tmp_path / "link").symlink_to(folder)
    assert len(update(tmp_path / "link")) == 1
    assert ffml.open(folder).store.tasks()[-1] == "2024-03"


@pytest.mark.parametrize("operation", ["write", "sync"])
def test_no_operation_follows_a_link(operation, tmp_path):
    (tmp_path / "mine").write_text("mine")
    (tmp_path / "link").symlink_to(tmp_path / "mine")
    data = [] if operation == "sync" else [b"yours"]
    with pytest.raises(OSError, match="symbolic links"):
        getattr(durable, operation)(tmp_path / "link", *data)
    assert (tmp_path / "mine").read_text() == "mine"


def test_a_link_is_not_replaced(tmp_path, monkeypatch):
    disk = Disk(monkeypatch)
    (tmp_path / "mine").write_text("mine")
    (tmp_path / "report.html").symlink_to(tmp_path / "mine")
    with pytest.raises(FFMLError, match=r"report\.html is a link"):
        durable.write_atomically(tmp_path / "report.html", "yours")
    assert (tmp_path / "report.html").is_symlink() and not disk.log


# -- places ------------------------------------------------------------------------------------


def test_a_folder_moves_and_is_copied(folder, tmp_path):
    shutil.copytree(folder, tmp_path / "copy")
    folder.rename(tmp_path / "moved")
    for place in ("copy", "moved"):
        assert len(update(tmp_path / place)) == 1
    copy, moved = (ffml.open(tmp_path / place, write=False) for place in ("copy", "moved"))
    assert copy.verify().sound and moved.verify().sound
    assert copy.store.version() == moved.store.version()


def in_a_closed_folder(folder, answers):
    if os.geteuid() == 0:
        os.setgid(65534)
        os.setuid(65534)
    run = ffml.open(folder, write=False)
    answers.put((run.store.tasks(), str(run.answer)[:2]))
    try:
        ffml.open(folder).update(lives.month(3))
    except FFMLError as error:
        answers.put(str(error))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="children are forked")
def test_a_closed_folder_is_read_and_not_written(folder):
    if os.geteuid() == 0:
        for path in (folder, *folder.iterdir()):
            os.chown(path, 65534, 65534)
    (folder / "run.lock").unlink(missing_ok=True)
    (folder / "run.db").chmod(0o400)
    folder.chmod(0o500)
    for parent in folder.parents:
        if parent == Path(tempfile.gettempdir()):
            break
        parent.chmod(parent.stat().st_mode | 0o011)
    context = get_context("forkserver")
    answers = context.Queue()
    child = context.Process(target=in_a_closed_folder, args=(folder, answers))
    child.start()
    child.join()
    assert answers.get(timeout=9) == (["2024-01", "2024-02"], "Of")
    said = answers.get(timeout=9)
    assert "cannot" in said and "check the rights of file and folder" in said and "\n" not in said


def test_a_full_disk_stops_an_update_and_loses_nothing(folder):
    run = ffml.open(folder)
    before = run.store.head
    with run.store._base.engine.connect() as connection:
        raw = connection.connection.driver_connection
        size = raw.execute("pragma page_count").fetchone()[0]
        raw.execute(f"pragma max_page_count = {size + 1}")
    with pytest.raises(FFMLError, match=r"no room to write .*run\.db; make room, then go on"):
        run.update(lives.month(3))
    assert run.store.head == before
    run.close()  # the next one has room
    assert len(update(folder)) == 1


# -- damage ------------------------------------------------------------------------------------


def cut(folder, rng):
    size = (folder / "run.db").stat().st_size
    os.truncate(folder / "run.db", int(size * rng.uniform(0.1, 0.9)))


def overwritten(folder, rng):
    data = bytearray((folder / "run.db").read_bytes())
    for _ in range(8):
        start = int(rng.integers(len(data) // 4096)) * 4096
        data[start : start + 4096] = rng.bytes(4096)
    (folder / "run.db").write_bytes(data)


@pytest.mark.parametrize("damage", [cut, overwritten])
def test_a_damaged_ledger_is_named_and_its_copy_put_back_goes_on(damage, folder, tmp_path):
    rng, copy = np.random.default_rng(0), tmp_path / "copy.db"
    shutil.copy(folder / "run.db", copy)
    for _ in range(4):
        damage(folder, rng)
        try:
            run = ffml.open(folder)
            assert not run.verify().sound
        except FFMLError as error:
            assert "run.db is damaged" in str(error) and "put the newest copy back" in str(error)
            assert "\n" not in str(error)
        shutil.copy(copy, folder / "run.db")
    lives.live(folder).close()
    assert ffml.open(folder).verify().sound


@pytest.mark.skipif(shutil.which("sqlite3") is None, reason="the advice needs sqlite3")
def test_what_can_be_read_is_saved_by_the_advice(folder):
    people = lives.ask(folder, "select count(*) from decisions")
    os.truncate(folder / "run.db", (folder / "run.db").stat().st_size - 2 * 4096)
    with pytest.raises(FFMLError) as caught:
        ffml.open(folder).verify()
    advice = str(caught.value).split("read: ")[1]
    subprocess.run(advice, shell=True, cwd=folder, capture_output=True)
    (folder / "saved.db").replace(folder / "run.db")
    run = ffml.open(folder)
    assert run.store.tasks() == ["2024-01", "2024-02"] and not run.verify().sound
    assert lives.ask(folder, "select count(*) from decisions") == people


def test_a_state_that_was_changed_is_not_learned_on(folder):
    with closing(sqlite3.connect(folder / "run.db")) as raw, raw:
        raw.execute("update versions set state = zeroblob(length(state)) where number = 2")
    with pytest.raises(FFMLError, match=r"version 2 in .* is damaged; put the newest copy"):
        update(folder)
    assert not ffml.open(folder).verify().sound


# -- folders of other commands ---------------------------------------------------------------


@pytest.mark.parametrize(
    "command",
    [
        ["compare", "--data", "synthetic", "--method", "refit"],
        ["tune", "synthetic", "--grid", "inner.lr=0.1"],
        ["reproduce", "table3"],
    ],
    ids=lambda command: command[0],
)
@pytest.mark.parametrize("name", ["summary.csv", "cells/mine.txt", "table3.json"])
def test_results_do_not_go_into_a_folder_of_other_things(command, name, tmp_path, run_main):
    put(tmp_path / "own", name)
    before = contents(tmp_path)
    code, _, err = run_main(*command, "--out", "own")
    first = name.partition("/")[0]
    assert (code, err) == (
        2,
        f"error: own holds {first}, but no results of this command; choose another --out\n",
    )
    assert contents(tmp_path) == before


def test_results_go_on_where_they_were_and_not_through_links(tmp_path, run_main):
    assert run_main("reproduce", "table3", "--quiet", "--out", "made")[0] == 0
    assert run_main("reproduce", "table3", "--quiet", "--out", "made")[0] == 0
    put(tmp_path / "compared", "cells/.lock", "notes.txt")
    check_results(tmp_path / "compared", tmp_path / "compared" / "cells")
    (tmp_path / "linked").mkdir()
    (tmp_path / "linked" / "cells").symlink_to(tmp_path / "compared" / "cells")
    with pytest.raises(FFMLError, match="cells is a link"):
        check_results(tmp_path / "linked", tmp_path / "linked" / "cells")
