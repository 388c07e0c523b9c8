"""Files beside the ledger are views: whatever happens to them, they are written again."""

import json
import os
import shutil
import stat
import threading

import lives
import pytest
from faults import Disk, Killed

import ffml
from ffml.base import FFMLError
from ffml.runs import _views
from ffml.runs.models import model_at
from ffml.runs.ownership import LEDGER, VIEWS
from ffml.scoring.model import load_model

OPERATIONS = 4 * len(VIEWS)  # write, sync, rename and sync of the folder, for every file


@pytest.fixture(scope="module")
def seen(tmp_path_factory):
    """A run with its views, and their bytes."""
    folder = tmp_path_factory.mktemp("seen") / "run"
    run = lives.live(folder)
    run.report()
    run.close()
    return folder, views(folder)


@pytest.fixture
def folder(seen, tmp_path):
    return shutil.copytree(seen[0], tmp_path / "run")


@pytest.fixture
def no_charts(monkeypatch):
    """The page takes longer than all else."""
    monkeypatch.setattr(_views, "report_text", lambda view: "page")


def views(folder):
    return {name: (folder / name).read_bytes() for name in VIEWS}


def files(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.name not in LEDGER}


def reported(folder):
    run = ffml.open(folder)
    try:
        return run.report()
    finally:
        run.close()


def test_views_that_are_missing_or_damaged_are_written_again(seen, folder):
    for name in VIEWS[::2]:
        (folder / name).unlink()
    for name in VIEWS[1::2]:
        (folder / name).write_bytes(seen[1][name][:-9] + b"nonsense")
    assert reported(folder) == folder / "report.html"
    assert files(folder) == seen[1]


def test_fresh_views_are_left_as_they_are_and_stale_ones_are_not(seen, folder, no_charts):
    run = ffml.open(folder)
    before = {name: (folder / name).stat().st_mtime_ns for name in VIEWS}
    run.write_views()
    assert {name: (folder / name).stat().st_mtime_ns for name in VIEWS} == before
    run.label(lives.month(4).assign(paid="yes")[["person", "month", "paid"]], correct=True)
    run.write_views()
    after = views(folder)
    assert json.loads(after["summary.json"])["head"] == run.store.head
    assert after["groups.csv"] != seen[1]["groups.csv"]
    assert after["config.json"] == seen[1]["config.json"]


def test_a_stale_model_file_decides_about_nobody(folder):
    run = ffml.open(folder)
    assert model_at(folder).version == load_model(folder / "model.safetensors").version
    run.update(lives.month(5))
    assert model_at(folder).version == run.store.version_number
    assert load_model(folder / "model.safetensors").version < run.store.version_number


def test_jax_is_set_up_before_a_run_s_ledger_needs_it(folder, monkeypatch):
    calls, session = [], ffml.Run.session
    monkeypatch.setattr(ffml.Run, "session", lambda run: calls.append("used") or session(run))
    model_at(folder, lambda: calls.append("set up"))
    assert calls == []  # its model file is of the newest version
    (folder / "model.safetensors").unlink()
    model_at(folder, lambda: calls.append("set up"))
    assert calls == ["set up", "used"]


@pytest.mark.parametrize("mode", ["kill", "torn", "power"])
def test_an_end_at_any_operation_is_mended_by_the_next_report(folder, mode, no_charts):
    reported(folder)
    expected, run = files(folder), ffml.open(folder)
    for at in range(1, OPERATIONS + 1, 3):
        for name in VIEWS:
            (folder / name).unlink()
        with pytest.MonkeyPatch.context() as patch, pytest.raises(Killed):
            Disk(patch, mode, at, seed=at)
            run.write_views()
        run.write_views()  # finds out by itself that something is missing
        run.report()
        assert files(folder) == expected


def test_a_full_disk_is_said_and_its_own_advice_works(folder, no_charts):
    reported(folder)
    expected, run = files(folder), ffml.open(folder)
    for at in range(1, OPERATIONS - 3, 5):  # a write comes after each
        with pytest.MonkeyPatch.context() as patch:
            Disk(patch, "full", at)
            with pytest.raises(FFMLError, match=r"No space left.*; the ledger is safe: .*ffml r"):
                run.report()
        assert run.verify().sound and not list(folder.glob(".*"))
        run.report()
        assert files(folder) == expected


def test_files_are_readable_by_the_owner_alone(tmp_path, no_charts):
    before = os.umask(0)
    try:
        lives.begun(tmp_path / "one").report()
    finally:
        os.umask(before)
    folder = tmp_path / "one"
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}
    assert set(modes) <= {*VIEWS, *LEDGER} and set(modes.values()) == {0o600}
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


@pytest.mark.parametrize("name", ["report.html", ".rounds.csv.tmp", "model.safetensors"])
def test_links_in_the_places_of_views_are_not_followed(name, folder, tmp_path):
    (tmp_path / "mine").write_text("mine")
    (folder / name).unlink(missing_ok=True)
    (folder / name).symlink_to(tmp_path / "mine")
    before = files(folder)
    with pytest.raises(FFMLError, match=f"{name} is a link, which ffml does not write to"):
        reported(folder)
    assert files(folder) == before and (tmp_path / "mine").read_text() == "mine"


def test_a_report_elsewhere_is_one_page(folder, tmp_path, no_charts):
    run = ffml.open(folder)
    assert run.report(tmp_path / "pages" / "may.html").read_text() == "page"
    with pytest.raises(FFMLError, match=r"name it .html"):
        run.report(tmp_path / "may.pdf")
    with pytest.raises(FFMLError, match="cannot write"):
        run.report(folder / "run.db" / "may.html")


def test_two_who_write_views_take_turns(folder, no_charts):
    errors = []

    def write():
        try:
            for _ in range(4):
                reported(folder)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=write) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors and set(files(folder)) == set(VIEWS)
