"""Runs of many streams, recipes, asked gaps and seeds; what is finished is kept in a folder."""

import argparse
import hashlib
import json
import time
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from once import learn_once
from optimizer import optimized
from streams import Named, named

from ffml.cli.values import parse_seeds
from ffml.metrics.summary import last_third
from ffml.online.loop import step
from ffml.recipe.build import build
from ffml.recipe.config import RunConfig, configure_run
from ffml.runtime import configure

LEAST_SHARE = 0.05  # of the judged people: smaller groups are not compared
OPTIMIZER = "ThresholdOptimizer over boosting, groups known"
_REFIT = {"shots": None, "rows_per_task": 4096, "tasks_per_round": 64}
RECIPES: dict[str, dict[str, Any]] = {
    "default": {},
    "default without the score of trees": {"score": 0.0},
    "default without boosting": {"wrappers": ("evened",)},
    "default without adaptation": {"trust": 0.0},
    "default without corrections": {"evened.memory": None},
    "default, groups known": {"decide_with_groups": True},
    "m-ftml, evened and boosted": {"method": "m-ftml", "wrappers": ("evened", "boosted")},
    "ffml, boosted": {"method": "ffml", "wrappers": ("corrected", "boosted")},
    "ffml, evened and boosted": {
        "method": "ffml",
        "wrappers": ("corrected", "evened", "boosted"),
    },
    "ffml": {"method": "ffml"},
    # Gradient boosting for labels and for groups, one multiplier: LinearPost (Xian & Zhao, 2024).
    "boosting refit, post-processed": _REFIT
    | {
        "method": "refit",
        "classifier": "boosting",
        "wrappers": ("evened", "boosted"),
        "evened.memory": None,
    },
    "fairlearn": _REFIT | {"method": "fairlearn-dp"},
    OPTIMIZER: {},
    "fairlearn over boosting": _REFIT
    | {"method": "fairlearn-dp", "classifier": "boosting", "max_iter": 20},
}


class Cell(NamedTuple):
    """One run: a stream, a recipe, a gap that is asked for, and a seed."""

    stream: Named
    recipe: str
    asked: float | None
    notion: str
    seed: int
    small: bool
    delay: int = 0

    def settings(self) -> dict[str, Any]:
        """Return the run's settings; fairlearn has a bound of its own."""
        given = dict(RECIPES[self.recipe]) | {"seed": self.seed, "notions": (self.notion,)}
        given["max_gap"] = None if self.asked is None else (self.asked,)
        if given.get("method") == "fairlearn-dp" and self.asked is not None:
            # fairlearn bounds each group's distance from everybody: half of a gap between two
            given["difference_bound"] = max(self.asked / 2, 0.001)
        given["judge_from"] = 2 / 3
        if self.delay:
            given["label_delay"] = self.delay
        return given | ({"rounds": 6, "shots": 10} if self.small else {})

    def file(self, folder: Path) -> Path:
        """Return where the result is kept."""
        own = [OPTIMIZER] * (self.recipe == OPTIMIZER)  # its settings are those of the default
        text = json.dumps([self.stream, self.settings(), *own], sort_keys=True, default=str)
        return folder / f"{self.stream.name}-{hashlib.sha256(text.encode()).hexdigest()[:16]}.json"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Say what the command line may name."""
    parser.add_argument("streams", nargs="*", default=["synthetic"])
    parser.add_argument("--recipe", action="append", choices=[*RECIPES, "all"], help="(repeatable)")
    parser.add_argument("--asked", default="none,0.01,0.02,0.05,0.1")
    parser.add_argument("--notion", default="demographic-parity")
    parser.add_argument("--seeds", default="0-4")
    parser.add_argument("--delays", default="0", help="labels come so many tasks later: 0,1,3,12")
    parser.add_argument("--jobs", type=int, default=2, help="processes at a time")
    parser.add_argument("--out", type=Path, default=Path("promise"))
    parser.add_argument("--small", action="store_true", help="a few rounds")


def results(arguments: argparse.Namespace) -> list[tuple[Cell, dict[str, Any]]]:
    """Run what is missing, and return what every run's last third shows."""
    recipes = arguments.recipe or ["default"]
    cells = [
        Cell(stream, recipe, None if gap == "none" else float(gap), notion, seed, small, int(delay))
        for notion, small in ((arguments.notion, arguments.small),)
        for stream in map(named, arguments.streams)
        for delay in arguments.delays.split(",")
        for recipe in (RECIPES if "all" in recipes else recipes)
        for seed in parse_seeds(arguments.seeds)
        for gap in arguments.asked.split(",")
    ]
    arguments.out.mkdir(parents=True, exist_ok=True)
    together: dict[Any, list[Cell]] = {}
    for cell in cells:
        if not cell.file(arguments.out).exists():
            together.setdefault((cell.stream.name, cell.delay, cell.recipe, cell.seed), []).append(
                cell
            )
    with ProcessPoolExecutor(arguments.jobs, mp_context=get_context("spawn")) as pool:
        list(pool.map(compute, together.values(), [str(arguments.out)] * len(together)))
    return [(cell, json.loads(cell.file(arguments.out).read_text())) for cell in cells]


def compute(cells: Iterable[Cell], folder: str) -> None:
    """Run cells that differ in the asked gap alone, and keep what their last thirds show."""
    configure(devices=1)
    learn_once()
    for cell in cells:
        start = time.process_time()
        given = cell.settings() | {"data_options": cell.stream.options}
        play = optimized if cell.recipe == OPTIMIZER else played
        result = play(configure_run(cell.stream.data, given, policy="balanced"))
        result["seconds"] = time.process_time() - start
        cell.file(Path(folder)).write_text(json.dumps(result), encoding="utf-8")


def played(config: RunConfig) -> dict[str, Any]:
    """Run a configuration, and return what its last third shows."""
    experiment = build(config)
    tasks = list(experiment.stream.tasks())[: config.rounds]
    state, records = experiment.state, []
    for task in tasks:
        state, record = step(experiment.loop, state, task)
        records.append(record)
    rounds = last_third(records)
    return {
        "tables": {
            column.name: np.stack([r.tables[column.name] for r in rounds]).tolist()
            for column in experiment.stream.schema.sensitive
        },
        "balanced_accuracy": [r.metrics["balanced_accuracy"] for r in rounds],
    }


def compared(result: dict[str, Any]) -> list[tuple[str, int, np.ndarray]]:
    """Return any two groups that are not too small: column, place among all pairs, tables."""
    found = []
    for name, table in result["tables"].items():
        counts = np.array(table)
        sizes = counts.sum((0, 2, 3)) / counts.sum()
        smaller = np.minimum(*(sizes[codes] for codes in np.triu_indices(len(sizes), 1)))
        found += [(name, i, counts) for i in np.flatnonzero(smaller >= LEAST_SHARE)]
    return found


def balanced_accuracy(result: dict[str, Any]) -> float:
    """Return the mean over rounds, each as much as it has judged people."""
    table = np.array(next(iter(result["tables"].values())))
    by_round = np.array(result["balanced_accuracy"], float)
    rows = table.sum((1, 2, 3)) * np.isfinite(by_round)
    return float(np.nan_to_num(by_round) @ rows / rows.sum())
