"""Time `Run.decide` for batches of people, recorded, and say what a row costs by part.

    python benchmarks/batches.py --rows 1000 10000 --batches 20

Processor time of one process. `in order` are ids such as p000123, `random` are ids such as UUIDs,
which SQLite's indexes take longer for.
"""

import argparse
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa

import ffml
from ffml.runs import _decide
from ffml.scoring import Scorer
from ffml.store import _chain, _transaction

ROLES = {"label": "approved", "positive": "yes", "sensitive": "sex", "task": "month"}
PARTS = {  # what is timed: where it is, under which name
    "read and encode": (_decide, "read_people"),
    "names and content hashes": (_decide, "batches_of"),
    "score": (Scorer, "decide"),
    "hash of the row": (_chain, "decision_hashes"),
    "insert": (_transaction.Transaction, "_insert"),
    "counts": (_transaction.Transaction, "_count"),
}


def people(rng, rows, ids, month):
    sex = rng.integers(2, size=rows)
    income = rng.normal(50 + 5 * sex, 10)
    return pd.DataFrame(
        {
            "applicant": ids,
            "month": month,
            "age": rng.integers(18, 70, rows),
            "income": income.round(1),
            "job": rng.choice(["office", "shop"], rows),
            "sex": np.array(["F", "M"])[sex],
            "approved": np.where(income + rng.normal(0, 5, rows) > 52, "yes", "no"),
        }
    )


def ids_of(kind, rng, first, rows):
    if kind == "random":
        return [f"{value:016x}" for value in rng.integers(0, 2**63, rows)]
    return [f"p{first + i:09d}" for i in range(rows)]


@contextmanager
def timed(seconds):
    """Add the processor time of every part to ``seconds``."""
    originals = {part: getattr(*where) for part, where in PARTS.items()}

    def watched(part):
        def call(*arguments, **named):
            start = time.process_time()
            try:
                return originals[part](*arguments, **named)
            finally:
                seconds[part] += time.process_time() - start

        return call

    for part, where in PARTS.items():
        setattr(*where, watched(part))
    try:
        yield
    finally:
        for part, where in PARTS.items():
            setattr(*where, originals[part])


def measure(run, kind, rows, batches, rng):
    month, first = f"{kind} {rows}", rows * 10**4
    tables = []
    for number in range(batches + 1):
        ids = ids_of(kind, rng, first + number * rows, rows)
        frame = people(rng, rows, ids, month).drop(columns="approved")
        tables.append(pa.Table.from_pandas(frame, preserve_index=False))
    run.decide(tables[0])  # what is compiled is compiled here
    start, clock = time.process_time(), time.perf_counter()
    seconds = dict.fromkeys(PARTS, 0.0)
    with timed(seconds):
        for table in tables[1:]:
            run.decide(table)
    cpu, wall = time.process_time() - start, time.perf_counter() - clock
    n = rows * batches
    print(f"{rows:,} rows, ids {kind}: {n / cpu:,.0f} rows a second of processor, {n / wall:,.0f}")
    seconds["the rest: commit, lookups, the answer"] = cpu - sum(seconds.values())
    for part, spent in seconds.items():
        print(f"    {part}: {1e6 * spent / n:.2f} µs a row")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, nargs="+", default=[1000, 10_000])
    parser.add_argument("--batches", type=int, default=20)
    parser.add_argument("--singles", type=int, default=300)
    options, rng = parser.parse_args(), np.random.default_rng(0)
    with tempfile.TemporaryDirectory(prefix="ffml-batches-") as place:
        past = [
            people(rng, 300, ids_of("past", rng, 300 * i, 300), f"2024-{i:02}") for i in (1, 2, 3)
        ]
        roles = {**ROLES, "id": "applicant", "max_gap": 0.05, "label_delay": 1}
        run = ffml.run(pd.concat(past), out=Path(place) / "run", **roles)
        for rows in options.rows:
            for kind in ("in order", "random"):
                measure(run, kind, rows, options.batches, rng)
        ids = ids_of("random", rng, 0, options.singles + 50)
        singles = people(rng, len(ids), ids, "singles").drop(columns="approved")
        for i in range(50):
            run.decide(singles[i : i + 1])
        start = time.process_time()
        for i in range(50, len(ids)):
            run.decide(singles[i : i + 1])
        spent = 1000 * (time.process_time() - start) / options.singles
        print(f"one person: {spent:.2f} ms of processor; sound: {run.verify().sound}")


if __name__ == "__main__":
    main()
