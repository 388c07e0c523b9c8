"""Asked against got: what each recipe leaves of the gap that was asked for, and at what accuracy.

    python benchmarks/promise.py adult crime --seeds 0-9
    python benchmarks/promise.py "loans: loans.csv label=approved sensitive=sex task=month"

For every stream, recipe and asked gap it prints, over the last third of the stream, in percentage
points: the gap of everybody decided, pooled; the long-run and the typical gap (the two groups of
the largest typical gap, among groups of 5 % or more of the judged people); "over seeds", the mean
of the signed long-run gaps of all seeds and its standard error (of the two groups in which it is
largest), in which chance cancels and a bias does not; balanced accuracy and accuracy; the share of
positive decisions beside that of the labels. "within" counts the seeds in which the long-run gap is
at most what was asked plus 1 point; "s" is processor seconds. With --delays 0,1,3,12 labels come so
many tasks after the decision. Finished runs are kept in --out.
"""

import argparse
from pathlib import Path
from typing import Any

import numpy as np
from asked import add_arguments, balanced_accuracy, compared, results

from ffml.metrics import GapStatistics, gap_statistics


def comparisons(result: dict[str, Any], notion: str) -> dict[tuple[str, int], GapStatistics]:
    """Return what a run shows of any two groups that are not too small."""
    found = {}
    for column, first, table in compared(result):
        statistics = gap_statistics(table, notion=notion)
        pairs = len(table[0]) * (len(table[0]) - 1) // 2
        for place in range(first, len(statistics), pairs):
            found[column, place] = statistics[place]
    return found


def over_seeds(runs: list[dict[str, Any]], notion: str) -> str:
    """Return the signed long-run gap over all seeds, of the comparison in which it is largest."""
    gaps: dict[tuple[str, int], list[float]] = {}
    for run in runs:
        for place, found in comparisons(run, notion).items():
            gaps.setdefault(place, []).append(100 * found.long_run)
    worst = max(gaps.values(), key=lambda some: abs(np.mean(some)))
    if len(worst) < 2:
        return f"{worst[0]:+.1f}"
    return f"{np.mean(worst):+.1f} ± {np.std(worst, ddof=1) / len(worst) ** 0.5:.1f}"


def measured(result: dict[str, Any], notion: str, asked: float | None) -> dict[str, float]:
    """Return the figures of one run."""
    found = comparisons(result, notion).values()
    worst = max(found, key=lambda s: np.nan_to_num([s.typical, abs(s.long_run)]).tolist())
    table = np.array(next(iter(result["tables"].values())))
    wanted = 1.0 if asked is None else asked
    return {
        "pooled": max(abs(s.pooled) for s in found),
        "long": abs(worst.long_run),
        "typical": worst.typical,
        "balanced": balanced_accuracy(result),
        "accuracy": float((table[..., 0, 0].sum() + table[..., 1, 1].sum()) / table.sum()),
        "positive": float(table[..., 1].sum() / table.sum()),
        "labels": float(table[..., 1, :].sum() / table.sum()),
        "within": float(abs(worst.long_run) <= wanted + 0.01),
        "seconds": result["seconds"],
    }


HEAD = (
    "| recipe | asked | pooled gap | long-run gap | over seeds | typical gap | balanced accuracy | "
    "accuracy | positive: decisions / labels | within | s |\n"
    "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"
)


def line(recipe: str, asked: float | None, runs: list[dict[str, float]], signed: str) -> str:
    """Return one line of a table: means over seeds."""
    mean = {name: float(np.mean([run[name] for run in runs])) for name in runs[0]}
    error = float(np.std([run["balanced"] for run in runs]) / max(len(runs) - 1, 1) ** 0.5)
    points = {n: f"{100 * mean[n]:.1f}" for n in mean}
    within = "–" if asked is None else f"{sum(run['within'] for run in runs):.0f}/{len(runs)}"
    return (
        f"| {recipe} | {'none' if asked is None else f'{100 * asked:g}'} | {points['pooled']} "
        f"| {points['long']} | {signed} | {points['typical']} "
        f"| {mean['balanced']:.3f} ± {error:.3f} | {mean['accuracy']:.3f} "
        f"| {points['positive']} / {points['labels']} | {within} | {mean['seconds']:.0f} |"
    )


def draw(shown: dict[tuple[str, str], list[tuple[float, dict[str, float]]]], path: Path) -> None:
    """Draw what came about, and at what accuracy, against what was asked for."""
    import matplotlib.pyplot as plt

    figure, (gaps, accuracy) = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
    for (stream, recipe), points in shown.items():
        asked = [100 * gap for gap, _ in points]
        label = stream if recipe == "default" else f"{stream}, {recipe}"
        (line,) = gaps.plot(asked, [100 * mean["long"] for _, mean in points], "o-", ms=3)
        balanced = [mean["balanced"] for _, mean in points]
        accuracy.plot(asked, balanced, "o-", ms=3, color=line.get_color(), label=label)
    ends = [0, max(100 * gap for points in shown.values() for gap, _ in points)]
    gaps.plot(ends, ends, color="0.6", lw=1, ls="--")
    gaps.set(xlabel="asked: at most so many points", ylabel="long-run gap got, in points")
    accuracy.set(xlabel="asked: at most so many points", ylabel="balanced accuracy")
    figure.legend(loc="outside right center", fontsize=8, frameon=False)
    figure.savefig(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    add_arguments(parser)
    parser.add_argument("--figure", type=Path, help="where to draw it, .svg or .png")
    arguments = parser.parse_args()
    found = results(arguments)
    shown: dict[tuple[str, str], list[tuple[float, dict[str, float]]]] = {}
    for stream, delay in dict.fromkeys((cell.stream.name, cell.delay) for cell, _ in found):
        late = f", labels {delay} tasks later" * (delay > 0)
        print(f"\n**{stream}** ({arguments.notion}, seeds {arguments.seeds}{late})\n\n{HEAD}")
        here = [(c, result) for c, result in found if (c.stream.name, c.delay) == (stream, delay)]
        for recipe, gap in dict.fromkeys((cell.recipe, cell.asked) for cell, _ in here):
            these = [result for cell, result in here if (cell.recipe, cell.asked) == (recipe, gap)]
            runs = [measured(result, arguments.notion, gap) for result in these]
            print(line(recipe, gap, runs, over_seeds(these, arguments.notion)))
            if gap is not None:
                mean = {name: float(np.mean([run[name] for run in runs])) for name in runs[0]}
                shown.setdefault((stream + late, recipe), []).append((gap, mean))
    if arguments.figure and shown:
        draw(shown, arguments.figure)


if __name__ == "__main__":
    main()
