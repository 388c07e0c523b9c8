"""Quality against time: what more seconds buy with the default recipe, the paper's and fairlearn's.

    python benchmarks/quality_vs_time.py bank --seeds 0-2 --figure docs/quality_vs_time.svg

Each line of the table is a recipe with more or less effort: how often and how finely the default
fits boosting, how many outer iterations a round of the paper's FFML has, how many iterations
fairlearn's reduction may take. Numbers are of the last third of the stream, in which alone
decisions are made; gaps in percentage points. Seconds are processor time on one core for the whole
stream, the compiler's included, so that other work on the machine does not count. What is
finished is kept in --out, and a stopped benchmark goes on where it was.
"""

import argparse
import json
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from asked import played
from promise import measured
from streams import Named, named

from ffml.cli.values import parse_seeds
from ffml.recipe.config import configure_run
from ffml.runtime import configure
from ffml.studies.drawing import figure_style, picture_bytes

ASKED = 0.05
DEFAULT, PAPER, FAIRLEARN = "default recipe", "FFML, the paper's setting", "fairlearn, refitted"
LOOKS = {DEFAULT: ("#d55e00", "*"), PAPER: ("#0072b2", "o"), FAIRLEARN: ("#5b5f66", "s")}


class Effort(NamedTuple):
    """A recipe with more or less effort."""

    recipe: str
    effort: str  # in words
    settings: dict[str, Any]
    trees: int | None = None  # of boosting, with steps that are smaller in proportion


def efforts(small: bool) -> list[Effort]:
    """List what is measured, each recipe from little effort to much."""
    fairlearn = {"method": "fairlearn-dp", "difference_bound": ASKED / 2, "rows_per_task": 4096}
    few = [
        Effort(DEFAULT, "as it is", {}),
        Effort(PAPER, "2 iterations", {"preset": "paper", "num_outer_steps": 2}),
        Effort(FAIRLEARN, "1 iteration", fairlearn | {"max_iter": 1}),
    ]
    if small:
        return few
    return [
        Effort(DEFAULT, "without boosting", {"wrappers": ("evened",)}),
        Effort(DEFAULT, "as it is", {}),
        Effort(DEFAULT, "boosting fitted anew at 2 % more rows", {"boosted.growth": 1.02}),
        Effort(DEFAULT, "ten times as many trees", {}, trees=600),
        *(
            Effort(PAPER, f"{steps} iterations", {"preset": "paper", "num_outer_steps": steps})
            for steps in (3, 10, 30)
        ),
        *(
            Effort(FAIRLEARN, f"{steps} iterations", fairlearn | {"max_iter": steps})
            for steps in (5, 15, 50)
        ),
    ]


class Cell(NamedTuple):
    """One run."""

    stream: Named
    effort: Effort
    seed: int
    small: bool

    def file(self, folder: Path) -> Path:
        """Return where the result is kept."""
        words = (self.stream.name, self.effort.recipe, self.effort.effort, str(self.seed))
        name = "-".join("".join(c if c.isalnum() else "_" for c in word) for word in words)
        return folder / f"{name}.json"


def compute(cell: Cell, folder: str) -> None:
    """Run one cell and keep what its last third shows."""
    configure(devices=1, cache=False)
    if cell.effort.trees:
        _more_trees(cell.effort.trees)
    start = time.process_time()
    given = dict(cell.effort.settings)
    preset = given.pop("preset", "default")
    given |= {"seed": cell.seed, "judge_from": 2 / 3, "data_options": cell.stream.options}
    given |= {"max_gap": (ASKED,)} if preset == "default" else {}
    given |= {"rounds": 6, "shots": 10} if cell.small else {}
    result = played(configure_run(cell.stream.data, given, preset, "balanced"))
    result["seconds"] = time.process_time() - start
    cell.file(Path(folder)).write_text(json.dumps(result), encoding="utf-8")


def _more_trees(count: int) -> None:
    """Let boosting fit so many trees, with steps that are smaller in proportion."""
    from ffml.features import forest

    forest.LEARNING_RATE *= forest.FITTED_TREES / count
    forest.FITTED_TREES = count


def draw(shown: list[tuple[Effort, dict[str, float]]], path: Path) -> None:
    """Draw accuracy and gaps against seconds, a line a recipe."""
    from matplotlib.figure import Figure

    panels = {
        "balanced accuracy": lambda mean: mean["balanced"],
        "typical gap, points": lambda mean: 100 * mean["typical"],
        "long-run gap, points": lambda mean: 100 * mean["long"],
    }
    with figure_style():
        figure = Figure(figsize=(11, 4), layout="constrained")
        for axes, (name, value) in zip(figure.subplots(1, 3), panels.items(), strict=True):
            for recipe, (colour, marker) in LOOKS.items():
                points = [(m["seconds"], value(m)) for e, m in shown if e.recipe == recipe]
                seconds, values = zip(*points, strict=True)
                axes.plot(seconds, values, color=colour, marker=marker, ms=6, label=recipe)
            if "gap" in name:
                axes.axhline(100 * ASKED, color="#9a9a9a", lw=1, ls=(0, (4, 3)))
                axes.set_ylim(bottom=0)
            axes.set(xscale="log", xlabel="seconds for the whole stream, one core", ylabel=name)
        handles, labels = axes.get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=3)
        path.write_bytes(picture_bytes(figure)[path.suffix[1:]])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("stream", nargs="?", default="synthetic")
    parser.add_argument("--seeds", default="0-2")
    parser.add_argument("--jobs", type=int, default=1, help="processes at a time")
    parser.add_argument("--out", type=Path, default=Path("quality_vs_time"))
    parser.add_argument("--figure", type=Path, help="where to draw it, .svg or .png")
    parser.add_argument("--small", action="store_true", help="a few rounds of little effort")
    arguments = parser.parse_args()
    stream, chosen = named(arguments.stream), efforts(arguments.small)
    arguments.out.mkdir(parents=True, exist_ok=True)
    seeds = parse_seeds(arguments.seeds)
    cells = [Cell(stream, effort, seed, arguments.small) for effort in chosen for seed in seeds]
    missing = [cell for cell in cells if not cell.file(arguments.out).exists()]
    # A new process for each, so that none finds what another has compiled.
    context = get_context("spawn")
    with ProcessPoolExecutor(arguments.jobs, context, max_tasks_per_child=1) as pool:
        list(pool.map(compute, missing, [str(arguments.out)] * len(missing)))
    print(f"**{stream.name}**, seeds {arguments.seeds}, at most {100 * ASKED:g} points asked\n")
    print("| recipe | effort | seconds | balanced accuracy | typical gap | long-run gap |")
    print("| --- | --- | ---: | ---: | ---: | ---: |")
    shown = []
    for effort in chosen:
        files = [cell.file(arguments.out) for cell in cells if cell.effort == effort]
        runs = [measured(json.loads(f.read_text()), "demographic-parity", ASKED) for f in files]
        mean = {name: float(np.mean([run[name] for run in runs])) for name in runs[0]}
        shown.append((effort, mean))
        print(
            f"| {effort.recipe} | {effort.effort} | {mean['seconds']:.1f} "
            f"| {mean['balanced']:.3f} | {100 * mean['typical']:.1f} | {100 * mean['long']:.1f} |"
        )
    if arguments.figure:
        draw(shown, arguments.figure)


if __name__ == "__main__":
    main()
