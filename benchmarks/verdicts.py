"""Do intervals hold, and how often is a verdict wrong? Simulated streams whose truth is known.

python benchmarks/verdicts.py [--streams 400]

Every task's gap is drawn around a mean, the next one more or less like it; decisions are drawn at
the rates. Coverage is of the mean of that process by the 95 % intervals about tasks to come, and of
the largest difference between any two groups by the interval of the verdict; "told" is the share of
streams with an interval at all, the others count as covered. "so far" is coverage of the mean of
the tasks that were by the interval about more people of them. "kept at 5" is false; "kept at 0" is
right, and so is "so far at 0" (kept or kept so far); "so far, falsely" is either of the two where
the tasks that were are beyond 5 points on average, of streams at 5; "not kept, falsely" is where no
task's own gap is beyond 5 points, of streams at 0 and at 5.

python benchmarks/verdicts.py --runs [--seeds 100-102]

What default runs on the package's own streams come to, asked for 5 points.
"""

import argparse
import tempfile
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ffml.base import SensitiveColumn
from ffml.cli.values import parse_seeds
from ffml.metrics import gap_statistics
from ffml.metrics.answer import answer
from ffml.metrics.verdict import KEPT, NOT_KEPT, SO_FAR, UNCLEAR
from ffml.recipe.config import configure_run
from ffml.recipe.sources import find_data
from ffml.runs.starting import play, start

ASKED, RATE = 0.05, 0.4
HEADER = (
    *("pooled", "long run", "typical", "largest", "so far", "told"),
    *("kept at 5", "kept at 0", "so far at 0", "so far, falsely", "not kept, falsely"),
)


class Setting(NamedTuple):
    """A kind of stream."""

    name: str
    tasks: int
    size: int  # people of each group and task
    spread: float = 0.0  # standard deviation of the tasks' gaps
    correlation: float = 0.0  # of a task's gap with the one before
    groups: int = 2  # the first is apart from all others
    giant: int = 1  # how many times as large the first task is
    unlike: int = 1  # how many times as large the largest task is as the smallest
    opposite: bool = False  # any task may prefer the other group: gaps cancel in the mean


SETTINGS = (
    Setting("5 large tasks", 5, 4000, 0.03),
    Setting("8 large tasks", 8, 4000, 0.03),
    Setting("14 large tasks", 14, 4000, 0.03),
    Setting("24 months of 500", 24, 250),
    Setting("24 months of 500, unlike", 24, 250, 0.05),
    Setting("100 tasks of 20", 100, 10),
    Setting("1,400 tasks of 4", 1400, 2),
    Setting("40 tasks, one with 9 of 10 people", 40, 50, 0.03, giant=400),
    Setting("24 months of 500, each like the last (0.8)", 24, 250, 0.05, 0.8),
    Setting("60 months of 200, each like the last (0.8)", 60, 100, 0.05, 0.8),
    Setting("250 weeks of 100, each like the last (0.9)", 250, 50, 0.05, 0.9),
    Setting("24 large, each like the last (0.5)", 24, 4000, 0.05, 0.5),
    Setting("24 large, each like the last (0.8)", 24, 4000, 0.05, 0.8),
    Setting("60 large, each like the last (0.8)", 60, 4000, 0.05, 0.8),
    Setting("250 large, each like the last (0.9)", 250, 4000, 0.05, 0.9),
    Setting("24 months, 3 groups", 24, 250, 0.03, groups=3),
    Setting("24 months, 7 groups", 24, 150, groups=7),
    Setting("3 large tasks", 3, 4000, 0.03),
    Setting("8 tasks, the largest 100 times the smallest", 8, 100, 0.03, unlike=100),
    Setting("60 tasks of 15", 60, 7),
    Setting("24 months of 500, opposite gaps", 24, 250, opposite=True),
    Setting("200 tasks of 50, opposite gaps", 200, 25, opposite=True),
    Setting("250 tasks of 16, opposite gaps", 250, 8, opposite=True),
    Setting("12 large, opposite gaps", 12, 4000, opposite=True),
)


def draw(rng: np.random.Generator, setting: Setting, mean: float) -> tuple[np.ndarray, np.ndarray]:
    """Draw the tasks' gaps around a mean, and counts ``(T, k, 3, 2)``; nobody has a label."""
    gaps = mean + setting.spread * _like_the_last(rng, setting)
    gaps *= rng.choice([-1, 1], setting.tasks) if setting.opposite else 1
    rates = np.full((setting.tasks, setting.groups), RATE)
    rates[:, 0] -= gaps
    sizes = np.full((setting.tasks, 1), setting.size)
    sizes[0] *= setting.giant
    grows = np.geomspace(1, setting.unlike, setting.tasks).round().astype(int)
    sizes[:, 0] *= rng.permutation(grows) if setting.unlike > 1 else 1
    chosen = rng.binomial(sizes, np.clip(rates, 0, 1))
    tables = np.zeros((*chosen.shape, 3, 2), int)
    tables[..., 2, 0], tables[..., 2, 1] = sizes - chosen, chosen
    return gaps, tables


def _like_the_last(rng: np.random.Generator, setting: Setting) -> np.ndarray:
    noise, r = rng.normal(size=setting.tasks), setting.correlation
    for t in range(1, setting.tasks):
        noise[t] = r * noise[t - 1] + np.sqrt(1 - r**2) * noise[t]
    return noise


