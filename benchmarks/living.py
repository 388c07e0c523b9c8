"""Updates and late labels: killed at random instants, many in a row, and two at once.

    python benchmarks/living.py --kills 100 --updates 2000

A process decides about months without labels and hears of their labels later, in a random order of
``ffml.update`` and ``ffml.label``. It is killed with SIGKILL at random instants, and the next one
does the same commands from the first on: what is done already is passed over. At the end, state,
tables and report are compared with those of a process left alone. So they are after two processes
have done all of that at the same time, each trying again where the other one was at work. Then a
run is updated many times with 500 rows, and time and memory along the way are printed.
"""

import argparse
import json
import os
import random
import resource
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd
from ffml.runs.generations import newest_generation

import ffml
from ffml.report import write_model_card, write_report

SHOWN, WINDOW = (20, 50, 100, 200, 400, 700, 1000, 1400, 2000), 20
SETTINGS = {
    "num_outer_steps": 2,
    "inner.num_steps": 1,
    "shots": 10,
    "tasks_per_round": 4,
    "rows_per_task": 64,
    "memory_policy": "recent",
    "memory_capacity": 8,
}
ROLES = ["--label", "approved", "--positive", "yes", "--sensitive", "sex", "--task", "month"]
RECIPES = {
    "default": ["--set=shots=10"],
    "ffml": ["--method=ffml", *(f"--set={n}={v}" for n, v in SETTINGS.items())],
}


def month(number, rows):
    """Return one month of loans, the same whenever it is asked for."""
    rng = np.random.default_rng(number)
    table = pd.DataFrame({"applicant": [f"{number}-{i}" for i in range(rows)]})
    table["month"], table["sex"] = f"m{number:05d}", rng.choice(["F", "M"], rows)
    table["job"] = rng.choice(["office", "shop", "farm"], rows)
    table["income"] = rng.normal(46 + 8 * (table.sex == "M"), 12).round(1)
    score = (table.income - 50) / 8 + (table.job == "office") + rng.logistic(size=rows)
    return table.assign(approved=np.where(score > 0, "yes", "no"))


def begin(folder, arguments):
    """Run over two months with labels."""
    table = folder.with_suffix(".csv")
    pd.concat([month(0, arguments.rows), month(1, arguments.rows)]).to_csv(table, index=False)
    words = [sys.executable, "-m", "ffml", "run", table, *ROLES, "--set=data.id=applicant"]
    words += [*RECIPES[arguments.recipe], "--out", folder, "--quiet"]
    subprocess.run(words, check=True)


def commands(months, seed):
    """Return updates and labels in a random order; half of a month's labels come at a time."""
    rng, order = random.Random(seed), []
    for number in range(2, 2 + months):
        order += [(rng.uniform(0, months), "label", number, half) for half in (0, 1)]
    steps = [(place, "update", number, 0) for place, number in enumerate(range(2, 2 + months))]
    for place, kind, number, half in order:  # no label before its decision
        steps.append((max(place, number - 2 + 0.5), kind, number, half))
    return [step[1:] for step in sorted(steps)]


