"""From the paper's steps to the default, one step at a time, at the same asked gap.

    python benchmarks/family.py crime "loans.csv label=paid sensitive=sex task=month" --seeds 100

The first line takes the paper's steps, the outer ones by Adam: plain descent needs 3,000 of them.
Each further line changes one thing of the line before: the inner level is solved instead of
stepped through, then the outer one; the price is found on the people at hand instead of the task's
labelled rows; what earlier tasks showed is added; then boosted trees; then all labelled rows are
adapted to, which is the default. All else is alike: the model is linear, 100 rows of each class,
the same memory. Numbers are of the last third of a stream, in percentage points, as in
benchmarks/promise.py; "s" is processor seconds. Finished runs are kept in --out.
"""

import argparse
import hashlib
import json
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from asked import played
from jax.flatten_util import ravel_pytree
from promise import measured, over_seeds
from streams import Named, named

from ffml.base import Array, Batch, Learner, Method, Params, Problem
from ffml.cli.values import parse_seeds
from ffml.methods._inner import Inner
from ffml.recipe.config import configure_run
from ffml.recipe.plugins import register
from ffml.runtime import configure

ASKED, NOTION = 0.05, "demographic-parity"
NEWTON_STEPS = 4
_ALIKE = {"shots": 100, "tasks_per_round": 32, "rows_per_task": 512}
_LEVELS = _ALIKE | {"method": "ffml", "outer": "mean-over-tasks", "wrappers": ()}
_SOLVED = _ALIKE | {"wrappers": ("evened",)}
CHAIN: dict[str, dict[str, Any]] = {
    "both levels by steps (Adam)": _LEVELS | {"inner.shrinkage": 0.0},
    "inner level solved": _LEVELS | {"inner": "solved"},
    "outer level solved": _SOLVED | {"wrappers": ("evened", "labelled"), "evened.memory": None},
    "price on the people at hand": _SOLVED | {"evened.memory": None},
    "what earlier tasks showed": _SOLVED,
    "trees above": _ALIKE,
    "all labelled rows (the default)": {},
}
_SMALL = {"rounds": 4, "shots": 10}


@register("inner", "solved")
def solved(proximal: float = 0.1) -> Inner:
    """Solve the inner level: ``argmin f(θ') + κ/2 ‖θ' - θ‖²``, by Newton.

    λ acts in the outer level alone, on ``g(θ')``. The model is linear.
    """

    def inner(problem: Problem, params: Params, multipliers: Array, support: Batch) -> Params:
        start, tree = ravel_pytree(params)  # b, w
        z = jnp.concatenate([jnp.ones((len(support.y), 1)), support.x], axis=1)
        share = support.mask / jnp.maximum(support.mask.sum(), 1)
        theta = start
        for _ in range(NEWTON_STEPS):
            p = jax.nn.sigmoid(z @ theta)
            slope = z.T @ (share * (p - support.y)) + proximal * (theta - start)
            bent = (z.T * (share * p * (1 - p))) @ z + proximal * jnp.eye(len(theta))
            theta = theta - jnp.linalg.solve(bent, slope)
        return tree(theta)

    return inner


@register("wrapper", "labelled")
def labelled(method: Method) -> Method:
    """Hide the people to be decided about: what is done for them is done for the labelled rows."""

    def wrapped(problem: Problem) -> Learner:
        learner = method(problem)

        def adapt(known: Any, support: Batch) -> Params:
            return learner.adapt(known, support._replace(unlabelled=None))

        return learner._replace(adapt=adapt, traits=learner.traits._replace(uses_unlabelled=False))

    return wrapped


class Cell(NamedTuple):
    """One run: a stream, a link of the chain, and a seed."""

    stream: Named
    link: str
    seed: int
    small: bool

    def settings(self) -> dict[str, Any]:
        """Return the run's settings."""
        given = CHAIN[self.link] | {"seed": self.seed, "notions": (NOTION,), "max_gap": (ASKED,)}
        given |= {"judge_from": 2 / 3, "data_options": self.stream.options}
        if self.small:
            given |= _SMALL | ({"num_outer_steps": 2} if "method" in given else {})
        return given

    def file(self, folder: Path) -> Path:
        """Return where the result is kept."""
        text = json.dumps([self.stream, self.settings()], sort_keys=True, default=str)
        return folder / f"{self.stream.name}-{hashlib.sha256(text.encode()).hexdigest()[:16]}.json"