class Outcome(NamedTuple):
    """What one stream showed; an interval that cannot be told covers all."""

    pooled: bool
    long_run: bool
    typical: bool
    largest: bool
    so_far: bool
    told: bool
    were: float  # mean gap of the tasks that were
    broken: bool  # whether some task's gap is beyond what was asked
    verdict: str


def outcome(setting: Setting, mean: float, seed: int) -> Outcome:
    """Judge one stream."""
    gaps, tables = draw(np.random.default_rng(seed), setting, mean)
    first = gap_statistics(tables)[0]  # the second group against the first
    names = tuple(map(str, range(setting.groups)))
    found = answer({"group": tables}, [SensitiveColumn("group", names)], [(_NOTION, ASKED)])
    typical, mean = float(np.hypot(mean, setting.spread)), 0.0 if setting.opposite else mean
    pooled = found["notions"][0]["columns"][0]["pooled"]
    people = tables.sum((1, 2, 3))
    were = abs(float(gaps @ people / people.sum()))
    return Outcome(
        not (first.pooled_low > mean or first.pooled_high < mean),
        not (first.long_run_low > mean or first.long_run_high < mean),
        not (first.typical_low > typical or first.typical_high < typical),
        not (pooled["low"] > mean or pooled["high"] < mean),
        not (pooled["so_far"]["low"] > were or pooled["so_far"]["high"] < were),
        bool(np.isfinite(first.pooled_high)),
        were,
        bool((np.abs(gaps) > ASKED).any()),
        found["notions"][0]["verdict"],
    )


_NOTION = "demographic-parity"


def row(setting: Setting, streams: int) -> str:
    """Return a line of the table: at the very bound, and with no gap at all."""
    bound = [outcome(setting, ASKED, seed) for seed in range(streams)]
    even = [outcome(setting, 0.0, seed) for seed in range(streams)]
    shares = [np.mean([getattr(o, kind) for o in bound]) for kind in Outcome._fields[:6]]
    shares += [np.mean([o.verdict == KEPT for o in some]) for some in (bound, even)]
    shares.append(np.mean([o.verdict in (KEPT, SO_FAR) for o in even]))
    shares.append(np.mean([o.verdict in (KEPT, SO_FAR) and o.were > ASKED for o in bound]))
    shares.append(np.mean([o.verdict == NOT_KEPT and not o.broken for o in (*bound, *even)]))
    cells = [f"{share:.2f}" for share in shares]
    return f"| {setting.name} | {' | '.join(cells)} |"


MONTHS = {"num_tasks": 24, "rows_per_task": 500}
RUNS: dict[str, tuple[str, dict[str, Any]]] = {
    "adult": ("adult", {}),
    "crime": ("crime", {}),
    "20 tasks of 200, no bias": ("synthetic", {"bias": 0.0}),
    "20 tasks of 200, bias": ("synthetic", {}),
    "24 months of 500, no bias": ("synthetic", {"bias": 0.0, **MONTHS}),
    "24 months of 500, bias": ("synthetic", MONTHS),
    "24 months of 500, drifting bias": ("synthetic", {"bias_over_time": "drifting", **MONTHS}),
    "24 months of 500, bias by task": ("synthetic", {"bias_over_time": "by-task", **MONTHS}),
}


def run_row(name: str, seeds: Sequence[int], rounds: int | None) -> str:
    """Return what default runs of a stream came to: facts, and how often each verdict came."""
    data, options = RUNS[name]
    found = find_data(data, dict(options))
    gaps, told = [], []
    for seed in seeds:
        given = {"max_gap": (ASKED,), "seed": seed, "data_options": found.options}
        config = configure_run(found.data, given | {"rounds": rounds}, "default")
        with tempfile.TemporaryDirectory() as folder:
            started = start(found, config, f"{folder}/run")
            play(started)
            (notion,) = started.run.answer["notions"]
            started.run.close()
        gaps.append(f"{100 * notion['fact']['gap']:.1f}")
        told.append(notion["verdict"])
    counts = " | ".join(str(told.count(one)) for one in TOLD)
    return f"| {name} | {', '.join(gaps)} | {counts} |"


TOLD = (KEPT, SO_FAR, UNCLEAR, NOT_KEPT)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--streams", type=int, default=400)
    parser.add_argument("--only", default="", help="streams whose name holds this")
    parser.add_argument("--runs", action="store_true", help="default runs instead")
    parser.add_argument("--seeds", default="100-102", help="of the runs")
    parser.add_argument("--rounds", type=int, help="of the runs, at most")
    options = parser.parse_args()
    if options.runs:
        print("| stream | gaps of the people decided |", " | ".join(TOLD), "|")
        print("| --- | --- |" + " ---: |" * len(TOLD))
        for name in RUNS:
            if options.only in name:
                print(run_row(name, parse_seeds(options.seeds), options.rounds), flush=True)
        return
    print("| stream |", " | ".join(HEADER), "|")
    print("| --- |" + " ---: |" * len(HEADER))
    for setting in SETTINGS:
        if options.only in setting.name:
            print(row(setting, options.streams), flush=True)


if __name__ == "__main__":
    main()
