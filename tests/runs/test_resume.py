"""Killed at any instant and resumed, a run gives the bytes of a run that was left alone."""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time

import pytest
from faults import Disk, Killed
from quick import QUICK, SMALL
from workshop import Workshop, hurry, outcome, play, rows_shown

from ffml.base import FFMLError
from ffml.report import write_pages


@pytest.fixture(scope="module")
def workshop():
    return Workshop()


@pytest.fixture(autouse=True)
def in_a_hurry(monkeypatch):
    hurry(monkeypatch)


@pytest.fixture(scope="module")
def undisturbed(workshop, tmp_path_factory):
    """The outcome of a run that was left alone, and the operations it took."""
    with pytest.MonkeyPatch.context() as patch:
        hurry(patch)
        disk = Disk(patch)
        folder = tmp_path_factory.mktemp("undisturbed") / "run"
        workshop.run(folder)
        return outcome(folder), disk.log


def faulty(mode, at, work, *arguments, **more):
    """Work on a disk that fails at an operation; tell whether it came to that."""
    with pytest.MonkeyPatch.context() as patch:
        Disk(patch, mode, at, seed=at)
        try:
            work(*arguments, **more)
        except Killed:
            return True
        return False


@pytest.mark.parametrize("mode", ["kill", "torn", "power"])
def test_a_kill_at_every_operation_changes_nothing(mode, workshop, undisturbed, tmp_path):
    expected, log = undisturbed
    written = ("write", "append")
    points = [at for at, name in enumerate(log, 1) if mode != "torn" or name in written]
    for at in points:
        folder = tmp_path / str(at)
        assert faulty(mode, at, workshop.run, folder)
        shown = rows_shown(folder)
        assert workshop.go_on(folder).resumed_at >= shown, at  # what was seen is never undone
        assert outcome(folder) == expected, at
    assert len(points) >= {"kill": 60, "torn": 20, "power": 60}[mode]


@pytest.mark.parametrize("seed", range(8))
def test_killed_again_and_again(seed, workshop, undisturbed, tmp_path):
    """Every third fault or so comes while the one before is being mended."""
    rng, done, kills = random.Random(seed), 0, 0
    folder, mode = tmp_path / "run", ("kill", "torn", "power")[seed % 3]
    while faulty(mode, rng.randint(1, 45), workshop.go_on, folder):
        kills += 1
        assert rows_shown(folder) >= done or mode == "power"
        assert kills < 200
    assert kills > 2
    assert outcome(folder) == undisturbed[0]


def test_a_kill_while_overwriting_never_mixes_two_runs(workshop, undisturbed, tmp_path):
    other = tmp_path / "other"
    workshop.run(other, seed=1)
    endings = set()
    for at in range(1, 40):
        folder = tmp_path / str(at)
        shutil.copytree(other, folder)
        if not faulty("power", at, workshop.run, folder, rounds=1):
            break
        seed = json.loads((folder / "config.json").read_text())["seed"]
        try:
            workshop.go_on(folder, seed=seed)
        except FFMLError as error:  # its checkpoints were removed, its tables not yet
            assert "has rounds but no checkpoint" in str(error)
            endings.add("refused")
            continue
        endings.add(seed)
        expected = undisturbed[0] if seed == 0 else outcome(other)
        older = {"files": None, "tasks": None}  # its checkpoint before the last may be gone
        assert outcome(folder) | older == expected | older, at
    assert endings == {0, 1, "refused"}


def test_a_full_disk_stops_the_run_and_loses_nothing(workshop, undisturbed, tmp_path):
    expected, log = undisturbed
    for at in (at for at, name in enumerate(log, 1) if name in ("write", "append")):
        folder = tmp_path / str(at)
        with pytest.raises(FFMLError, match=r"No space left on device\); \d rounds are safe"):
            faulty("full", at, workshop.run, folder)
        assert not list(folder.rglob("*.tmp"))
        shown = rows_shown(folder)
        assert workshop.go_on(folder).resumed_at >= shown
        assert outcome(folder) == expected, at


