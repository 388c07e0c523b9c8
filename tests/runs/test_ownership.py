"""Nothing is removed or replaced that ffml did not write, and no link is followed."""

import shutil

import pytest
from faults import Disk
from workshop import Workshop, hurry, play

from ffml.base import FFMLError
from ffml.store import durable
from ffml.runs.directory import RunDirectory
from ffml.runs.ownership import check_out, check_results

FOREIGN = {
    "a file": ["notes.txt"],
    "a file in the place of one of ours": ["report.html"],
    "somebody's checkpoint": ["checkpoint/best.pt", "report.html"],
    "somebody's config": ["config.json"],
    "somebody's table": ["rounds.csv", "summary.json"],
    "a model": ["model.safetensors"],
}


@pytest.fixture(scope="module")
def workshop():
    return Workshop()


@pytest.fixture(autouse=True)
def in_a_hurry(monkeypatch):
    hurry(monkeypatch)


@pytest.fixture(scope="module")
def stopped(workshop, tmp_path_factory):
    """A run that was stopped after two of its rounds."""
    folder = tmp_path_factory.mktemp("stopped") / "run"
    with pytest.MonkeyPatch.context() as patch:
        hurry(patch)
        workshop.run(folder, rounds=2)
    return folder


@pytest.fixture
def run(stopped, tmp_path):
    return shutil.copytree(stopped, tmp_path / "run")


def put(folder, *names):
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("{}")


def contents(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


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


def test_what_a_start_that_was_killed_leaves_is_taken_over(workshop, tmp_path):
    put(tmp_path, ".lock", ".config.json.tmp")
    (tmp_path / "checkpoint").mkdir()
    check_out(tmp_path, overwrite=False)
    workshop.run(tmp_path, rounds=1)
    with pytest.raises(FFMLError, match="already holds a run; add --overwrite"):
        check_out(tmp_path, overwrite=False)
    check_out(tmp_path, overwrite=True)


MINE = ("notes.txt", "checkpoint/best.pt", "checkpoint/round-1.txt", "checkpoint/.notes.tmp")


def test_overwriting_and_resuming_leave_other_files_alone(run, workshop):
    put(run, *MINE, "checkpoint/.ipynb_checkpoints/a.ipynb")
    mine = {path: data for path, data in contents(run).items() if data == b"{}"}
    play(workshop.resumed(run))
    assert mine.items() <= contents(run).items()
    workshop.run(run, rounds=1)
    assert mine.items() <= contents(run).items()


def test_a_run_that_is_discarded_leaves_other_files_alone(run, workshop):
    put(run, *MINE)
    directory = RunDirectory(run, workshop.experiment())
    directory.start()
    directory.discard()
    assert sorted(str(path.relative_to(run)) for path in contents(run)) == sorted(MINE)


def test_a_folder_within_the_checkpoint_does_not_stop_a_run(run, workshop):
    put(run, "checkpoint/.ipynb_checkpoints/a.ipynb")
    directory = workshop.resumed(run)
    assert directory.resumed_at == 2
    play(directory)
    assert (run / "checkpoint" / ".ipynb_checkpoints" / "a.ipynb").exists()


@pytest.mark.parametrize("name", ["sync", "lock"])
def test_rounds_are_counted_where_nothing_can_be_written(name, run, workshop, monkeypatch):
    def fail(*arguments):
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(durable, name, fail)
    with pytest.raises(FFMLError, match=r"\(Read-only file system\); 2 rounds are safe there"):
        workshop.resumed(run)


LINKS = [
    "checkpoint",
    "rounds.csv",
    "report.html",
    "model.safetensors",
    ".config.json.tmp",
    ".lock",
]


@pytest.mark.parametrize("name", LINKS)
def test_links_in_a_run_are_not_followed(name, run, workshop, tmp_path):
    target = tmp_path / "elsewhere" / name
    target.parent.mkdir()
    if (run / name).exists():
        shutil.move(run / name, target)
    else:
        target.write_text("mine")
    (run / name).symlink_to(target)
    before, elsewhere = contents(run), contents(target.parent)
    for attempt in (workshop.resumed, workshop.run):
        with pytest.raises(FFMLError, match=rf"{name} is a link, which ffml does not write to"):
            attempt(run)
    assert (contents(run), contents(target.parent)) == (before, elsewhere)


def test_a_run_may_be_in_a_folder_that_is_a_link(run, workshop, tmp_path):
    (tmp_path / "link").symlink_to(run)
    directory = workshop.resumed(tmp_path / "link")
    play(directory)
    assert (run / "model.safetensors").exists()


@pytest.mark.parametrize("operation", ["write", "append", "sync"])
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
