"""All methods on all streams, with equal budgets, at the same typical gap.

    python benchmarks/everything.py --seeds 0-4 --tune 12 --out everything
    python benchmarks/everything.py adult "loans: loans.csv label=paid sensitive=sex task=month"
    python benchmarks/everything.py --backend ray          # on a cluster

Every method that can be asked for a gap is run for each of --asked, and what it got makes a curve
of balanced accuracy against the typical gap. The default's parts go around other methods too, so
that what they do is not credited to its core: "with the default's parts" is `evened` and `boosted`
around FFML's steps, and "boosting refit, post-processed" is LinearPost. For each method and stream,
the settings are the best of --tune draws, asked for --at, on other seeds and other rounds. The
table has the balanced accuracy of the first method where it is asked for --at, and how far another
one's curve is from it at the same typical gap, seed by seed, with the 95 % interval over seeds.
Where a method is less even, or more even, with all that it was asked for, the nearest gap that it
got is named: "+0.288 at 24.9" was not as even. Methods that cannot be asked for a gap have what
they got.

In --out are also all that `ffml compare` writes, with the picture of all curves. What is finished
is kept there, and the same command goes on with the rest.
"""

import argparse
import math
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd
from streams import named

from ffml.cli.values import parse_seeds
from ffml.datasets import DATASETS
from ffml.methods import METHODS
from ffml.recipe.sources import is_table
from ffml.runtime import configure
from ffml.studies.budget import chosen_by_search
from ffml.studies.compare import (
    Choose,
    Store,
    Variant,
    at_equal_fairness,
    compare_methods,
    draw_comparison,
    plan,
)
from ffml.tables import open_table

UNCONSTRAINED = ("m-ftml", "refit")  # they cannot be asked for a gap
PARTS = ("evened", "boosted")
TOGETHER = {  # methods with parts that are the default's
    "m-ftml with the default's parts": ("m-ftml", {"wrappers": PARTS}),
    "boosting refit, post-processed": (
        "refit",
        {"classifier": "boosting", "wrappers": PARTS, "evened.memory": None}
        | {"shots": None, "rows_per_task": 4096, "tasks_per_round": 64},
    ),
    "fairlearn over boosting": ("fairlearn-dp", {"classifier": "boosting", "max_iter": 10}),
}
SMALL = {"rounds": 6, "shots": 10}


def variants(methods: list[str], asked: list[float]) -> list[Variant]:
    """Return each method once for each gap that it is asked for."""
    recipes: dict[str, Any] = {name: (name, {}) for name in methods} | TOGETHER
    return [
        Variant(
            f"{name}, {100 * gap:g} asked", recipes[name][0], recipes[name][1] | {"max_gap": (gap,)}
        )
        for name in methods
        if name not in UNCONSTRAINED
        for gap in asked
    ] + [Variant(name, name) for name in methods if name in UNCONSTRAINED]


def recipe_of(label: str) -> str:
    """Return a label without the gap that is asked for.

    >>> recipe_of("ffml, 5 asked"), recipe_of("refit")
    ('ffml', 'refit')
    """
    return label.rpartition(", ")[0] if label.endswith(" asked") else label


def searched_once(choose: Choose, at: float) -> Choose:
    """Choose the settings of a method where it is asked for one gap, and keep them for others."""

    def chosen(data: str, label: str, given: Mapping[str, Any], preset: str) -> Mapping[str, Any]:
        asked = {"max_gap": (at,)} if "max_gap" in given else {}
        return choose(data, recipe_of(label), {**given, **asked}, preset)

    return chosen


def lines(summary: pd.DataFrame, equal: pd.DataFrame, first: str) -> list[str]:
    """Write a line for each method, and a column for each stream."""
    streams = list(dict.fromkeys(summary["data"]))
    values = summary.set_index(["data", "label", "metric"])["mean"].sort_index()

    def got(data: str, label: str) -> str:
        accuracy = values[data, label, "balanced_accuracy"]
        return f"{accuracy:.3f} at {100 * values[data, label, 'typical_gap']:.1f}"

    def difference(data: str, method: str) -> str:
        """Write how much more accurate a method is, and where, if not at the same gap."""
        row = rows.get((method, data))
        if row is None or math.isnan(row["difference"]):
            return "–"
        ends = "" if math.isnan(row["low"]) else f" ({-row['high']:+.3f} to {-row['low']:+.3f})"
        labels = {label for at, label, _ in values.index if at == data}
        gaps = [values[data, n, "typical_gap"] for n in labels if n.startswith(f"{method}, ")]
        nearest = {"less fair": min, "fairer": max}.get(row["curve"])
        where = f" at {100 * nearest(gaps):.1f}" if nearest else ""
        return f"{-row['difference']:+.3f}{ends}{where}"

    own = equal[equal["label"] == first].to_dict("records")
    rows = {(row["other"], row["data"]): row for row in own}
    others = list(dict.fromkeys(method for method, _ in rows))
    single = [label for label in dict.fromkeys(summary["label"]) if label in UNCONSTRAINED]
    table = [
        ["method", *(Path(name).name.split(".")[0] for name in streams)],
        ["---", *["---:"] * len(streams)],
    ]
    table += [[name, *(got(data, name) for data in streams)] for name in (first, *single)]
    table += [[name, *(difference(data, name) for data in streams)] for name in others]
    return [f"| {' | '.join(cells)} |" for cells in table]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("streams", nargs="*", help="(default: all data sets of the package)")
    parser.add_argument(
        "--method", action="append", choices=(*METHODS, *TOGETHER), help="(repeatable)"
    )
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
    methods = arguments.method or [*METHODS, *TOGETHER]
    streams = {found.data: found.options for found in map(named, arguments.streams or DATASETS)}
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
    cells = plan(
        list(streams),
        variants(methods, asked),
        data_options=streams,
        fingerprints={name: open_table(name).fingerprint() for name in streams if is_table(name)},
        seeds=parse_seeds(arguments.seeds),
        settings=SMALL if arguments.small else {},
        choose=searched_once(choose, arguments.at) if choose else None,
    )
    compared = compare_methods(
        cells,
        arguments.out,
        jobs=arguments.jobs,
        backend=arguments.backend,
        command=shlex.join(["python", *sys.argv]),
    )
    curves = {label: recipe_of(label) for label in compared.summary["label"]}
    frame = Store(arguments.out / "cells").load(cells)
    frame["method"] = frame["label"].map(curves)
    equal = at_equal_fairness(frame, methods[0])
    first = f"{methods[0]}, {100 * arguments.at:g} asked"
    print("\n".join(lines(compared.summary, equal, first)))
    picture = arguments.out / "everything.svg"
    picture.write_bytes(draw_comparison(compared.summary, curves)["svg"])
    print(f"\npicture: {picture}; all tables: {arguments.out / 'summary.md'}")


if __name__ == "__main__":
    main()
