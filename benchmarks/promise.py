"""Asked against got: what each recipe leaves of the gap that was asked for, and at what accuracy.

    python benchmarks/promise.py adult crime --seeds 0-9
    python benchmarks/promise.py "loans: loans.csv label=approved sensitive=sex task=month"

For every stream, recipe and asked gap it prints, over the last third of the stream: the long-run
and the typical gap of decisions in percentage points (the comparison with the largest typical gap,
among groups of 5 % or more of the judged people), with the mean ends of the 90 % intervals of each
seed; balanced accuracy and accuracy; the share of positive decisions beside that of the labels.
"kept" counts
the seeds in which both gaps are within what was asked plus 1 point (long run) and 2 points
(typical), or an interval that holds what was asked. Finished runs are kept in --out.
"""

import argparse
import hashlib
import json
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from streams import Named, named

from ffml.cli.values import parse_seeds
from ffml.experiment.build import build
from ffml.experiment.config import configure_run
from ffml.online.metrics import gap_statistics
from ffml.online.summary import last_third
from ffml.runtime import configure

LEAST_SHARE = 0.05  # of the judged people: smaller groups are not compared here
RECIPES: dict[str, dict[str, Any]] = {
    "default": {},
    "default without boosting": {"wrappers": ("evened",)},
    "default without adaptation": {"trust": 0.0},
    "m-ftml, evened and boosted": {"method": "m-ftml", "wrappers": ("evened", "boosted")},
    "ffml, evened and boosted": {
        "method": "ffml",
        "wrappers": ("corrected", "evened", "boosted"),
    },
    "ffml": {"method": "ffml"},
    "boosting refit, evened": {
        "method": "refit",
        "classifier": "boosting",
        "wrappers": ("evened",),
        "rows_per_task": 4096,
    },
    "fairlearn": {"method": "fairlearn-dp", "rows_per_task": 4096},
    "fairlearn over boosting": {
        "method": "fairlearn-dp",
        "classifier": "boosting",
        "rows_per_task": 4096,
        "max_iter": 10,
    },
}


class Cell(NamedTuple):
    """One run: a stream, a recipe, a gap that is asked for, and a seed."""

    stream: Named
    recipe: str
    asked: float | None
    notion: str
    seed: int
    small: bool

    def settings(self) -> dict[str, Any]:
        """Return the run's settings; fairlearn has a bound of its own."""
        given = dict(RECIPES[self.recipe]) | {"seed": self.seed, "notions": (self.notion,)}
        given["max_gap"] = None if self.asked is None else (self.asked,)
        if given.get("method") == "fairlearn-dp" and self.asked is not None:
            # fairlearn bounds each group's distance from everybody: half of a gap between two
            given["difference_bound"] = max(self.asked / 2, 0.001)
        given["judge_from"] = 2 / 3
        return given | ({"rounds": 6, "shots": 10} if self.small else {})

    def file(self, folder: Path) -> Path:
        """Return where the result is kept."""
        text = json.dumps([self.stream, self.settings()], sort_keys=True, default=str)
        return folder / f"{self.stream.name}-{hashlib.sha256(text.encode()).hexdigest()[:16]}.json"


def compute(cell: Cell, folder: str) -> None:
    """Run one cell and keep what its last third shows."""
    configure(devices=1)
    start = time.perf_counter()
    given = cell.settings() | {"data_options": cell.stream.options}
    experiment = build(configure_run(cell.stream.data, given))
    limit = experiment.config.rounds
    tasks = (task for i, task in enumerate(experiment.stream.tasks()) if limit is None or i < limit)
    rounds = last_third([experiment.loop.step(task) for task in tasks])
    tables = {
        column.name: np.stack([r.tables[column.name] for r in rounds]).tolist()
        for column in experiment.stream.schema.sensitive
    }
    result = {
        "tables": tables,
        "balanced_accuracy": [r.metrics["balanced_accuracy"] for r in rounds],
        "seconds": time.perf_counter() - start,
    }
    cell.file(Path(folder)).write_text(json.dumps(result), encoding="utf-8")


