"""Kill a run with SIGKILL at random instants, resume it, and compare with a run left alone.

    python benchmarks/kill_points.py --kills 100

Each process is killed at a random instant, one in four anywhere from its start to its end, the
others from its first checkpoint on, where the files are written; the next process resumes. A run
that gets to its end is compared byte by byte (rounds.csv, groups.csv, every array of the last
checkpoint, the model), and a new run begins.
"""

import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from ffml.runs.generations import generations, newest_generation

from ffml.store.container import read

SETTINGS = {
    "num_outer_steps": 2,
    "inner.num_steps": 1,
    "shots": 10,
    "tasks_per_round": 4,
    "rows_per_task": 64,
    "memory_policy": "reservoir",
    "memory_capacity": 6,
}
RUN = [
    "synthetic",
    "--method",
    "ffml",
    *(f"--set={name}={value}" for name, value in SETTINGS.items()),
]


def ffml(*arguments):
    return subprocess.Popen(
        [sys.executable, "-m", "ffml", "run", *arguments],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


def finished(*arguments):
    """Run to the end; return the seconds it took."""
    start, child = time.monotonic(), ffml(*arguments)
    _, error = child.communicate()
    if child.returncode:
        raise SystemExit(f"exit code {child.returncode}: {error}")
    return time.monotonic() - start


def wait(child, folder, rng, seconds):
    """Wait for a random instant."""
    if rng.random() < 0.25:
        time.sleep(rng.uniform(0, seconds))
        return
    before = generations(folder)
    while generations(folder) == before and child.poll() is None:
        time.sleep(0.0005)
    time.sleep(rng.uniform(0, rng.choice([0.005, 0.05, 0.2, 1.0])))


def outcome(folder):
    document, arrays = newest_generation(folder).contents
    model = read(folder / "model.safetensors").arrays
    tables = [(folder / name).read_bytes() for name in ("rounds.csv", "groups.csv")]
    numbers = {name: array.tobytes() for name, array in (arrays | model).items()}
    return tables, numbers, document["memory"], document["stream"]


def where(folder):
    """Say how far a killed process had come."""
    if not (folder / "config.json").exists():
        return "before the run began"
    done = generations(folder)
    if not done:
        return "before the first checkpoint"
    if (folder / "model.safetensors").exists():
        return "after the last file"
    table = folder / "rounds.csv"
    shown = table.read_text().count("\n") - 1 if table.exists() else 0
    newest = int(done[0].stem.removeprefix("round-"))
    if shown < newest:
        return "between a checkpoint and its line in rounds.csv"
    if list(folder.rglob(".*.tmp")):
        return "while writing a file"
    if (folder / "summary.json").exists():
        return "in the report"
    return "between two rounds"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rounds", default="20")
    arguments = parser.parse_args()
    rng, places, runs, different = random.Random(arguments.seed), Counter(), 0, 0
    work = Path(tempfile.mkdtemp(prefix="ffml-kill-"))
    os.environ.setdefault("FFML_JAX_CACHE", str(work / "jax"))
    start = [*RUN, "--set", f"rounds={arguments.rounds}"]
    finished(*start, "--out", str(work / "whole"))  # compiles; the next one is timed
    seconds = finished(*start, "--out", str(work / "whole"), "--overwrite")
    expected, folder = outcome(work / "whole"), work / "run"
    while places.total() < arguments.kills:
        begun = (folder / "config.json").exists()
        child = ffml("--resume", str(folder)) if begun else ffml(*start, "--out", str(folder))
        wait(child, folder, rng, seconds)
        if child.poll() is None:
            child.send_signal(signal.SIGKILL)
            child.communicate()
            places[where(folder)] += 1
            continue
        _, error = child.communicate()
        if child.returncode:
            raise SystemExit(f"exit code {child.returncode}: {error}")
        runs += 1
        different += outcome(folder) != expected
        shutil.rmtree(folder)
    if (folder / "config.json").exists():
        finished("--resume", str(folder))
        runs, different = runs + 1, different + (outcome(folder) != expected)
    shutil.rmtree(work)
    print(f"{places.total()} SIGKILLs, {runs} runs finished, {different} of them different")
    for place, count in places.most_common():
        print(f"{count:5}  {place}")
    sys.exit(different > 0)


if __name__ == "__main__":
    main()
