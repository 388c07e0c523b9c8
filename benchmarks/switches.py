"""Streams that change at a known time: who is back how fast, in one table and one picture.

    python benchmarks/switches.py --seeds 0-4 --jobs 2 --figure switches.svg

A change is abrupt, gradual or recurring, and it is in what labels say of people, in who comes, or
of which group they are (`ffml.datasets`, synthetic, option ``change``). The Bayes classifier of
every task is known, and so is its accuracy: no sequence of classifiers is more accurate on average.
"regret" is how many points less accurate the decisions of a round were than that, from the change
on; those who keep a gap small pay for it, so the typical gap stands beside it. "back" counts the
rounds from the beginning of the change until the regret is within 3 points of what it was before,
and stays so for 3 rounds. Finished runs are kept in --out.
"""

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ffml.cli.values import parse_seeds
from ffml.datasets import load
from ffml.datasets._synthetic import CHANGED, CHANGES, SHARPNESS, direction
from ffml.studies.compare import Store, plan, run_cells, summarise_results
from ffml.studies.drawing import GREY, draw_line, legend, looks, panels, picture_bytes

METHODS = ("fairsaoml", "ffml", "m-ftml", "ffml-exact", "refit", "twp", "sinha-vaze")
HOW = [name for name in CHANGES if name != "none"]
WHAT = {"labels": "what labels say", "features": "who comes", "groups": "of which group"}
NEAR, STAYS = 0.03, 3
SMALL = {"shots": 10, "num_steps": 2, "rows_per_task": 64}


def options(how: str, what: str, tasks: int, rows: int) -> dict[str, Any]:
    """Describe a stream in which the groups differ mostly in what does not matter to labels."""
    stream = {"num_tasks": tasks, "rows_per_task": rows, "drift": 0.0, "bias": 0.3, "proxy": 1.0}
    return stream | {"change": how, "change_in": what}


def bayes_accuracy(seed: int, stream: dict[str, Any]) -> np.ndarray:
    """Return by task what share of labels the best classifier of the task gets right."""
    best = []
    for t, task in enumerate(load("synthetic", seed=seed, **stream).tasks()):
        far = CHANGES[stream["change"]](t, stream["num_tasks"])
        turn = np.pi * far * (stream["change_in"] == "labels")
        logits = SHARPNESS * task.x @ direction(t, seed=seed, drift=0.0, turn=turn)
        best.append(float(np.mean(1 / (1 + np.exp(-np.abs(logits))))))
    return np.array(best)


def regrets(frame: pd.DataFrame, stream: dict[str, Any]) -> pd.DataFrame:
    """Return the mean over seeds by round and method of how far accuracy is below the best."""
    best = {seed: bayes_accuracy(seed, stream) for seed in frame["seed"].unique()}
    known = [best[seed][t - 1] for seed, t in zip(frame["seed"], frame["round"], strict=True)]
    table = frame.assign(regret=np.array(known) - frame["accuracy"])
    return table.pivot_table(index="round", columns="label", values="regret", sort=False)


def rounds_until_back(regret: np.ndarray, first: int) -> int | None:
    """Count the rounds from the change on until regret is what it was, and stays so.

    >>> rounds_until_back(np.array([0.1, 0.1, 0.5, 0.3, 0.1, 0.1, 0.1]), first=2)
    2
    >>> rounds_until_back(np.array([0.1, 0.1, 0.5, 0.3, 0.3]), first=2) is None
    True
    """
    near = regret[first:] <= regret[first // 2 : first].mean() + NEAR
    runs = [t for t in range(len(near)) if near[t : t + STAYS].all()]
    return runs[0] if runs else None


def measured(frame: pd.DataFrame, stream: dict[str, Any]) -> list[tuple[str, str, float, float]]:
    """Return by method: rounds until it was back, mean regret from the change on, typical gap."""
    first = next(
        t for t in range(stream["num_tasks"]) if CHANGES[stream["change"]](t, stream["num_tasks"])
    )
    curves = regrets(frame, stream)
    summary = summarise_results(frame[frame["round"] > first], 1, "all")
    gaps = summary[summary["metric"] == "typical_gap"].set_index("label")["mean"]
    found = []
    for label in curves:
        regret = curves[label].to_numpy()
        back = rounds_until_back(regret, first)
        words = "never" if back is None else str(back)
        found.append((str(label), words, 100 * regret[first:].mean(), 100 * gaps[label]))
    return found


def draw(curves: dict[tuple[str, str], pd.DataFrame], labels: list[str], path: Path) -> None:
    """Draw regret by round, one panel a stream."""
    look_of = looks(labels, ours=labels[0])
    rows = [what for what in CHANGED if any(place[1] == what for place in curves)]
    columns = [how for how in HOW if any(place[0] == how for place in curves)]
    with panels(len(rows), len(columns), (3.4 * len(columns), 2.4 * len(rows)), sharey=True) as (
        figure,
        grid,
    ):
        for line, what in zip(grid, rows, strict=True):
            for axes, how in zip(line, columns, strict=True):
                table = curves[how, what]
                for label in labels:
                    mean, nothing = 100 * table[label].to_numpy(), np.zeros(len(table))
                    draw_line(axes, table.index.to_numpy(), mean, nothing, look_of[label], label)
                axes.axhline(0, color=GREY, lw=1, ls=(0, (4, 3)))
                axes.set_title(f"{how}: {WHAT[what]}", loc="left", fontsize=10)
            line[0].set_ylabel("points below the best")
        for axes in grid[-1]:
            axes.set_xlabel("round")
        legend(figure, 4)
        path.write_bytes(picture_bytes(figure)["svg"])


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--seeds", default="0-4")
    parser.add_argument("--tasks", type=int, default=24)
    parser.add_argument("--rows", type=int, default=200)
    parser.add_argument("--method", action="append", help="again for several")
    parser.add_argument("--how", action="append", choices=HOW)
    parser.add_argument("--what", action="append", choices=CHANGED)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("switches"))
    parser.add_argument("--figure", type=Path, default=Path("switches.svg"))
    parser.add_argument("--small", action="store_true", help="few steps, to see that it runs")
    given = parser.parse_args()
    store, curves = Store(given.out), {}
    print("| change | in | method | back after | regret, points | typical gap, points |")
    print("| --- | --- | --- | ---: | ---: | ---: |")
    for what in given.what or CHANGED:
        for how in given.how or HOW:
            stream = options(how, what, given.tasks, given.rows)
            cells = plan(
                ["synthetic"],
                given.method or METHODS,
                seeds=parse_seeds(given.seeds),
                settings={"judge_from": 0.0, "judge_min_rows": 0} | (SMALL if given.small else {}),
                data_options={"synthetic": stream},
            )
            run_cells(cells, store, workers=given.jobs)
            frame = store.load(cells)
            curves[how, what] = regrets(frame, stream)
            for label, back, regret, gap in measured(frame, stream):
                print(f"| {how} | {what} | {label} | {back} | {regret:.1f} | {gap:.1f} |")
    draw(curves, [str(label) for label in next(iter(curves.values()))], given.figure)
    print(f"drawn: {given.figure}")


if __name__ == "__main__":
    main()
