"""Time of an outer iteration of FFML beside others that compute the same numbers.

    python benchmarks/outer_iteration.py [--shapes bank,adult,crime] [--json FILE]

Shapes are the paper's: 32 tasks, 100 support and 100 query rows of each class, an MLP of 2 × 40,
second order, and the attributes and N_step of Bank, Adult and Crime. Rows are random: only their
shape matters. All contenders are checked to have the same meta-gradients first, and are then timed
in turn, so that what else the machine does hits all alike. Torch's need: pip install 'ffml[bench]'
"""

import argparse
import json
import os
import platform
import statistics
from pathlib import Path

import ffml
from ffml.threads import available_cores

TOLERANCE = 1e-4  # of meta-gradients, in units of the largest entry


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--shapes", default="bank,adult,crime")
    parser.add_argument("--small", action="store_true", help="a tiny shape on one core, to try it")
    parser.add_argument("--repeats", type=int, default=9, help="how often each is timed")
    parser.add_argument("--json", type=Path, help="where to write all numbers")
    arguments = parser.parse_args()
    cores = 1 if arguments.small else available_cores()
    ffml.configure(cores)

    from outer.shapes import PAPER, SMALL

    shapes = SMALL if arguments.small else PAPER
    chosen = [s for s in shapes if arguments.small or s.name in arguments.shapes.split(",")]
    print(f"{cores} cores, {platform.processor() or platform.machine()}, {arguments.repeats} times")
    results = {shape.name: compared(shape, cores, arguments.repeats) for shape in chosen}
    if arguments.json:
        arguments.json.parent.mkdir(parents=True, exist_ok=True)
        arguments.json.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
        print(f"\nwritten: {arguments.json}")


def compared(shape, cores, repeats):
    """Check and time all contenders at one shape, and print a table."""
    from outer.machine import matrix_products, peak_bytes, seconds_each
    from outer.ours import paper_slopes
    from outer.shapes import difference, given
    from outer.table import rows_of, show

    start = given(shape)
    contenders, missing = everyone(start, cores)
    expected = paper_slopes(start)
    apart = {one.name: difference(one.slopes(), expected) for one in contenders if one.slopes}
    for name, by in apart.items():
        if by > TOLERANCE:
            raise SystemExit(f"{name}: meta-gradients differ by {by:.1e} from ours")
    products = {label: matrix_products(shape, n) for label, n in devices(cores).items()}
    runs = {i: one.run for i, one in enumerate(contenders)}
    runs |= {label: run for label, (run, _) in products.items()}
    counts = {key: iterations(run) for key, run in runs.items()}
    memory = [peak_bytes(one.run, counts[i]) for i, one in enumerate(contenders)]
    seconds = {key: [] for key in runs}
    for _ in range(repeats):
        for key, run in runs.items():
            seconds[key].append(seconds_each(run, counts[key]))
    rates = {k: flops / statistics.median(seconds[k]) for k, (_, flops) in products.items()}
    rows = rows_of(contenders, seconds, memory, rates)
    show(shape, rows, rates, missing)
    print(
        f"\nMeta-gradients of {', '.join(apart)} agree with ours within {max(apart.values()):.0e}"
    )
    found = {"shape": shape._asdict(), "rates": rates, "contenders": rows}
    return found | {"apart": apart, "missing": missing}


def everyone(start, cores):
    """Build all contenders; those whose package is not installed are named instead."""
    from outer.bare import bare
    from outer.ours import default, paper
    from outer.peers import PEERS

    contenders = [
        build(start, count, label)
        for build in (paper, default, bare)
        for label, count in devices(cores).items()
    ]
    if cores > 1 and hasattr(os, "sched_setaffinity"):
        contenders.append(on_one_core(contenders[0]))
    missing = []
    for name, build in PEERS.items():
        try:
            contenders.append(build(start, cores, f"{cores} threads"))
        except ImportError:
            missing.append(name)
    return contenders, missing


def on_one_core(one):
    """Let a contender on one device have one core."""
    from outer.machine import one_core

    def run(count):
        with one_core():
            one.run(count)

    run.__module__ = one.run.__module__
    return one._replace(devices="1 device, 1 core", run=run, flops=None)


def devices(cores):
    """Return what is tried: one device, and one a core."""
    return {"1 device": 1} | ({f"{cores} devices": cores} if cores > 1 else {})


def iterations(run):
    """Warm up, and return how many iterations are timed at once."""
    from outer.shapes import ITERATIONS

    count = 1 if run.__module__ == "outer.peers" else ITERATIONS
    run(count)
    return count


if __name__ == "__main__":
    main()
