"""Jobs on real clusters that the tests start: a worker is killed, and every cell is there once."""

import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path

import pytest

from ffml.base import FFMLError
from ffml.studies.compare import Store, plan, run_cells
from ffml.studies.jobs import check_backend, run_jobs

TINY = {"rounds": 3, "shots": 4, "tasks_per_round": 2, "rows_per_task": 32, "num_steps": 2}
OPTIONS = {"synthetic": {"num_tasks": 3, "rows_per_task": (30, 40)}}


def tiny_cells():
    return plan(["synthetic"], ["twp"], seeds=[0], settings=TINY, data_options=OPTIONS)


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def descendants(pid):
    """Name the processes below one: pid -> command line."""
    parents, commands = {}, {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            parents[int(stat.parent.name)] = int(stat.read_text().rpartition(")")[2].split()[1])
            commands[int(stat.parent.name)] = (stat.parent / "cmdline").read_text()
        except (OSError, ValueError):
            continue
    found = {pid}
    while more := {child for child, parent in parents.items() if parent in found} - found:
        found |= more
    return {child: commands[child] for child in found - {pid} if child in commands}


@pytest.fixture
def ray_cluster(monkeypatch):
    """Two workers of one core each, in processes of their own; gives the process to look below."""
    pytest.importorskip("ray", reason="ray is not installed; try: pip install 'ffml[engines]'")
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent), prepend=os.pathsep)  # for workers
    monkeypatch.setenv("RAY_worker_niceness", "0")  # or they wait for everybody else
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")  # or Ray leaves a token in the home folder
    address = f"127.0.0.1:{free_port()}"
    with tempfile.TemporaryDirectory(prefix="ray", ignore_cleanup_errors=True) as folder:
        command = [sys.executable, "-m", "ray.scripts.scripts", "start", "--head", "--block"]
        options = {
            "node-ip-address": "127.0.0.1",
            "port": address.rpartition(":")[2],
            "num-cpus": "2",
            "include-dashboard": "false",
            "temp-dir": folder,
        }
        command += [f"--{name}={value}" for name, value in options.items()]
        with open(os.devnull, "w") as nothing:
            head = subprocess.Popen(
                [*command, "--disable-usage-stats"], stdout=nothing, stderr=nothing
            )
        try:
            deadline = time.monotonic() + 60
            while not any("raylet/raylet" in c for c in descendants(head.pid).values()):
                assert head.poll() is None and time.monotonic() < deadline
                time.sleep(0.1)
            monkeypatch.setenv("RAY_ADDRESS", address)
            yield head.pid
        finally:
            left = [head.pid, *descendants(head.pid)]
            for pid in left:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    continue
            head.wait()


@pytest.fixture
def dask_cluster(monkeypatch):
    """Two workers of one thread each; gives the process to look below."""
    distributed = pytest.importorskip(
        "distributed", reason="dask is not installed; try: pip install 'ffml[engines]'"
    )
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent), prepend=os.pathsep)  # for workers
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50
    ) as cluster:
        monkeypatch.setenv("DASK_SCHEDULER_ADDRESS", cluster.scheduler_address)
        import dask

        with dask.config.set({"scheduler-address": cluster.scheduler_address}):
            yield os.getpid()


def kill_one(below, marks, ended):
    """Kill the first process that says it has begun with a job."""
    while not (begun := sorted(marks.iterdir())):
        if ended.wait(0.01):
            return
    pid = int(begun[0].name.rpartition("-")[2])
    assert pid in descendants(below)
    os.kill(pid, signal.SIGKILL)


class Slow:
    """A job that leaves a mark when it begins, so that its worker can be killed then."""

    def __init__(self, folder):
        self.folder = folder

    def __call__(self, job, say):
        (self.folder / f"{job}-{os.getpid()}").touch()
        time.sleep(0.3)
        return job * job


def survives_a_kill(backend, below, folder):
    marks = folder / "marks"
    marks.mkdir()
    ended = threading.Event()
    killer = threading.Thread(target=kill_one, args=(below, marks, ended))
    killer.start()
    kept, told = [], []
    try:
        failures = run_jobs(
            Slow(marks),
            range(6),
            lambda job, found: kept.append((job, found)),
            backend=backend,
            tell=lambda *event: told.append(event[:2]),
        )
    finally:
        ended.set()
        killer.join()
    assert failures == {}
    assert sorted(kept) == [(job, job * job) for job in range(6)]  # each exactly once
    assert Counter(told) == Counter(("finished", job) for job in range(6))
    begun = Counter(int(mark.name.partition("-")[0]) for mark in marks.iterdir())
    assert max(begun.values()) == 2  # the killed one was computed again


def test_a_killed_ray_worker_loses_no_cell_and_doubles_none(ray_cluster, tmp_path):
    """Also: a run computed there is the run computed here, and is not computed again."""
    survives_a_kill("ray", ray_cluster, tmp_path)
    cells, store, local = tiny_cells(), Store(tmp_path / "cells"), Store(tmp_path / "local")
    events = []
    assert run_cells(cells, store, backend="ray", tell=lambda *e: events.append(e)) == cells
    assert [event[0] for event in events] == ["finished"] and events[0][2] > 0
    assert run_cells(cells, store, backend="ray") == []
    run_cells(cells, local, workers=1)
    frames = [kept.load(cells).drop(columns="seconds") for kept in (store, local)]
    assert frames[0].equals(frames[1])


def test_a_killed_dask_worker_loses_no_cell_and_doubles_none(dask_cluster, tmp_path):
    survives_a_kill("dask", dask_cluster, tmp_path)


def test_an_engine_is_refused_before_anything_is_computed(refuses, monkeypatch):
    refuses("unknown backend 'rey'; did you mean 'ray'?", "compare", "--backend", "rey")
    monkeypatch.setitem(sys.modules, "ray", None)
    for command in (["compare"], ["tune", "synthetic"], ["reproduce", "table2"]):
        refuses("--backend needs ray, which is not installed; try: pip", *command, "--backend=ray")
    monkeypatch.setitem(sys.modules, "ray", sys)
    refuses("--jobs is for processes of this machine", "compare", "--backend=ray", "--jobs=2")
    check_backend(None, 2)
    with pytest.raises(FFMLError, match="unknown backend 'slurm'; known: dask, ray"):
        run_jobs(print, [1], print, backend="slurm")