def test_a_disk_that_is_really_full(workshop, undisturbed, tmp_path):
    mount = ["mount", "-t", "tmpfs", "-o"]
    try:
        subprocess.run([*mount, "size=36k", "tmpfs", tmp_path], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("mounting needs privileges")
    try:
        with pytest.raises(FFMLError, match=r"No space left on device\); [1-3] rounds are safe"):
            workshop.run(tmp_path / "run")
        subprocess.run([*mount, "remount,size=4m", "tmpfs", tmp_path], check=True)
        assert workshop.go_on(tmp_path / "run").resumed_at >= 1
        assert outcome(tmp_path / "run") == undisturbed[0]
    finally:
        subprocess.run(["umount", tmp_path], check=True)


def test_a_finished_run_is_known_as_finished(workshop, tmp_path):
    workshop.run(tmp_path)
    (tmp_path / "report.html").write_text("<html>")
    directory = workshop.resumed(tmp_path)
    assert directory.nothing_left and directory.is_finished() and directory.notes == []
    (tmp_path / "model.safetensors").unlink()
    assert not workshop.resumed(tmp_path).is_finished()


def test_other_settings_and_other_data_are_refused(workshop, tmp_path):
    workshop.run(tmp_path, rounds=2)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    with pytest.raises(FFMLError, match=r"seed is 1 now, but the rounds in .* done with 0; put it"):
        workshop.resumed(tmp_path, seed=1)
    with pytest.raises(FFMLError, match="the data have changed: the first 2 tasks are not those"):
        workshop.resumed(tmp_path, change=lambda tasks: tasks[1:])
    with pytest.raises(FFMLError, match="the data have changed"):
        workshop.resumed(tmp_path, change=lambda tasks: tasks[:1])
    with pytest.raises(FFMLError, match="the data have changed"):
        workshop.resumed(tmp_path, change=nudged)
    with pytest.raises(FFMLError, match="features scaled in another way"):
        workshop.resumed(tmp_path, scaled=False)
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


def nudged(tasks):
    x = tasks[1].x.copy()
    x[-1, -1] += 1e-6
    return [tasks[0], tasks[1]._replace(x=x), *tasks[2:]]


def test_tasks_that_came_since_are_played(workshop, undisturbed, tmp_path):
    directory = workshop.run(tmp_path, rounds=2, change=lambda tasks: tasks[:2])
    directory.finish("complete", write_pages)
    directory = workshop.resumed(tmp_path)
    assert not directory.nothing_left
    play(directory)
    assert outcome(tmp_path)["rounds.csv"] == undisturbed[0]["rounds.csv"]


def test_two_processes_do_not_write_to_one_folder(workshop, tmp_path):
    workshop.run(tmp_path, rounds=1)
    hold = "import fcntl, sys; f = open(sys.argv[1], 'a'); fcntl.lockf(f, fcntl.LOCK_EX); print(1)"
    child = subprocess.Popen(
        [sys.executable, "-uc", hold + "; sys.stdin.read()", tmp_path / ".lock"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    child.stdout.readline()
    with pytest.raises(FFMLError, match="another process is writing to"):
        workshop.resumed(tmp_path)
    child.communicate()
    workshop.resumed(tmp_path)


# -- the command line, and real kills --------------------------------------------------------

MEMORY = ["--set", "memory_policy=recent", "--set", "memory_capacity=6"]
ARGUMENTS = ["synthetic", *QUICK, *SMALL, *MEMORY]


def ffml(*arguments, cwd):
    return subprocess.Popen(
        [sys.executable, "-m", "ffml", "run", *map(str, arguments)],
        cwd=cwd,
        env=os.environ | {"COLUMNS": "100"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finished(*arguments, cwd):
    child = ffml(*arguments, cwd=cwd)
    out, err = child.communicate(timeout=1800)
    assert child.returncode == 0, err
    return out


def test_sigkill_and_resume_on_the_command_line(tmp_path):
    finished(*ARGUMENTS, "--out", "whole", cwd=tmp_path)
    rng, checkpoints = random.Random(0), tmp_path / "run" / "checkpoint"
    arguments = [*ARGUMENTS, "--out", "run"]
    for goal in (3, 12):  # rounds done, about, when the signal comes
        child = ffml(*arguments, cwd=tmp_path)
        deadline = time.monotonic() + 600
        while time.monotonic() < deadline and child.poll() is None:
            if any(checkpoints.glob(f"round-{goal:06d}.*")):
                break
            time.sleep(0.001)
        time.sleep(rng.uniform(0, 0.02))
        child.send_signal(signal.SIGKILL)
        child.communicate(timeout=1800)
        assert child.returncode == -signal.SIGKILL
        arguments = ["--resume", "run"]
    finished(*arguments, cwd=tmp_path)
    whole, again = outcome(tmp_path / "whole"), outcome(tmp_path / "run")
    assert whole == again
    assert "run is already complete: 20 rounds" in finished("synthetic", *arguments, cwd=tmp_path)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--resume", "nothing"], "nothing is not a folder; give the folder of a run"),
        (["--resume", "empty"], "empty holds no run; give the folder of one"),
        (["--resume", "broken"], "config.json is damaged and no round was done; start another run"),
        (
            ["--resume", "run", "--set", "seed=0"],
            "goes on with the run's own settings; leave out --set",
        ),
        (["--resume", "run", "--out", "x"], "goes on with the run's own settings; leave out --out"),
        (["adult", "--resume", "run"], "run is a run on 'synthetic', not on 'adult'; leave out"),
    ],
)
def test_mistakes_when_resuming(arguments, message, tmp_path, monkeypatch, capsys, workshop):
    from ffml.cli import main

    workshop.run(tmp_path / "run", rounds=1)
    (tmp_path / "empty").mkdir()
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "config.json").write_text("{")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["ffml", "run", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    error = capsys.readouterr().err
    assert ended.value.code == 2 and message in error and error.count("\n") == 1


def test_a_method_that_remembers_all_rows_can_be_resumed(tmp_path, run_main):
    arguments = ["run", "synthetic", "--method", "refit", "--quiet"]
    assert run_main(*arguments, "--set", "rounds=4", "--out", "whole")[0] == 0
    assert run_main(*arguments, "--set", "rounds=4", "--out", "part")[0] == 0
    newest = sorted((tmp_path / "part" / "checkpoint").glob("round-*"))[-1]
    newest.unlink()  # as if killed in the last round
    (tmp_path / "part" / "model.safetensors").unlink()
    assert run_main("run", "--resume", tmp_path / "part", "--quiet")[0] == 0
    whole, part = ((tmp_path / name / "rounds.csv").read_bytes() for name in ("whole", "part"))
    assert whole == part
    (tmp_path / "rows.csv").write_text("a,b\n1,2\n")
    code, _, err = run_main("predict", tmp_path / "whole", tmp_path / "rows.csv")
    assert code == 2 and err.count("\n") == 1
