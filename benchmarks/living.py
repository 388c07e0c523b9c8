"""Updates and late labels: killed at random instants, and many of them in a row.

    python benchmarks/living.py --kills 100 --updates 2000

A process decides about months without labels and hears of their labels later, in a random order of
``ffml.update`` and ``ffml.label``. It is killed with SIGKILL at random instants, and the next one
does the same commands from the first on: what is done already is passed over. At the end, state,
tables and report are compared with those of a process left alone. Then a run is updated many times
with 500 rows, and time and memory of the first and of the last updates are printed.
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

import ffml
from ffml.report import write_model_card, write_report
from ffml.runs.generations import newest_generation

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
COMMAND = [
    *ROLES,
    "--method=ffml",
    "--set=data.id=applicant",
    *(f"--set={n}={v}" for n, v in SETTINGS.items()),
]


def month(number, rows):
    """Return one month of loans, the same whenever it is asked for."""
    rng = np.random.default_rng(number)
    table = pd.DataFrame({"applicant": [f"{number}-{i}" for i in range(rows)]})
    table["month"], table["sex"] = f"m{number:05d}", rng.choice(["F", "M"], rows)
    table["job"] = rng.choice(["office", "shop", "farm"], rows)
    table["income"] = rng.normal(46 + 8 * (table.sex == "M"), 12).round(1)
    score = (table.income - 50) / 8 + (table.job == "office") + rng.logistic(size=rows)
    return table.assign(approved=np.where(score > 0, "yes", "no"))


def begin(folder, rows):
    """Run over two months with labels."""
    table = folder.with_suffix(".csv")
    pd.concat([month(0, rows), month(1, rows)]).to_csv(table, index=False)
    words = [sys.executable, "-m", "ffml", "run", table, *COMMAND, "--out", folder, "--quiet"]
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
    """Do all commands from the first on."""
    for kind, number, half in commands(months, seed):
        table = month(number, rows)
        if kind == "update":
            ffml.update(folder, table.drop(columns="approved"))
        else:
            part = slice(half * rows // 2, (half + 1) * rows // 2)
            ffml.label(folder, table[["applicant", "approved"]][part])


def worker(folder, arguments):
    words = ["--folder", folder, "--months", arguments.months, "--rows", arguments.rows]
    words += ["--seed", arguments.seed]
    return subprocess.Popen(
        [sys.executable, __file__, *map(str, words)], stderr=subprocess.PIPE, text=True
    )


def finished(folder, arguments):
    """Let a process come to its end; return the seconds it took."""
    start, child = time.monotonic(), worker(folder, arguments)
    _, error = child.communicate()
    if child.returncode:
        raise SystemExit(f"exit code {child.returncode}: {error}")
    return time.monotonic() - start


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


def killed(base, arguments):
    """Kill, go on, and compare, until there were enough kills."""
    rng, kills, ends, different = random.Random(arguments.seed), 0, 0, 0
    begin(base / "begun", arguments.rows)
    folder = base / "run"
    shutil.copytree(base / "begun", folder)
    finished(folder, arguments)  # compiles; the next one is timed
    expected = outcome(folder)
    seconds = finished(folder, arguments)  # finds everything done
    while kills < arguments.kills:
        shutil.rmtree(folder)
        shutil.copytree(base / "begun", folder)
        while kills < arguments.kills:
            child = worker(folder, arguments)
            try:
                child.wait(seconds * rng.uniform(0.2, 1.6))
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
    """Update a run again and again; compare the first updates with the last."""
    begin(base / "many", arguments.rows)
    seconds, memory = [], []
    for number in range(2, 2 + arguments.updates):
        start = time.perf_counter()
        ffml.update(base / "many", month(number, arguments.rows))
        seconds.append(time.perf_counter() - start)
        memory.append(resident())
    tenth = max(len(seconds) // 10, 1)
    first, last = slice(min(5, tenth), min(5, tenth) + tenth), slice(-tenth, None)
    print(f"{len(seconds)} updates of {arguments.rows} rows: first and last {tenth}")
    for name, values, unit in (("time", seconds, "s"), ("memory", memory, "MB")):
        ends = [statistics.median(values[part] or values) for part in (first, last)]
        print(f"{name:>7}: {ends[0]:.3f} and {ends[1]:.3f} {unit}, ratio {ends[1] / ends[0]:.2f}")
    (base / "updates.json").write_text(json.dumps({"seconds": seconds, "megabytes": memory}))


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
    parser.add_argument("--folder", type=Path, help="work on a run; how this script calls itself")
    arguments = parser.parse_args()
    if arguments.folder:
        ffml.configure()
        work(arguments.folder, arguments.months, arguments.rows, arguments.seed)
        return
    base = Path(tempfile.mkdtemp(prefix="ffml-living-"))
    os.environ.setdefault("FFML_JAX_CACHE", str(base / "jax"))
    ffml.configure()
    different = killed(base, arguments) if arguments.kills else 0
    if arguments.updates:
        many(base, arguments)
    shutil.rmtree(base)
    sys.exit(different > 0)


if __name__ == "__main__":
    main()
