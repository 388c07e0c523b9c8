"""Kill run, update, label and decide with SIGKILL, go on, and compare with a run left alone.

    python benchmarks/kill_points.py --kills 200

A process starts a run, updates it, decides about people and hears of labels. It is killed at a
random instant of a random one of these commands; the next process gives all commands from the first
on, and what was done is passed over. Whoever comes to the end is compared:
the bytes of the learner's state, everybody's row in plain SQL, the tables and the answer. Then two
threads, and two processes, give all commands at the same time, each again as long as the other one
is at work.
"""

import argparse
import json
import os
import random
import shutil
import signal
import sqlite3
import sys
import tempfile
import threading
import time
from collections import Counter
from contextlib import closing
from itertools import pairwise
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pandas as pd

import ffml
from ffml.store import holds_run

PRELOAD = ["__main__", "ffml.runs.starting", "ffml.runs._decide", "ffml.runs._labels"]
PRELOAD += ["ffml.runs._views", "ffml.features.boosted", "sklearn.tree"]
ROLES = {"label": "paid", "positive": "yes", "sensitive": "sex", "task": "month", "id": "person"}
PEOPLE = """
select task, id, label, decision, unpriced, probability, version, groups from people order by 1, 2
"""


def month(number, rows):
    """Return one month of loans, the same whenever it is asked for."""
    rng = np.random.default_rng(number)
    table = pd.DataFrame({"person": [f"{number}-{i}" for i in range(rows)]})
    table["month"], table["sex"] = f"m{number:05d}", rng.choice(["F", "M"], rows)
    table["income"] = rng.normal(46 + 8 * (table.sex == "M"), 12).round(1)
    score = (table.income - 50) / 8 + rng.logistic(size=rows)
    return table.assign(paid=np.where(score > 0, "yes", "no"))