def measured(result: dict[str, Any], notion: str, asked: float | None) -> dict[str, float]:
    """Return the figures of one run."""
    tables = {name: np.array(table) for name, table in result["tables"].items()}
    found = []
    for table in tables.values():
        sizes = table.sum((0, 2, 3)) / table.sum()
        shown = sizes[1:] if len(sizes) == 2 else sizes
        statistics = gap_statistics(table, notion=notion, level=0.9)
        large = np.tile(shown >= LEAST_SHARE, len(statistics) // len(shown))
        found += [s for s, counts in zip(statistics, large, strict=True) if counts]
    worst = max(found, key=lambda s: np.nan_to_num([s.typical, abs(s.long_run)]).tolist())
    side = -1.0 if worst.long_run < 0 else 1.0
    low, high = sorted((side * worst.long_run_low, side * worst.long_run_high))
    table = next(iter(tables.values()))
    by_round = np.array(result["balanced_accuracy"], float)
    rows = table.sum((1, 2, 3)) * np.isfinite(by_round)
    wanted = 1.0 if asked is None else asked
    long_kept = side * worst.long_run <= wanted + 0.01 or low <= wanted
    typical_kept = worst.typical <= wanted + 0.02 or worst.typical_low <= wanted
    return {
        "long": side * worst.long_run,
        "long_low": low,
        "long_high": high,
        "typical": worst.typical,
        "typical_low": worst.typical_low,
        "typical_high": worst.typical_high,
        "balanced": float(np.nan_to_num(by_round) @ rows / rows.sum()),
        "accuracy": float((table[..., 0, 0].sum() + table[..., 1, 1].sum()) / table.sum()),
        "positive": float(table[..., 1].sum() / table.sum()),
        "labels": float(table[..., 1, :].sum() / table.sum()),
        "kept": float(long_kept and typical_kept),
        "seconds": result["seconds"],
    }


HEAD = (
    "| recipe | asked | long-run gap | typical gap | balanced accuracy | accuracy | "
    "positive: decisions / labels | kept | s |\n"
    "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"
)


def line(recipe: str, asked: float | None, runs: list[dict[str, float]]) -> str:
    """Return one line of a table: means over seeds."""
    mean = {name: float(np.mean([run[name] for run in runs])) for name in runs[0]}
    error = float(np.std([run["balanced"] for run in runs]) / max(len(runs) - 1, 1) ** 0.5)
    points = {n: f"{100 * mean[n]:.1f}" for n in mean}
    kept = "–" if asked is None else f"{sum(run['kept'] for run in runs):.0f}/{len(runs)}"
    return (
        f"| {recipe} | {'none' if asked is None else f'{100 * asked:g}'} "
        f"| {points['long']} ({points['long_low']} to {points['long_high']}) "
        f"| {points['typical']} ({points['typical_low']} to {points['typical_high']}) "
        f"| {mean['balanced']:.3f} ± {error:.3f} | {mean['accuracy']:.3f} "
        f"| {points['positive']} / {points['labels']} | {kept} | {mean['seconds']:.0f} |"
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
    parser.add_argument("streams", nargs="*", default=["synthetic"])
    parser.add_argument("--recipe", action="append", choices=[*RECIPES, "all"], help="(repeatable)")
    parser.add_argument("--asked", default="none,0.01,0.02,0.05,0.1")
    parser.add_argument("--notion", default="demographic-parity")
    parser.add_argument("--seeds", default="0-4")
    parser.add_argument("--jobs", type=int, default=2, help="processes at a time")
    parser.add_argument("--out", type=Path, default=Path("promise"))
    parser.add_argument("--figure", type=Path, help="where to draw it, .svg or .png")
    parser.add_argument("--small", action="store_true", help="a few rounds")
    arguments = parser.parse_args()
    recipes = arguments.recipe or ["default"]
    recipes = list(RECIPES) if "all" in recipes else recipes
    asked = [None if a == "none" else float(a) for a in arguments.asked.split(",")]
    arguments.out.mkdir(parents=True, exist_ok=True)
    cells = [
        Cell(stream, recipe, gap, arguments.notion, seed, arguments.small)
        for stream in map(named, arguments.streams)
        for recipe in recipes
        for gap in asked
        for seed in parse_seeds(arguments.seeds)
    ]
    missing = [cell for cell in cells if not cell.file(arguments.out).exists()]
    with ProcessPoolExecutor(arguments.jobs, mp_context=get_context("spawn")) as pool:
        list(pool.map(compute, missing, [str(arguments.out)] * len(missing)))
    shown: dict[tuple[str, str], list[tuple[float, dict[str, float]]]] = {}
    for stream in dict.fromkeys(cell.stream.name for cell in cells):
        print(f"\n**{stream}** ({arguments.notion}, seeds {arguments.seeds})\n\n{HEAD}")
        for recipe in recipes:
            for gap in asked:
                runs = [
                    measured(json.loads(cell.file(arguments.out).read_text()), cell.notion, gap)
                    for cell in cells
                    if (cell.stream.name, cell.recipe, cell.asked) == (stream, recipe, gap)
                ]
                print(line(recipe, gap, runs))
                if gap is not None:
                    mean = {name: float(np.mean([run[name] for run in runs])) for name in runs[0]}
                    shown.setdefault((stream, recipe), []).append((gap, mean))
    if arguments.figure and shown:
        draw(shown, arguments.figure)


if __name__ == "__main__":
    main()
