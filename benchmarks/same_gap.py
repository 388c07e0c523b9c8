"""Accuracy at the same gap: what each recipe gives where its decisions are equally far apart.

    python benchmarks/same_gap.py adult crime --seeds 0-4
    python benchmarks/same_gap.py adult --recipe default --recipe "fairlearn over boosting"

Each recipe is run for several asked gaps (runs are shared with benchmarks/promise.py). What it got,
pooled over the seeds, makes a curve of balanced accuracy against the typical gap, chance taken out.
Read off are the accuracies at some gaps, by straight lines between the points of a curve; a gap
that a recipe never came down to is "–", and one above all of its gaps has the accuracy of its
largest. Differences from the first recipe are paired by seed: ± is the standard error over
resampled seeds.
"""

import argparse
from typing import Any

import numpy as np
from asked import RECIPES, Cell, add_arguments, balanced_accuracy, compared, results

from ffml.metrics import round_gaps, typical_weights

RESAMPLES = 200
Runs = dict[str, dict[float | None, list[dict[str, Any]]]]  # recipe -> asked -> one a seed


def typical(runs: list[dict[str, Any]]) -> float:
    """Return the largest typical gap over all comparisons, of the rounds of all runs."""
    squares: dict[tuple[str, int], list[tuple[np.ndarray, np.ndarray]]] = {}
    for run in runs:
        for name, place, table in compared(run):
            gaps = round_gaps(table)
            squares.setdefault((name, place), []).append(
                (gaps.square[:, place], typical_weights(gaps.rows[:, place]))
            )
    means = []
    for parts in squares.values():
        square, weight = (np.concatenate(column) for column in zip(*parts, strict=True))
        known = np.isfinite(square)
        means.append(square[known] @ weight[known] / weight[known].sum())
    return float(np.sqrt(max(0.0, *means)))


def accuracy_at(gap: float, by_asked: dict[float | None, list[dict[str, Any]]]) -> float:
    """Return the balanced accuracy where a recipe's curve has this gap; NaN if it never has."""
    points = sorted(
        (typical(runs), float(np.mean([balanced_accuracy(run) for run in runs])))
        for runs in by_asked.values()
    )
    gaps, accuracies = np.array(points).T
    if gap < gaps[0]:
        return float("nan")
    return float(np.interp(gap, gaps, np.maximum.accumulate(accuracies)))


def resampled(runs: Runs, rng: np.random.Generator) -> Runs:
    """Draw seeds with replacement, the same ones for all recipes and asked gaps."""
    seeds = len(next(iter(next(iter(runs.values())).values())))
    drawn = rng.integers(seeds, size=seeds)
    return {
        recipe: {gap: [some[i] for i in drawn] for gap, some in by_asked.items()}
        for recipe, by_asked in runs.items()
    }


def by_recipe(found: list[tuple[Cell, dict[str, Any]]], stream: str) -> Runs:
    """Order the results of a stream by recipe and asked gap."""
    runs: Runs = {}
    for cell, result in found:
        if cell.stream.name == stream:
            runs.setdefault(cell.recipe, {}).setdefault(cell.asked, []).append(result)
    return runs


def lines(runs: Runs, gaps: list[float]) -> list[str]:
    """Return a line for each recipe."""
    draws = [resampled(runs, np.random.default_rng(i)) for i in range(RESAMPLES)]
    first = next(iter(runs))
    reference = {gap: [accuracy_at(gap, draw[first]) for draw in draws] for gap in gaps}
    shown = []
    for recipe, by_asked in runs.items():
        words = []
        for gap in gaps:
            there = accuracy_at(gap, by_asked)
            word = "–" if np.isnan(there) else f"{there:.3f}"
            difference = there - accuracy_at(gap, runs[first])
            if recipe != first and not np.isnan(difference):
                drawn = [accuracy_at(gap, draw[recipe]) for draw in draws]
                error = np.nanstd(np.array(drawn) - np.array(reference[gap]))
                word += f" ({difference:+.3f} ± {error:.3f})"
            words.append(word)
        seconds = np.mean([run["seconds"] for some in by_asked.values() for run in some])
        lowest = min(typical(some) for some in by_asked.values())
        shown.append(f"| {recipe} | {' | '.join(words)} | {100 * lowest:.1f} | {seconds:.0f} |")
    return shown


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    add_arguments(parser)
    parser.add_argument("--gaps", default="0.02,0.05,0.1", help="where to compare accuracies")
    arguments = parser.parse_args()
    arguments.recipe = arguments.recipe or list(RECIPES)
    gaps = [float(gap) for gap in arguments.gaps.split(",")]
    found = results(arguments)
    for stream in dict.fromkeys(cell.stream.name for cell, _ in found):
        at = " | ".join(f"at {100 * gap:g}" for gap in gaps)
        print(f"\n**{stream}** (seeds {arguments.seeds})\n\n| recipe | {at} | smallest gap | s |")
        print("| --- |" + " ---: |" * (len(gaps) + 2))
        print("\n".join(lines(by_recipe(found, stream), gaps)))


if __name__ == "__main__":
    main()
