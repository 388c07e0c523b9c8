"""What is aimed at, and what may be said of the bound that is to be kept.

    python benchmarks/aim.py lender "loans: loans.csv label=approved sensitive=sex task=month"

For each stream and aim it prints, over whole streams: in how many of the seeds the gap of everybody
decided about was within --max-gap, and in how many an alarm was raised; how often the verdict of
that bound was kept, kept so far, not kept, or could not be told; the mean gap; accuracy, and its
difference from aiming at the bound itself, seed by seed, with its standard error.
"""

import argparse
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any, NamedTuple

import numpy as np
from once import learn_once
from streams import Named, named

from ffml.cli.values import parse_seeds
from ffml.metrics.answer import answer
from ffml.metrics.verdict import KEPT, NOT_KEPT, SO_FAR, UNCLEAR
from ffml.online.loop import step
from ffml.recipe.build import build
from ffml.recipe.config import configure_run
from ffml.runtime import configure

NOTION = "demographic-parity"
HEAD = (
    "| stream | aim | fact within | kept | kept so far | cannot be told | not kept | alarm "
    "| mean gap | accuracy | beside no margin |\n"
    "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"
)


class Outcome(NamedTuple):
    """What a run came to."""

    gap: float
    verdict: str
    alarm: bool
    accuracy: float


def outcomes(stream: Named, seed: int, bound: float, aims: list[float], small: bool) -> list:
    """Play a stream once for each aim (the first is the bound); return each outcome's fields."""
    configure(devices=1)
    learn_once()
    return [tuple(outcome(stream, seed, bound, aim, small)) for aim in aims]


def outcome(stream: Named, seed: int, bound: float, aim: float, small: bool) -> Outcome:
    """Play a stream, and judge everybody decided about."""
    given: dict[str, Any] = {"data_options": stream.options, "seed": seed}
    given |= {"max_gap": (bound,), "aim": (aim,)} | ({"rounds": 6} if small else {})
    experiment = build(configure_run(stream.data, given))
    state, records, names = experiment.state, [], []
    for task in list(experiment.stream.tasks())[: experiment.config.rounds]:
        state, record = step(experiment.loop, state, task)
        records.append(record)
        names.append(task.name)
    columns = experiment.stream.schema.sensitive
    tables = {c.name: np.stack([record.tables[c.name] for record in records]) for c in columns}
    said = answer(tables, columns, ((NOTION, bound),), names)["notions"][0]
    table = tables[columns[0].name].sum((0, 1))
    return Outcome(
        gap=100 * said["fact"]["gap"],
        verdict=said["verdict"],
        alarm=said["alarm"] is not None and said["alarm"]["round"] is not None,
        accuracy=float((table[0, 0] + table[1, 1]) / table[:2].sum()),
    )


def line(name: str, aim: float, runs: list[Outcome], without: list[Outcome], bound: float) -> str:
    """Return a line of the table."""
    said = Counter(run.verdict for run in runs)
    within = sum(run.gap <= 100 * bound for run in runs)
    lost = np.array(
        [run.accuracy - other.accuracy for run, other in zip(runs, without, strict=True)]
    )
    error = lost.std(ddof=1) / len(lost) ** 0.5 if len(lost) > 1 else np.nan
    beside = f"{lost.mean():+.3f} ± {error:.3f}" if runs is not without else ""
    return (
        f"| {name} | {100 * aim:g} | {within}/{len(runs)} | {said[KEPT]} | {said[SO_FAR]} "
        f"| {said[UNCLEAR]} | {said[NOT_KEPT]} | {sum(run.alarm for run in runs)} "
        f"| {np.mean([run.gap for run in runs]):.1f} "
        f"| {np.mean([run.accuracy for run in runs]):.3f} | {beside} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("streams", nargs="*", default=["lender"])
    parser.add_argument("--max-gap", type=float, default=0.05, help="what is to be kept")
    parser.add_argument("--aims", default="0.04,0.03,0.02", help="beside the bound itself")
    parser.add_argument("--seeds", default="0-4")
    parser.add_argument("--jobs", type=int, default=2, help="processes at a time")
    parser.add_argument("--small", action="store_true", help="a few rounds")
    given = parser.parse_args()
    bound, aims = given.max_gap, [given.max_gap, *map(float, given.aims.split(","))]
    streams, seeds = [*map(named, given.streams)], [*parse_seeds(given.seeds)]
    print(f"{100 * bound:g} points are to be kept; seeds {given.seeds}\n\n{HEAD}")
    with ProcessPoolExecutor(given.jobs, mp_context=get_context("spawn")) as pool:
        for stream in streams:
            played = [
                pool.submit(outcomes, stream, seed, bound, aims, given.small) for seed in seeds
            ]
            found = [[Outcome(*fields) for fields in one.result()] for one in played]
            by_aim = [*zip(*found, strict=True)]
            for aim, runs in zip(aims, by_aim, strict=True):
                print(line(stream.name, aim, runs, by_aim[0], bound), flush=True)


if __name__ == "__main__":
    main()
