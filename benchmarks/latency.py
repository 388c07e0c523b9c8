"""How long it takes to adapt to a new task and decide about its people, with the default recipe.

    python benchmarks/latency.py [--people N] [--repeats N]

A run on a generated stream is learned first. Then, in the same process and warm, a task that is new
each time comes: 200 labelled rows are adapted to and 1,000 people are decided about, described and
standardised as a round does it. Wall-clock and processor time, median and 95th percentile.
"""

import argparse
import time

import numpy as np

from ffml.online.decide import decided_about, described_by, find_rule
from ffml.online.loop import known, step
from ffml.recipe.build import build
from ffml.recipe.config import configure_run
from ffml.runtime import configure
from ffml.threads import one_thread

LABELLED = 200


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--people", type=int, default=1000)
    parser.add_argument("--repeats", type=int, default=200)
    parser.add_argument("--tasks", type=int, default=20, help="learned before")
    parser.add_argument("--features", type=int, default=12)
    arguments = parser.parse_args()
    configure(devices=1)
    size = LABELLED + arguments.people
    options = {
        "num_tasks": arguments.tasks + arguments.repeats,
        "rows_per_task": size,
        "num_features": arguments.features,
        "drift": 0.02,
        "proxy": 1.0,
    }
    given = {"max_gap": (0.05,), "data_options": options}
    experiment = build(configure_run("synthetic", given))
    loop, state, taken = experiment.loop, experiment.state, []
    for number, task in enumerate(experiment.stream.tasks()):
        if number < arguments.tasks:
            state, _ = step(loop, state, task)
            continue
        wall, cpu = time.perf_counter(), time.process_time()
        with one_thread():
            told = task._replace(x=described_by(loop, state.features, task.x))
            rule = find_rule(loop, known(loop, state), told, *np.split(np.arange(size), [LABELLED]))
            positive = decided_about(loop, rule, told, np.arange(LABELLED, size)).logits > 0
        taken.append((time.perf_counter() - wall, time.process_time() - cpu))
        assert positive.shape == (arguments.people,)
    wall, cpu = 1e3 * np.array(taken).T
    print(
        f"adapt to {LABELLED} labelled rows and decide about {arguments.people:,} people: "
        f"median {np.median(wall):.1f} ms (95 %: {np.quantile(wall, 0.95):.1f}), "
        f"{np.median(cpu):.1f} ms of processor time"
    )


if __name__ == "__main__":
    main()
