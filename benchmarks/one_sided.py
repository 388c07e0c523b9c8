"""Labels of approved people only: is the gap kept, and what does it cost?

    python benchmarks/one_sided.py --seeds 100-104

People are generated, so that the labels of those refused are known here, and hidden from the
learner. The first tasks have all labels. From then on labels come after the decision:

- all: of everybody;
- approved: of those approved (`ffml.online.waiting` says what is learned then);
- as if all: of those approved, who are taken for the whole task;
- 1 in 20: of those approved, and of one refused person in 20.

Printed are means over seeds of the last third: the gap of everybody decided, accuracy by the true
labels, and the share of people approved.
"""

import argparse

import numpy as np

from ffml.cli.values import parse_seeds
from ffml.online.judge import NO_DECISION
from ffml.online.learn import learn_due
from ffml.online.loop import step
from ffml.online.waiting import Waiting
from ffml.recipe.build import build
from ffml.recipe.config import configure_run
from ffml.runtime import configure

WAYS = ("all", "approved", "as if all", "1 in 20")
KNOWN_AT_FIRST = 6  # tasks
EXPLORED = 0.05  # of those refused
STREAM = {"num_tasks": 30, "rows_per_task": 400, "drift": 0.02, "proxy": 1.0}


def labelled(way: str, truth: np.ndarray, one: Waiting, rng: np.random.Generator) -> Waiting:
    """Return the waiting task with the labels that came."""
    if way == "all":
        return one._replace(task=one.task._replace(y=truth))
    if way == "as if all":
        those = np.flatnonzero(one.approved)
        task = one.task._replace(x=one.task.x[those], y=truth[those], groups=one.task.groups[those])
        return one._replace(task=task, decided=NO_DECISION)
    explored = rng.random(len(truth)) < EXPLORED * (way == "1 in 20")
    return one._replace(task=one.task._replace(y=np.where(one.approved | explored, truth, -1)))


def played(way: str, seed: int, asked: float, policy: str, small: bool) -> np.ndarray:
    """Play a stream; return gap, accuracy and share approved of its last third."""
    options = STREAM | ({"num_tasks": 9, "rows_per_task": 60} if small else {})
    given = {"seed": seed, "max_gap": (asked,), "data_options": options}
    given |= {"wrappers": ("evened",)} if small else {}
    experiment = build(configure_run("synthetic", given, policy=policy))
    state, rng, decided = experiment.state, np.random.default_rng(seed), []
    for t, task in enumerate(experiment.stream.tasks()):
        if t < KNOWN_AT_FIRST:
            state, _ = step(experiment.loop, state, task)
            continue
        hidden = task._replace(y=np.full(len(task.y), -1, np.int32))
        state, record = step(experiment.loop, state, hidden)
        decided.append((task.groups[:, 0], task.y, record.decided.logits > 0))
        *others, newest = state.waiting
        state = state._replace(waiting=(*others, labelled(way, task.y, newest, rng)))
        state, _ = learn_due(experiment.loop, state)
    last = decided[-len(decided) // 3 :]
    group, y, positive = (np.concatenate(part) for part in zip(*last, strict=True))
    gap = positive[group == 1].mean() - positive[group == 0].mean()
    return 100 * np.array([gap, (positive == y).mean(), positive.mean()])


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--seeds", default="100-104")
    parser.add_argument("--asked", type=float, default=0.05)
    parser.add_argument("--policy", default="labels")
    parser.add_argument("--small", action="store_true", help="nine small tasks without boosting")
    arguments = parser.parse_args()
    configure(devices=1)
    print("| labels | gap, points | accuracy, % | approved, % |")
    print("| --- | ---: | ---: | ---: |")
    for way in WAYS:
        found = np.array(
            [
                played(way, seed, arguments.asked, arguments.policy, arguments.small)
                for seed in parse_seeds(arguments.seeds)
            ]
        )
        error = found.std(0, ddof=1) / len(found) ** 0.5 if len(found) > 1 else np.full(3, np.nan)
        cells = (f"{mean:.1f} ± {e:.1f}" for mean, e in zip(found.mean(0), error, strict=True))
        print(f"| {way} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
