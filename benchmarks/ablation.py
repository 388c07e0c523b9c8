"""What each part of FFML contributes, and what `evened` does for other methods: a Markdown table.

    python benchmarks/ablation.py adult crime --seeds 0-99
    python benchmarks/ablation.py "loans.csv label=approved sensitive=sex task=month"

A stream is a data set, or a table with the roles of its columns. Each line of a table is a recipe:
first the paper's algorithm with the step sizes of the package's default, then one part more at a
time. Numbers are of the last third of a stream; gaps are in percentage points. What is finished is
kept in --out, and a stopped study goes on where it was.
"""

import argparse
from pathlib import Path
from typing import Any

from streams import named

from ffml.cli.values import parse_seeds
from ffml.recipe.sources import is_table
from ffml.runtime import configure
from ffml.studies.compare import (
    Store,
    Variant,
    check_cells,
    markdown_tables,
    plan,
    run_cells,
    summarise_results,
)
from ffml.tables import open_table

COLUMNS = {
    "long-run gap": "long_run_gap",
    "typical gap": "typical_gap",
    "balanced accuracy": "balanced_accuracy",
    "positive decisions": "selected",
}
# What the default has and the paper does not, so that it can be added again part by part.
PAPER: dict[str, Any] = {
    "optimizer": "sgd",
    "outer": "mean-over-tasks",
    "inner.shrinkage": 0.0,
    "wrappers": (),
}


def without(*parts: str, **more: Any) -> dict[str, Any]:
    """Return the settings of the default without some of its parts."""
    return {name: PAPER[name] for name in parts} | more


RECIPES = (
    Variant("the paper's algorithm", "ffml", PAPER),
    Variant("+ Adam", "ffml", without("outer", "inner.shrinkage", "wrappers")),
    Variant("+ pooled", "ffml", without("inner.shrinkage", "wrappers")),
    Variant("+ shrinkage", "ffml", without("wrappers")),
    Variant("+ corrected (the default)", "ffml"),
    Variant("default + outer.penalty=5", "ffml", {"outer.penalty": 5.0}),
    Variant("default + evened", "ffml", {"wrappers": ("corrected", "evened")}),
    *(
        variant
        for method in ("m-ftml", "ogdlc", "refit")
        for variant in (
            Variant(method, method),
            Variant(f"{method} + evened", method, {"wrappers": ("evened",)}),
        )
    ),
)
# To see that it runs: all recipes are built, and the quickest are run.
QUICK = ("ogdlc + evened", "refit + evened")
SMALL = {"rounds": 6, "num_outer_steps": 2, "inner.num_steps": 1, "num_steps": 2, "shots": 10}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("streams", nargs="*", default=["synthetic"])
    parser.add_argument("--seeds", default="0-4")
    parser.add_argument("--jobs", type=int, help="processes at a time (default: one a core)")
    parser.add_argument("--out", type=Path, default=Path("ablation"))
    parser.add_argument("--small", action="store_true", help="a few rounds of two recipes")
    arguments = parser.parse_args()
    configure(devices=1)
    found = [named(text) for text in arguments.streams]
    cells = plan(
        [stream.data for stream in found],
        RECIPES,
        seeds=parse_seeds(arguments.seeds),
        settings=SMALL if arguments.small else {},
        data_options={stream.data: stream.options for stream in found},
        fingerprints={s.data: open_table(s.data).fingerprint() for s in found if is_table(s.data)},
    )
    check_cells(cells)
    if arguments.small:
        cells = [cell for cell in cells if cell.label in QUICK]
    store = Store(arguments.out / "cells")
    run_cells(cells, store, workers=arguments.jobs)
    print(markdown_tables(summarise_results(store.load(cells)), COLUMNS), end="")


if __name__ == "__main__":
    main()