def compute(cell: Cell, folder: str) -> None:
    """Run one cell, and keep what its last third shows."""
    configure(devices=1)
    start = time.process_time()
    result = played(configure_run(cell.stream.data, cell.settings(), policy="balanced"))
    result["seconds"] = time.process_time() - start
    cell.file(Path(folder)).write_text(json.dumps(result), encoding="utf-8")


def line(link: str, runs: list[dict[str, Any]]) -> str:
    """Return one line of a table: means over seeds."""
    figures = [measured(run, NOTION, ASKED) for run in runs]
    mean = {name: float(np.mean([one[name] for one in figures])) for name in figures[0]}
    error = np.std([one["balanced"] for one in figures]) / max(len(runs) - 1, 1) ** 0.5
    return (
        f"| {link} | {100 * mean['long']:.1f} | {over_seeds(runs, NOTION)} "
        f"| {100 * mean['typical']:.1f} | {mean['balanced']:.3f} ± {error:.3f} "
        f"| {len(runs)} | {mean['seconds']:.0f} |"
    )


HEAD = (
    "| | long-run gap | over seeds | typical gap | balanced accuracy | seeds | s |\n"
    "| --- | ---: | ---: | ---: | ---: | ---: | ---: |"
)


def draw(found: dict[tuple[str, str], list[dict[str, Any]]], path: Path) -> None:
    """Draw the way of each stream through the chain: gap across, accuracy up."""
    import matplotlib.pyplot as plt

    streams = list(dict.fromkeys(stream for stream, _ in found))
    figure, axes = plt.subplots(
        1, len(streams), figsize=(3.2 * len(streams), 3.4), layout="constrained", squeeze=False
    )
    colors = plt.get_cmap("viridis")(np.linspace(0, 0.95, len(CHAIN)))
    for axis, stream in zip(axes[0], streams, strict=True):
        points = []
        for place, link in enumerate(CHAIN):
            if (stream, link) in found:
                figures = [measured(run, NOTION, ASKED) for run in found[stream, link]]
                gap, accuracy = (np.mean([f[n] for f in figures]) for n in ("typical", "balanced"))
                points.append((100 * gap, accuracy))
                axis.plot(*points[-1], "o", color=colors[place], label=link, zorder=3)
        axis.plot(*np.transpose(points), color="0.75", lw=1)
        axis.axvline(100 * ASKED, color="0.6", lw=1, ls="--")
        axis.set(title=stream, xlabel="typical gap, points", xlim=(0, None))
    axes[0][0].set_ylabel("balanced accuracy")
    handles, labels = axes[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, fontsize=8, frameon=False)
    figure.savefig(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("streams", nargs="*", default=["synthetic"])
    parser.add_argument("--seeds", default="100-102")
    parser.add_argument("--jobs", type=int, default=2, help="processes at a time")
    parser.add_argument("--out", type=Path, default=Path("family"))
    parser.add_argument("--figure", type=Path, help="where to draw it, .svg or .png")
    parser.add_argument("--small", action="store_true", help="a few rounds")
    parser.add_argument("--show", action="store_true", help="run nothing, show what is there")
    arguments = parser.parse_args()
    streams, out = [named(text) for text in arguments.streams], arguments.out
    cells = [  # a seed of everything first
        Cell(stream, link, seed, arguments.small)
        for seed in parse_seeds(arguments.seeds)
        for stream in streams
        for link in CHAIN
    ]
    out.mkdir(parents=True, exist_ok=True)
    missing = [cell for cell in cells if not cell.file(out).exists()]
    if missing and not arguments.show:
        with ProcessPoolExecutor(arguments.jobs, mp_context=get_context("spawn")) as pool:
            list(pool.map(compute, missing, [str(out)] * len(missing)))
    found: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for cell in cells:
        if cell.file(out).exists():
            result = json.loads(cell.file(out).read_text(encoding="utf-8"))
            found.setdefault((cell.stream.name, cell.link), []).append(result)
    for stream in streams:
        print(f"\n**{stream.name}**, asked {100 * ASKED:g}\n\n{HEAD}")
        for link in CHAIN:
            if (stream.name, link) in found:
                print(line(link, found[stream.name, link]))
    if arguments.figure:
        draw(found, arguments.figure)


if __name__ == "__main__":
    main()