def write_tables(base, rows):
    """Write all tables that the commands read."""
    tables = {number: month(number, rows) for number in range(1, 7)}
    told = ["person", "month", "paid"]
    files = {
        "first": pd.concat([tables[1], tables[2], tables[3]]),
        "later": tables[4].drop(columns="paid"),
        "few": tables[4][told][: rows // 4],
        "others": tables[4][told][rows // 4 :],
        "counter": tables[6].drop(columns="paid")[:5],
        "paid": tables[6][told][:5].assign(month="counter"),
        "newest": tables[5],
    }
    for name, table in files.items():
        table.to_csv(base / f"{name}.csv", index=False)


def started(base, folder):
    """Start a run, or go on with the one that is there."""
    table = str(base / "first.csv")
    if not holds_run(folder):
        return ffml.run(table, out=folder, shots=10, **ROLES)
    run = ffml.open(folder)
    run.update(table)
    return run


# Which table each command reads, in their order.
COMMANDS = (
    ("run", "first"),
    ("update", "later"),
    ("decide", "counter"),
    ("label", "few"),
    ("label", "others"),
    ("label", "paid"),
    ("update", "newest"),
)


def give(base, folder, command, table):
    """Do what a command does, and write the files beside the ledger."""
    run = started(base, folder) if command == "run" else ffml.open(folder)
    try:
        if command == "decide":
            run.decide(str(base / f"{table}.csv"), task="counter")
        elif command != "run":
            getattr(run, command)(str(base / f"{table}.csv"))
        run.write_views()
    finally:
        run.close()


def work(base, folder, told=None):
    """Give all commands from the first on; wait while somebody else is at work."""
    refused = 0
    for number, (command, table) in enumerate(COMMANDS):
        if told:
            told.send((number, command, time.monotonic()))
        refused += patiently(base, folder, command, table)
    if told:
        told.send((refused, "end", time.monotonic()))
    return refused


def patiently(*words):
    """Give a command until nobody refuses it; return how often that was."""
    refused = 0
    while True:
        try:
            give(*words)
            return refused
        except ffml.FFMLError as error:
            if "somebody else" not in str(error):
                raise
            refused += 1
            time.sleep(0.02)


def outcome(folder):
    """Return all that must be the same; times are left out."""
    with closing(sqlite3.connect(folder / "run.db")) as raw:
        people = raw.execute(PEOPLE).fetchall()
    run = ffml.open(folder, write=False)
    version = run.store.version()
    summary = json.loads((folder / "summary.json").read_text())
    told = [summary[key] for key in ("answer", "metrics") if key in summary], repr(run.answer)
    tables = [(folder / name).read_bytes() for name in ("rounds.csv", "groups.csv")]
    sound = run.verify().sound
    run.close()
    return people, version.state, version.blobs, version.number, repr(told), tables, sound


def killed(base, expected, spans, arguments, context):
    """Kill, go on and compare, until there were enough kills."""
    rng, places, ends, different = random.Random(arguments.seed), Counter(), 0, 0
    folder = base / "killed"
    while places.total() < arguments.kills:
        chosen, ours, theirs = rng.randrange(len(spans)), *context.Pipe(duplex=False)
        child = context.Process(target=work, args=(base, folder, theirs))
        child.start()
        theirs.close()
        place = wait(ours, chosen, rng.uniform(0, spans[chosen]))
        if place != "end":
            os.kill(child.pid, signal.SIGKILL)
            places[place] += 1
        child.join()
        if place == "end":
            ends, different = ends + 1, different + (outcome(folder) != expected)
            shutil.rmtree(folder)
    work(base, folder)
    ends, different = ends + 1, different + (outcome(folder) != expected)
    kinds = ", ".join(f"{place} {n}" for place, n in sorted(places.items()))
    print(f"{places.total()} SIGKILLs ({kinds}), {ends} times to the end, {different} different")
    return different


def wait(told, chosen, seconds):
    """Wait until a command has begun and some time has passed; say what is being done then."""
    name = "start"
    try:
        number, name, _ = told.recv()
        while number < chosen and name != "end":
            number, name, _ = told.recv()
        until = time.monotonic() + seconds
        while name != "end" and told.poll(max(0, until - time.monotonic())):
            _, name, _ = told.recv()
    except EOFError:
        raise SystemExit("a process ended by itself; see above") from None
    return name


def undisturbed(base, context):
    """Let one process do everything; return what it came to, and the seconds of each command."""
    for name in ("compiled", "alone"):
        ours, theirs = context.Pipe(duplex=False)
        child = context.Process(target=work, args=(base, base / name, theirs))
        child.start()
        theirs.close()
        child.join()
        times = []
        while not times or times[-1][1] != "end":
            times.append(ours.recv())
    spans = [after[2] - before[2] for before, after in pairwise(times)]
    return outcome(base / "alone"), spans


def two_at_once(base, expected, kind, make):
    """Let two do everything at the same time on a run that has begun, and compare."""
    folder = base / f"two {kind}"
    give(base, folder, *COMMANDS[0])
    pipes, workers = [], []
    for _ in range(2):
        ours, theirs = get_context("forkserver").Pipe(duplex=False)
        pipes.append((ours, theirs))
        workers.append(make(target=work, args=(base, folder, theirs)))
        workers[-1].start()
    refused = 0
    for worker, (ours, theirs) in zip(workers, pipes, strict=True):
        worker.join()
        theirs.close()  # who failed has not said that it came to the end
        while (said := ours.recv())[1] != "end":
            pass
        refused += said[0]
    different = outcome(folder) != expected
    print(f"two {kind} at once: {refused} times refused, {int(different)} of 1 different")
    return different


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--rows", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    context = get_context("forkserver")
    context.set_forkserver_preload(PRELOAD)
    with tempfile.TemporaryDirectory(prefix="ffml-kill-") as folder:
        base = Path(folder)
        os.environ.setdefault("FFML_JAX_CACHE", str(base / "jax"))
        write_tables(base, arguments.rows)
        expected, spans = undisturbed(base, context)
        makers = {"threads": threading.Thread, "processes": context.Process}
        different = sum(two_at_once(base, expected, *kind) for kind in makers.items())
        different += killed(base, expected, spans, arguments, context)
    sys.exit(different > 0)


if __name__ == "__main__":
    main()
