"""One run by two processes: the numbers of one process, and one process writes."""

import os
import socket
import subprocess
import sys

import numpy as np
import pytest
from safetensors.numpy import load_file

from ffml.base import FFMLError
from ffml.runtime import join_processes

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
            words,
            FFML_DISTRIBUTED="1",
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
    first, second = together(folders[:2], [*words, "--set", "rounds=4", "--json"])
    assert first.startswith("{") and second == ""  # JSON alone, whatever libraries print
    assert os.listdir(folders[1]) == []
    _, err = alone.communicate(timeout=300)
    assert alone.returncode == 0, err
    one, two = (load_file(folder / "run/model.safetensors") for folder in (folders[2], folders[0]))
    assert one.keys() == two.keys()
    for name, array in one.items():
        np.testing.assert_allclose(two[name], array, rtol=1e-4, atol=1e-5)
    before = {path.name: path.read_bytes() for path in (folders[0] / "run").glob("*.*")}
    first, second = together(folders[:2], ["run", "--resume", str(folders[0] / "run")])
    assert "nothing new: all tasks of synthetic were played before" in first and second == ""
    assert before == {path.name: path.read_bytes() for path in (folders[0] / "run").glob("*.*")}


def test_who_cannot_join_is_refused(tmp_path, refuses, monkeypatch):
    process = started(tmp_path, RUN.split(), FFML_DISTRIBUTED="1", JAX_NUM_PROCESSES="2")
    monkeypatch.setenv("FFML_DISTRIBUTED", "yes")
    refuses("FFML_DISTRIBUTED must be 0 or 1, got 'yes'", *RUN.split())
    monkeypatch.setenv("JAX_NUM_PROCESSES", "two")
    with pytest.raises(FFMLError, match="JAX_NUM_PROCESSES must be a whole number, got 'two'"):
        join_processes()
    _, err = process.communicate(timeout=300)
    assert process.returncode == 2 and err.count("\n") == 1
    assert err.startswith("error: the processes of a run cannot join (coordinator_address should")
