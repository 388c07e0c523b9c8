"""All methods on all streams of the package, with equal budgets, at the same typical gap.

    python benchmarks/everything.py --seeds 0-4 --tune 12 --out everything
    python benchmarks/everything.py --backend ray          # on a cluster

Every method that can be asked for a gap is run for each of --asked, and what it got makes a curve
of balanced accuracy against the typical gap. For each method and stream, the settings are the best
of --tune draws, on other seeds and other rounds. The table has the balanced accuracy of the first
method where it is asked for --at, and how far another one's curve is from it at the same typical
gap, seed by seed, with the 95 % interval over seeds. ``<``: it is less even with all that was asked
for; ``>``: more even. Methods that cannot be asked for a gap have what they got.

In --out are also all that `ffml compare` writes, with the picture of all curves. What is finished
is kept there, and the same command goes on with the rest.
"""

import argparse
import math
import shlex
import sys
from pathlib import Path
from typing import Any

import pandas as pd

from ffml.cli.values import parse_seeds
from ffml.datasets import DATASETS
from ffml.methods import METHODS
from ffml.runtime import configure
from ffml.studies.budget import chosen_by_search
from ffml.studies.compare import (
    Variant,
    compare_methods,
    plan_on_tables,
)

UNCONSTRAINED = ("m-ftml", "refit")  # they cannot be asked for a gap
MARKS = {"less fair": " <", "fairer": " >"}
SMALL = {"rounds": 6, "shots": 10}


def variants(methods: list[str], asked: list[float]) -> list[Variant]:
    """Return each method once for each gap that it is asked for."""
    return [
        Variant(f"{method}, {100 * gap:g} asked", method, {"max_gap": (gap,)})
        for method in methods
        if method not in UNCONSTRAINED
        for gap in asked
    ] + [Variant(method, method) for method in methods if method in UNCONSTRAINED]


def lines(summary: pd.DataFrame, equal: pd.DataFrame, first: Variant) -> list[str]:
    """Write a line for each method, and a column for each stream."""
    streams = list(dict.fromkeys(summary["data"]))
    values = summary.set_index(["data", "label", "metric"])["mean"]
    own = [
        f"{values[data, first.label, 'balanced_accuracy']:.3f} at "
        f"{100 * values[data, first.label, 'typical_gap']:.1f}"
        for data in streams
    ]
    head = f"| method | {' | '.join(streams)} |"
    shown = [head, "| --- |" + " ---: |" * len(streams), f"| {first.label} | {' | '.join(own)} |"]
    for method in dict.fromkeys(equal["other"]):
        rows = equal[(equal["other"] == method) & (equal["label"] == first.label)]
        by_stream = {str(row["data"]): row for row in rows.to_dict("records")}
        words = [_difference(by_stream.get(data)) for data in streams]
        shown.append(f"| {method} | {' | '.join(words)} |")
    for label in dict.fromkeys(summary["label"]):
        if label in UNCONSTRAINED:
            words = [
                f"{values[data, label, 'balanced_accuracy']:.3f} at "
                f"{100 * values[data, label, 'typical_gap']:.1f}"
                for data in streams
            ]
            shown.append(f"| {label} | {' | '.join(words)} |")
    return shown


def _difference(row: dict[str, Any] | None) -> str:
    """Write how much more accurate the other method is, at the same typical gap."""
    if row is None or math.isnan(row["difference"]):
        return "–"
    ends = f" ({-row['high']:+.3f} to {-row['low']:+.3f})" if not math.isnan(row["low"]) else ""
    return f"{-row['difference']:+.3f}{ends}{MARKS.get(row['curve'], '')}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", action="append", help="a stream (repeatable; default: all)")
    parser.add_argument("--method", action="append", choices=METHODS, help="(repeatable)")
    parser.add_argument("--asked", default="0.02,0.05,0.1", help="gaps that are asked for")
    parser.add_argument("--at", type=float, default=0.05, help="of the first method")
    parser.add_argument("--seeds", default="0-4")
    parser.add_argument("--tune", type=int, default=12, help="settings tried; 0: those by default")
    parser.add_argument("--tune-seeds", default="100-104")
    parser.add_argument("--jobs", type=int, help="processes at a time (default: one a core)")
    parser.add_argument("--backend", choices=("ray", "dask"))
    parser.add_argument("--out", type=Path, default=Path("everything"))
    parser.add_argument("--small", action="store_true", help="a few rounds")
    arguments = parser.parse_args()
    configure(devices=1)
    asked = sorted({arguments.at, *map(float, arguments.asked.split(","))})
    methods = arguments.method or list(METHODS)
    choose = (
        chosen_by_search(
            arguments.tune,
            arguments.out,
            seeds=parse_seeds(arguments.tune_seeds),
            backend=arguments.backend,
        )
        if arguments.tune
        else None
    )
    cells = plan_on_tables(
        arguments.data or list(DATASETS),
        {},
        {},
        methods=variants(methods, asked),
        seeds=parse_seeds(arguments.seeds),
        settings=SMALL if arguments.small else {},
        choose=choose,
    )
    compared = compare_methods(
        cells,
        arguments.out,
        jobs=arguments.jobs,
        backend=arguments.backend,
        command=shlex.join(["python", *sys.argv]),
    )
    first = next(v for v in variants(methods, [arguments.at]) if v.method == methods[0])
    equal = pd.DataFrame(compared.document["equal_fairness"])
    print("\n".join(lines(compared.summary, equal, first)))
    print(
        f"\npicture: {arguments.out / 'comparison.svg'}; all tables: {arguments.out / 'summary.md'}"
    )


if __name__ == "__main__":
    main()
