"""Whether a round costs more the longer a stream gets: time, memory, checkpoints, programs.

    python benchmarks/flat.py --rounds 10000 --out flat.svg

Every recipe plays a generated stream in a process of its own, with checkpoints after every round as
`ffml run` writes them. ``refit`` fits everything seen anew for each decision: its cost grows, so
that it plays --refit-rounds only. Times are of the processor, means over the 100 rounds up to the
one named, so that a busy machine and a fit that comes now and then do not deceive.
"""

import argparse
import json
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import jax
import numpy as np

from ffml.recipe.build import build
from ffml.recipe.config import configure_run
from ffml.recipe.sources import find_data
from ffml.runs.starting import start
from ffml.runtime import configure

WINDOW = 100  # rounds whose mean is shown
RECIPES: dict[str, dict[str, Any]] = {
    "default": {},
    "ffml": {"method": "ffml"},
    "refit": {"method": "refit"},
}
STREAM = {"rows_per_task": 100, "num_features": 10, "drift": 0.01, "proxy": 1.0}
SHOTS = 20  # of each label, of the 50 rows that support a decision


def resident_bytes() -> int:
    """Return the memory that the process has now."""
    words = Path("/proc/self/statm").read_text().split()
    return int(words[1]) * 4096


def state_bytes(store: Any) -> tuple[int, int]:
    """Return the size of the newest state in the ledger, and of the memory's tasks."""
    newest = store.version()
    return len(newest.state), sum(map(len, newest.blobs.values()))


def play(recipe: str, rounds: int, window: int, file: Path) -> None:
    """Play a recipe, and keep what is measured after each window of rounds in a file."""
    configure(devices=1)
    compiled = []
    jax.monitoring.register_event_duration_secs_listener(
        lambda name, seconds, **_: compiled.append(name) if "backend_compile" in name else None
    )
    options = STREAM | {"num_tasks": rounds}
    given = {"max_gap": (0.05,), "shots": SHOTS, "data_options": options} | RECIPES[recipe]
    config = configure_run("synthetic", given)
    experiment, data = build(config), find_data("synthetic", {})
    found: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        session = start(data, config, Path(folder) / "run", experiment=experiment).session
        cpu, wall = time.process_time(), time.perf_counter()
        for number, _ in enumerate(session.update(experiment.stream, "run"), 1):
            if number % window:
                continue
            checkpoint, tasks = state_bytes(session.store)
            row = {
                "round": number,
                "cpu_ms": 1e3 * (time.process_time() - cpu) / window,
                "wall_ms": 1e3 * (time.perf_counter() - wall) / window,
                "resident_mb": resident_bytes() / 1e6,
                "checkpoint_kb": checkpoint / 1e3,
                "tasks_kb": tasks / 1e3,
                "programs": len(compiled),
            }
            for name, value in row.items():
                found.setdefault(name, []).append(value)
            file.write_text(json.dumps(found), encoding="utf-8")
            cpu, wall = time.process_time(), time.perf_counter()


def draw(found: dict[str, dict[str, list[float]]], path: Path) -> None:
    """Draw time and memory against the round."""
    import matplotlib
    import matplotlib.pyplot as plt

    matplotlib.rcParams["svg.hashsalt"] = "flat"
    figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
    for recipe, columns in found.items():
        axes[0].plot(columns["round"], columns["cpu_ms"], "o-", ms=2, label=recipe)
        axes[1].plot(columns["round"], columns["resident_mb"], "o-", ms=2, label=recipe)
    for axis, label in zip(axes, ("processor time of a round, ms", "memory, MB"), strict=True):
        axis.set(xlabel="round", ylabel=label, ylim=(0, None), xscale="log")
        axis.spines[["top", "right"]].set_visible(False)
    axes[0].set_ylim(0, 4 * max(found[next(iter(found))]["cpu_ms"]))
    axes[0].legend(frameon=False)
    figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)


def shown_rounds(last: int, window: int) -> list[int]:
    """Return the rounds that the table shows: the first and ten more."""
    step = max(last // 10 // window, 1) * window
    return sorted({window, *range(step, last + 1, step), last // window * window})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=10_000)
    parser.add_argument("--refit-rounds", type=int, default=1_000)
    parser.add_argument("--recipe", action="append", choices=RECIPES, help="(repeatable)")
    parser.add_argument("--window", type=int, default=WINDOW)
    parser.add_argument("--results", type=Path, default=Path("flat"), help="a folder")
    parser.add_argument("--out", type=Path, help="where to draw it, .svg or .png")
    arguments = parser.parse_args()
    arguments.results.mkdir(parents=True, exist_ok=True)
    found: dict[str, dict[str, list[float]]] = {}
    for recipe in arguments.recipe or list(RECIPES):
        rounds = arguments.refit_rounds if recipe == "refit" else arguments.rounds
        file = arguments.results / f"{recipe}.json"
        if not file.exists():
            with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
                pool.submit(play, recipe, rounds, arguments.window, file).result()
        found[recipe] = columns = json.loads(file.read_text(encoding="utf-8"))
        print(f"\n**{recipe}**\n")
        print("| round | ms of processor | ms | memory, MB | checkpoint, kB | programs |")
        print("| ---: | ---: | ---: | ---: | ---: | ---: |")
        last = int(columns["round"][-1])
        for i in np.searchsorted(columns["round"], shown_rounds(last, arguments.window)):
            row = {name: values[i] for name, values in columns.items()}
            print(
                f"| {row['round']:,} | {row['cpu_ms']:.1f} | {row['wall_ms']:.1f} "
                f"| {row['resident_mb']:.0f} | {row['checkpoint_kb']:.0f} + {row['tasks_kb']:.0f} "
                f"| {row['programs']} |"
            )
    if arguments.out:
        draw(found, arguments.out)


if __name__ == "__main__":
    main()
