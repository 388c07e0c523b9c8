"""One run by two processes: the numbers of one process, and one process writes."""

import os
import socket
import subprocess
import sys

import numpy as np
import pytest
from safetensors.numpy import load_file

RUN = "run synthetic --method ffml --with none --set data.num_tasks=4 --set tasks_per_round=3"
SMALL = "--set rows_per_task=32 --set shots=4 --set num_outer_steps=3 --set inner.num_steps=1"


def started(folder, words, **environment):
    return subprocess.Popen(
        [sys.executable, "-m", "ffml", *words],
        cwd=folder,
        env=os.environ | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    )


def together(folders, words):
    """Run a command by as many processes as there are folders; return what each printed."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{listener.getsockname()[1]}"
    processes = [
        started(
            folder,
            [*words, "--distributed"],
            JAX_COORDINATOR_ADDRESS=address,
            JAX_NUM_PROCESSES=str(len(folders)),
            JAX_PROCESS_ID=str(i),
        )
        for i, folder in enumerate(folders)
    ]
    try:
        printed = [process.communicate(timeout=300) for process in processes]
    finally:
        for process in processes:
            process.kill()
            process.wait()
    assert [process.returncode for process in processes] == [0] * len(folders), printed
    return [out for out, _ in printed]


@pytest.mark.skipif(sys.platform == "win32", reason="there are no CPU collectives on Windows")
def test_two_processes_give_the_numbers_of_one(tmp_path):
    words = [*RUN.split(), *SMALL.split(), "--out", "run"]
    folders = [tmp_path / name for name in ("first", "second", "alone")]
    for folder in folders:
        folder.mkdir()
    alone = started(folders[2], [*words, "--set", "rounds=4", "-q"])
    # The first round by two processes, the others after a stop: the second needs the run to read.
    first, second = together(folders[:2], [*words, "--set", "rounds=4", "--json"])
    assert first.startswith("{") and second == ""  # JSON alone, whatever libraries print
    assert os.listdir(folders[1]) == []
    assert alone.wait(timeout=300) == 0, alone.communicate()
    one, two = (load_file(folder / "run/model.safetensors") for folder in (folders[2], folders[0]))
    assert one.keys() == two.keys()
    for name, array in one.items():
        np.testing.assert_allclose(two[name], array, rtol=1e-4, atol=1e-5)


def test_who_cannot_join_is_refused(run_main, monkeypatch):
    """In a process of its own, since JAX has started in this one."""
    for value, message in (("two", "JAX_NUM_PROCESSES must be a whole number"), ("1", "join")):
        process = started(
            ".", [*RUN.split(), "--distributed"], JAX_NUM_PROCESSES=value, JAX_PROCESS_ID="0"
        )
        _, err = process.communicate(timeout=300)
        assert process.returncode == 2 and err.startswith("error: ") and message in err
        assert err.count("\n") == 1
