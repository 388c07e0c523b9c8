"""Time per outer iteration of FFML at the paper's Bank shape, and of the first compilation.

    python benchmarks/outer_iteration.py [--devices N] [--iterations N]

Shape: |U| = 32 tasks, 100 support and 100 query rows of each class, 44 features, MLP 2 × 40,
5 inner steps, second order. The data are random: only their shape matters here.
"""

import argparse
import statistics
import time

import ffml


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--devices", type=int, help="CPU devices (default: one a core)")
    parser.add_argument("--iterations", type=int, default=100, help="outer iterations a round")
    parser.add_argument("--model", default="mlp", choices=["mlp", "linear"])
    parser.add_argument("--tasks", type=int, default=32)
    arguments = parser.parse_args()
    ffml.configure(arguments.devices, cache=False)

    import jax
    import numpy as np

    from ffml.base import LabelledTask, Schema, SensitiveColumn
    from ffml.problem.models import MODELS
    from ffml.runtime import shard_tasks

    tasks, rows, features = arguments.tasks, 1024, 44
    schema = Schema(tuple(map(str, range(features))), (SensitiveColumn("s", ("0", "1")),))
    problem = ffml.fair_classification(
        schema, MODELS[arguments.model](), ffml.constraints.decision_boundary_covariance()
    )
    learner = ffml.methods.ffml(problem, num_outer_steps=arguments.iterations)
    rng = np.random.default_rng(0)
    memory = LabelledTask(
        x=rng.normal(size=(tasks, rows, features)).astype(np.float32),
        s=rng.integers(2, size=(tasks, rows, 1)).astype(np.float32),
        counts=np.full((tasks, 2), rows // 2, np.int32),
        totals=np.full((tasks, 2), rows // 2, np.int32),
    )
    newest, memory = jax.tree.map(lambda leaf: leaf[0], memory), shard_tasks(memory)
    update = jax.jit(learner.update)
    state = jax.device_get(learner.init(jax.random.key(0)))
    start = time.perf_counter()
    # In the first round nothing is learned: it compiles, and is followed by rounds that learn.
    state = jax.device_get(update(jax.random.key(0), state, newest, memory))[0]
    first = time.perf_counter() - start
    seconds = []
    for repeat in range(5):
        start = time.perf_counter()
        jax.block_until_ready(update(jax.random.key(repeat), state, newest, memory))
        seconds.append((time.perf_counter() - start) / arguments.iterations)
    print(
        f"{arguments.model}, {jax.device_count()} CPU devices, "
        f"{arguments.iterations} iterations a round"
    )
    print(f"compilation: {first:.1f} s")
    print(
        f"outer iteration: {statistics.median(seconds) * 1e3:.1f} ms "
        f"(best {min(seconds) * 1e3:.1f}, worst {max(seconds) * 1e3:.1f})"
    )


if __name__ == "__main__":
    main()
