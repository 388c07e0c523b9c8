"""Many updates of one run, and many people decided about one by one: time and memory stay flat.

    python benchmarks/living.py --updates 2000 --rows 500 --singles 100000

A run is updated with a new month of labelled rows again and again. After a warm-up, time and memory
of the first and of the last 100 updates are printed. Then people come one by one, each decision
written to the ledger before the next person comes.
"""

import argparse
import resource
import statistics
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd

import ffml

ROLES = {"label": "paid", "positive": "yes", "sensitive": "sex", "task": "month", "id": "person"}
MOST_SHOWN = 100  # updates of each end


def month(number, rows):
    """Return one month of loans, the same whenever it is asked for."""
    rng = np.random.default_rng(number)
    table = pd.DataFrame({"person": [f"{number}-{i}" for i in range(rows)]})
    table["month"], table["sex"] = f"m{number:05d}", rng.choice(["F", "M"], rows)
    table["job"] = rng.choice(["office", "shop", "farm"], rows)
    table["income"] = rng.normal(46 + 8 * (table.sex == "M"), 12).round(1)
    score = (table.income - 50) / 8 + (table.job == "office") + rng.logistic(size=rows)
    return table.assign(paid=np.where(score > 0, "yes", "no"))


def measured(call):
    """Return the CPU and wall seconds of a call, and the memory in MB after it."""
    cpu, wall = time.process_time(), time.perf_counter()
    call()
    return time.process_time() - cpu, time.perf_counter() - wall, resident()


def resident():
    """Return the memory of this process now, in MB."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except OSError:  # not Linux: the most that it ever was
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return pages * resource.getpagesize() / 2**20


def show(name, parts):
    """Print the medians of two parts, and how the second differs."""
    columns = [[statistics.median(column) for column in zip(*part, strict=True)] for part in parts]
    print(f"{name:<22}   CPU ms  wall ms  memory MB")
    for which, (cpu, wall, memory) in zip(("first", "last"), columns, strict=True):
        times = f"{1000 * cpu:>17.2f} {1000 * wall:>8.2f}"
        print(f"{which:>6} {len(parts[0]):>6,} {times} {memory:>10.0f}")
    change = [100 * (after / before - 1) for before, after in zip(*columns, strict=True)]
    print("change {:>23.1f}% {:>7.1f}% {:>9.1f}%".format(*change), flush=True)


def update(run, arguments):
    """Update a run many times."""
    first = 2 + arguments.warm_up
    tables = (month(number, arguments.rows) for number in range(2, first + arguments.updates))
    costs = [measured(lambda table=table: run.update(table)) for table in tables]
    costs = costs[arguments.warm_up :]
    part = min(MOST_SHOWN, len(costs) // 2)
    show(f"updates of {arguments.rows} rows", (costs[:part], costs[-part:]))


def decide(run, arguments):
    """Decide about people one by one."""
    people = month(10**6, arguments.singles)
    rows = (people[i : i + 1] for i in range(arguments.singles))
    costs = [measured(lambda row=row: run.decide(row, task="counter")) for row in rows]
    part = max(1, len(costs) // 10)
    show("single decisions", (costs[:part], costs[-part:]))
    known = run.store.decisions(round=run.store.round_of("counter").round, columns=("id",))["id"]
    assert len(known) == arguments.singles


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--updates", type=int, default=2000)
    parser.add_argument("--rows", type=int, default=500)
    parser.add_argument("--warm-up", type=int, default=100, help="updates before the first shown")
    parser.add_argument("--singles", type=int, default=0, help="people decided about one by one")
    arguments = parser.parse_args()
    ffml.configure()
    with tempfile.TemporaryDirectory(prefix="ffml-living-") as folder:
        begun = pd.concat([month(0, arguments.rows), month(1, arguments.rows)])
        run = ffml.run(begun, out=Path(folder) / "run", shots=10, **ROLES)
        if arguments.updates:
            update(run, arguments)
        if arguments.singles:
            decide(run, arguments)
        size = sum(path.stat().st_size for path in run.folder.iterdir()) / 2**20
        found = run.verify()
        print(f"ledger: {size:.1f} MB, {found.decisions:,} decisions, sound: {found.sound}")
        start = time.perf_counter()
        people = run.answer["people"]
        print(f"answer about {people:,} people: {1000 * (time.perf_counter() - start):.0f} ms")
        run.close()
    sys.exit(not found.sound)


if __name__ == "__main__":
    main()
