"""Memory is bounded by a task and some batches of rows, whatever the size of the table."""

import subprocess
import sys
from pathlib import Path

import pytest

FILE_MB, LIMIT_MB, TASKS, WARM_UP = 170, 75, 250, 40

# The first stream pays for what is loaded once and fills Arrow's read-ahead; the second one is
# six times as long, and may add no more than the limit, less than half its file. How far Arrow's
# threads read ahead is a matter of timing: 25 to 60 MB were seen, with files of 46 to 375 MB.
MEASURE = """
import sys
from ffml.tables import table_stream

def peak():
    status = open("/proc/self/status").read()
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024

def play(path):
    stream = table_stream(path, label="y", sensitive="sex", task="town")
    return sum(len(task.y) for task in stream.tasks())

play(sys.argv[1])
before = peak()
print(play(sys.argv[2]), peak() - before)
"""


def blocks_of_a_task():
    """Return the rows of a task in blocks, with @ for the task's name."""
    line = "{0}.25,{1},{2}.5e-3,{3},job {1},{4},{5},@\n"
    block = "".join(
        line.format(i, i % 9, i * 7, 100_000 + i, "FM"[i % 2], i // 2 % 2) for i in range(200)
    )
    return [block] * (FILE_MB * 1_000_000 // TASKS // len(block))


def write(path, tasks):
    """Write half of the tasks one after another; the rows of the others are far apart."""
    blocks, names = blocks_of_a_task(), [f"town {i:02}" for i in range(tasks)]
    together, apart = names[: tasks // 2], names[tasks // 2 :]
    ordered = [(b, n) for n in together for b in blocks] + [(b, n) for b in blocks for n in apart]
    with path.open("w") as file:
        file.write("a,b,c,d,job,sex,y,town\n")
        file.writelines(block.replace("@", name) for block, name in ordered)
    return 200 * len(ordered)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="peak memory: Linux only")
def test_a_table_larger_than_the_memory_it_may_use(tmp_path):
    write(tmp_path / "small.csv", WARM_UP)
    num_rows = write(tmp_path / "large.csv", TASKS)
    assert (tmp_path / "large.csv").stat().st_size > 2 * LIMIT_MB * 1e6
    command = [sys.executable, "-c", MEASURE, "small.csv", "large.csv"]
    result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    rows, megabytes = result.stdout.split()
    assert int(rows) == num_rows
    assert float(megabytes) < LIMIT_MB
