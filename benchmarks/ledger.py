"""Time the store: rounds of decisions with a state each, then single decisions.

    python benchmarks/ledger.py --rounds 2000 --rows 500 --state 220000 --singles 2000
    python benchmarks/ledger.py --address "postgresql://ann@127.0.0.1/postgres?run=bench"

`--ids new` gives every row an id of its own, `again` the same people in every round, `random` new
ids in no order. Flat means: the last hundred rounds take as long as the first hundred.
"""

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np

from ffml.store import Decided, Labels, Store, verify


def people(rng, names, version):
    n = len(names)
    flags = rng.integers(0, 2, (3, n))
    groups = {"sex": np.array(["F", "M"])[flags[0]], "race": rng.choice(["a", "b", "c"], n)}
    content = rng.integers(-(2**62), 2**62, n)
    unknown = np.full(n, -1)
    return Decided(names, groups, version, rng.random(n), flags[1], flags[2], unknown, content)


def ids_of(kind, number, rows, rng):
    if kind == "random":
        return [f"{value:016x}" for value in rng.integers(0, 2**63, rows)]
    return [f"p{i if kind == 'again' else number * rows + i:08d}" for i in range(rows)]


def play(store, args, rng):
    """Decide, get the labels of the round before, keep the state: one transaction a round."""
    seconds, state, before = [], rng.bytes(args.state), None  # seconds: of the clock, of this core
    for number in range(args.rounds):
        rows = people(rng, ids_of(args.ids, number, args.rows, rng), number)
        start = np.array([time.perf_counter(), time.process_time()])
        with store.transaction("benchmark", "round") as t:
            this = t.put_round(f"task {number}", "decided", {"rows": args.rows})
            t.add_decisions(this, rows)
            if before is not None and args.labels:
                tasks = [f"task {number - 1}"] * args.rows
                t.add_labels(Labels(before.ids, before.decision, tasks))
            t.put_version({"number": number}, state, round=this)
        seconds.append(np.array([time.perf_counter(), time.process_time()]) - start)
        before = rows
    return np.array(seconds) * 1000


def singles(store, args, rng):
    with store.transaction("benchmark", "round") as t:
        this = t.put_round("one by one", "open", {})
    start = time.perf_counter()
    for number in range(args.singles):
        row = people(rng, [f"s{number}"], 0)
        with store.transaction("benchmark", "decide") as t:
            t.add_decisions(this, row)
    return args.singles / (time.perf_counter() - start)


def timed(call):
    start = time.perf_counter()
    value = call()
    return value, time.perf_counter() - start


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name, default in {"rounds": 2000, "rows": 500, "state": 220_000, "singles": 2000}.items():
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--ids", choices=("new", "again", "random"), default="new")
    parser.add_argument("--labels", action="store_true", help="label each round one round later")
    parser.add_argument("--address", help="a folder or URL; default: a temporary folder")
    args, rng = parser.parse_args(), np.random.default_rng(0)
    with tempfile.TemporaryDirectory(prefix="ffml-ledger-") as folder:
        with Store.create(args.address or f"{folder}/run", {"name": "benchmark"}) as store:
            ms, cpu = play(store, args, rng).T
            part = min(100, len(ms) // 2)
            first, last = ms[:part], ms[-part:]
            print(f"{args.rounds} rounds of {args.rows} rows, ids {args.ids}, labels {args.labels}")
            print(
                f"ms a round, mean of the first {part}: {first.mean():.2f}, last: {last.mean():.2f}"
            )
            print(f"            median of the first: {np.median(first):.2f}, {np.median(last):.2f}")
            print(f"CPU ms a round, mean: {cpu[:part].mean():.2f}, {cpu[-part:].mean():.2f}")
            print(f"single decisions: {singles(store, args, rng):.0f} a second")
            print(f"counts: {1000 * timed(store.counts)[1]:.1f} ms")
            print(f"totals by SQL: {1000 * timed(store.totals)[1]:.1f} ms")
            result, seconds = timed(lambda: verify(store))
            assert result.sound, result.findings[:3]
            print(f"verify {result.decisions:,} decisions: {seconds:.1f} s")
        sizes = [path.stat().st_size for path in Path(folder).rglob("run.db*")]
        print(f"size: {sum(sizes) / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