def work(folder, months, rows, seed):
    """Do all commands from the first on; wait while another process writes to the run."""
    for kind, number, half in commands(months, seed):
        table = month(number, rows)
        if kind == "update":
            patiently(ffml.update, folder, table.drop(columns="approved"))
        else:
            part = slice(half * rows // 2, (half + 1) * rows // 2)
            patiently(ffml.label, folder, table[["applicant", "approved"]][part])


def patiently(command, folder, table):
    while True:
        try:
            return command(folder, table)
        except ffml.FFMLError as error:
            if "another process is writing" not in str(error):
                raise
            print("refused", flush=True)
            time.sleep(0.05)


def worker(folder, arguments):
    words = ["--folder", folder, "--months", arguments.months, "--rows", arguments.rows]
    words += ["--seed", arguments.seed]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen([sys.executable, __file__, *map(str, words)], **pipes)


def finished(folder, arguments):
    """Let a process come to its end; return the seconds it took."""
    start = time.monotonic()
    ended(worker(folder, arguments))
    return time.monotonic() - start


def ended(child):
    """Wait for a process; return what it printed."""
    said, error = child.communicate()
    if child.returncode:
        raise SystemExit(f"exit code {child.returncode}: {error}")
    return said


def outcome(folder):
    """Return all that must be the same; the report is made again without its times."""
    document, arrays = newest_generation(folder).contents
    copy = folder.with_name("copy")
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(folder, copy)
    (copy / "timings.csv").unlink()
    summary = json.loads((copy / "summary.json").read_text()) | {"seconds": 0}
    (copy / "summary.json").write_text(json.dumps(summary))
    pages = [write(copy).read_bytes() for write in (write_report, write_model_card)]
    tables = [(folder / name).read_bytes() for name in ("rounds.csv", "groups.csv")]
    decisions = sorted((p.name, p.read_bytes()) for p in (folder / "decisions").iterdir())
    numbers = {name: array.tobytes() for name, array in arrays.items()}
    state = document["memory"], document["waiting"], document["stream"]
    return numbers, state, summary, tables, decisions, pages


def undisturbed(base, arguments):
    """Let one process do everything; return what it came to, and the seconds it took."""
    begin(base / "begun", arguments)
    folder = base / "run"
    shutil.copytree(base / "begun", folder)
    seconds = finished(folder, arguments)
    return outcome(folder), seconds


def two_at_once(base, expected, arguments):
    """Let two processes do everything at the same time, and compare."""
    folder = base / "run"
    shutil.rmtree(folder)
    shutil.copytree(base / "begun", folder)
    children = [worker(folder, arguments) for _ in range(2)]
    refused = sum(ended(child).count("refused") for child in children)
    different = outcome(folder) != expected
    print(f"two processes at once: {refused} times refused, {int(different)} of 1 different")
    return different


def killed(base, expected, seconds, arguments):
    """Kill, go on, and compare, until there were enough kills."""
    rng, kills, ends, different = random.Random(arguments.seed), 0, 0, 0
    folder = base / "run"
    while kills < arguments.kills:
        shutil.rmtree(folder)
        shutil.copytree(base / "begun", folder)
        while kills < arguments.kills:
            child = worker(folder, arguments)
            try:
                child.wait(seconds * rng.uniform(0.2, 1.0))
            except subprocess.TimeoutExpired:
                child.send_signal(signal.SIGKILL)
                kills += 1
            _, error = child.communicate()
            if child.returncode == 0:
                break
            if child.returncode != -signal.SIGKILL:
                raise SystemExit(f"exit code {child.returncode}: {error}")
        finished(folder, arguments)
        ends, different = ends + 1, different + (outcome(folder) != expected)
    print(f"{kills} SIGKILLs, {ends} times to the end, {different} of them different")
    return different


def many(base, arguments):
    """Update a run again and again; print time and memory as it gets longer."""
    folder = arguments.run or base / "many"
    if not folder.exists():
        begin(folder, arguments)
    done = newest_generation(folder).contents.document["round"] - 2
    print(f"updates of {arguments.rows} rows; medians of {WINDOW} updates; CPU of all threads")
    print("updates  CPU s  wall s  memory MB  checkpoint MB")
    seconds = []
    for number in range(1 + done, 1 + arguments.updates):
        table = month(number + 1, arguments.rows)
        wall, cpu = time.perf_counter(), time.process_time()
        ffml.update(folder, table)
        seconds.append((time.process_time() - cpu, time.perf_counter() - wall))
        if number in SHOWN or number == arguments.updates:
            cpu, wall = (statistics.median(part) for part in zip(*seconds[-WINDOW:], strict=True))
            size = newest_generation(folder).path.stat().st_size / 2**20
            print(f"{number:>7} {cpu:>6.2f} {wall:>7.2f} {resident():>10.0f} {size:>14.2f}")
            sys.stdout.flush()


def resident():
    """Return the memory of this process now, in MB."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except OSError:  # not Linux: the most that it ever was
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return pages * resource.getpagesize() / 2**20


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--updates", type=int, default=2000)
    parser.add_argument("--months", type=int, default=6)
    parser.add_argument("--rows", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--run", type=Path, help="update this run, or go on with it")
    parser.add_argument("--recipe", choices=RECIPES, default="default")
    parser.add_argument("--folder", type=Path, help="work on a run; how this script calls itself")
    arguments = parser.parse_args()
    if arguments.folder:
        ffml.configure()
        work(arguments.folder, arguments.months, arguments.rows, arguments.seed)
        return
    base = Path(tempfile.mkdtemp(prefix="ffml-living-"))
    os.environ.setdefault("FFML_JAX_CACHE", str(base / "jax"))
    ffml.configure()
    different = 0
    if arguments.kills:
        expected, seconds = undisturbed(base, arguments)
        different += two_at_once(base, expected, arguments)
        different += killed(base, expected, seconds, arguments)
    if arguments.updates:
        many(base, arguments)
    shutil.rmtree(base)
    sys.exit(different > 0)


if __name__ == "__main__":
    main()
