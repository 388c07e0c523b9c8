"""Theorem 2's two sums in the units of decisions, for FFML by steps and FFML solved.

    python benchmarks/regret.py --seeds 0-4 --figure docs/regret_of_decisions.svg

A generated stream whose truth never changes: 100 tasks of 1,000 people, half of whom are judged. In
round t a method makes errors e_t, and rates of two groups are G_t apart. With ε allowed::

    regret     Σ_t e_t - T min e(rule)        over fixed rules whose pooled |G| is at most ε
    violation  Σ_t [|G_t| - ε - chance_t]₊    what each task shows beyond two standard errors
    long run   |Σ_t G_t| - T ε                opposite gaps cancel, as in the sum of the theorem

The best fixed rule is found in hindsight on all judged people: logistic regressions for label and
group, and one price on the group (bisection). Each sum is shown after T rounds, with its standard
error over seeds and the exponent of T that fits its second half, where it is above 1: 1 is linear,
and log T has about 0.2 here.
"""

import argparse
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.linear_model import LogisticRegression

from ffml.cli.values import parse_seeds
from ffml.draws import SPLIT, draws
from ffml.online.judge import split_rows
from ffml.online.loop import step
from ffml.recipe.build import build
from ffml.recipe.config import configure_run
from ffml.research.analysis import growth_rate
from ffml.runtime import configure

ALLOWED = 0.05
STREAM = {"bias": 1.0, "proxy": 1.0, "drift": 0.0}
METHODS: dict[str, dict[str, Any]] = {
    "FFML by steps": {"method": "ffml", "wrappers": ()},
    "FFML solved": {"wrappers": ("evened",), "policy": "accuracy"},
    "refit, no fairness": {"method": "refit", "max_gap": None},
}
SUMS = ("regret", "violation", "long run")


class Round(NamedTuple):
    """What one round showed."""

    errors: float  # share of wrong decisions
    gap: float  # rate of the second group minus that of the first
    chance: float  # two standard errors of the gap


def settings(name: str, seed: int, tasks: int, rows: int) -> dict[str, Any]:
    """Return the settings of a run."""
    options = STREAM | {"num_tasks": tasks, "rows_per_task": rows}
    return {"seed": seed, "max_gap": (ALLOWED,), "data_options": options} | METHODS[name]


def played(name: str, seed: int, tasks: int, rows: int) -> list[Round]:
    """Play the stream; return what each round showed."""
    experiment = build(configure_run("synthetic", settings(name, seed, tasks, rows)))
    state, found = experiment.state, []
    for task in experiment.stream.tasks():
        state, record = step(experiment.loop, state, task)
        found.append(shown(next(iter(record.tables.values()))))
    return found


def shown(table: np.ndarray) -> Round:
    """Count errors, and how far rates are apart; ``table`` is (group, label, decision)."""
    people, positive = table.sum((1, 2)), table[:, :, 1].sum(1)
    rate = positive / people
    chance = 2 * np.sqrt((rate * (1 - rate) / people).sum())
    wrong = table[:, 0, 1].sum() + table[:, 1, 0].sum()
    return Round(wrong / people.sum(), rate[1] - rate[0], chance)


def judged_people(seed: int, tasks: int, rows: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return features, labels and groups of all people who are judged, the same for all methods."""
    config = configure_run("synthetic", settings("FFML solved", seed, tasks, rows))
    parts = []
    for t, task in enumerate(build(config).stream.tasks(), 1):
        rng = draws(config.seed, t, SPLIT)
        at = split_rows(len(task.y), config.validation_fraction, rng).validation
        parts.append((task.x[at], task.y[at], task.groups[at, 0]))
    x, y, s = map(np.concatenate, zip(*parts, strict=True))
    return x, y, s


def best_in_hindsight(x: np.ndarray, y: np.ndarray, s: np.ndarray) -> np.ndarray:
    """Decide by the best rule ``P(y) - c P(s) > τ`` that keeps the bound."""
    told = LogisticRegression(C=1e4).fit(x, y).predict_proba(x)[:, 1]
    group = LogisticRegression(C=1e4).fit(x, s).predict_proba(x)[:, 1]
    low, high = 0.0, 8.0
    for _ in range(40):
        price = (low + high) / 2
        decided = told - price * (group - s.mean()) > 0.5
        gap = decided[s == 1].mean() - decided[s == 0].mean()
        low, high = (price, high) if gap > ALLOWED else (low, price)
    return told - high * (group - s.mean()) > 0.5


def sums(rounds: list[Round], least: np.ndarray) -> dict[str, np.ndarray]:
    """Add up; ``least`` is what the best fixed rule errs in each round."""
    errors, gap, chance = np.array(rounds).T
    T = np.arange(1, len(rounds) + 1)
    return {
        "regret": np.cumsum(errors - least),
        "violation": np.cumsum(np.maximum(np.abs(gap) - ALLOWED - chance, 0)),
        "long run": np.maximum(np.abs(np.cumsum(gap)) - ALLOWED * T, 0),
    }


def cell(curves: list[np.ndarray]) -> str:
    """Write a sum after the last round, and how fast it grows."""
    mean, last = np.mean(curves, axis=0), [curve[-1] for curve in curves]
    error = np.std(last) / max(len(last) - 1, 1) ** 0.5
    power = f"T^{growth_rate(mean):.2f}" if mean[-1] > 1 else ""
    return f"{mean[-1]:.2f} ± {error:.2f} | {power}"


def draw(curves: dict[str, list[dict[str, np.ndarray]]], path: Path) -> None:
    """Draw each sum against rounds, the mean over seeds."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 3.2), layout="constrained")
    for axes, what in zip(figure.subplots(1, len(SUMS)), SUMS, strict=True):
        for name, found in curves.items():
            axes.plot(np.mean([one[what] for one in found], axis=0), label=name)
        axes.set(title=what, xlabel="rounds T")
        if what != "regret":
            axes.set_yscale("symlog", linthresh=0.1)
    axes.legend(fontsize=8)
    figure.savefig(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seeds", default="0-4")
    parser.add_argument("--tasks", type=int, default=100)
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--figure", type=Path, help="where to draw the sums, .svg or .png")
    arguments = parser.parse_args()
    configure(devices=1)
    size, seeds = (arguments.tasks, arguments.rows), parse_seeds(arguments.seeds)
    curves: dict[str, list[dict[str, np.ndarray]]] = {name: [] for name in METHODS}
    for seed in seeds:
        x, y, s = judged_people(seed, *size)
        wrong = best_in_hindsight(x, y, s) != y
        least = wrong.reshape(size[0], -1).mean(1)
        for name in METHODS:
            curves[name].append(sums(played(name, seed, *size), least))
    print(
        f"{size[0]} rounds of {size[1]:,} people, {len(seeds)} seeds, {100 * ALLOWED:g} allowed\n"
    )
    print(f"| | {' | '.join(f'{what} | grows like' for what in SUMS)} |")
    print("| --- |" + " ---: |" * (2 * len(SUMS)))
    for name, found in curves.items():
        cells = [cell([one[what] for one in found]) for what in SUMS]
        print(f"| {name} | {' | '.join(cells)} |")
    if arguments.figure:
        draw(curves, arguments.figure)


if __name__ == "__main__":
    main()
