"""What a large job would cost: measure small ones on one core, fit a line, and extrapolate.

python benchmarks/cost_model.py [--hosts 1 16 256] [--cores 32] [--small]

Measured: CPU time of an outer iteration of FFML by the number of tasks (the paper's Bank shape:
100 + 100 support and query rows of each class, 44 features, MLP 2 × 40, 5 inner steps, second
order), the bytes that devices sum up over the network in it, its memory, and rows a second of
decisions from Parquet to Parquet. CPU time, not the clock's: other programs disturb it less. One
number of tasks is left out of the fit, to see how far off the line is there.
"""

import argparse
import math
import re
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow.parquet as parquet
from predict_rows import random_model, random_table

import ffml
from ffml.base import LabelledTask, Schema, SensitiveColumn
from ffml.problem.models import MODELS
from ffml.runtime import shard_tasks
from ffml.scoring import prepare
from ffml.scoring.table import predict_table, write_decisions
from ffml.tables import Preprocessor, open_table

SUMS = re.compile(r"= \(?(.*?)\)? (?:all-reduce|all-gather|reduce-scatter)(?:-start)?\(")
BYTES = {"f32": 4, "s32": 4, "u32": 4, "f64": 8, "pred": 1}


class Measured(NamedTuple):
    """An outer iteration with so many tasks, on one core."""

    tasks: int
    seconds: float
    memory: int  # bytes, arguments and temporary arrays


class Costs(NamedTuple):
    """What is extrapolated: seconds = fixed + each · tasks, likewise bytes of memory."""

    fixed_seconds: float
    task_seconds: float
    fixed_memory: float
    task_memory: float
    summed_bytes: int  # over the network, in an iteration
    rows_per_second: float  # of decisions, on one core


def bank_shaped(tasks: int, iterations: int, model: str, shard: bool) -> Any:
    """Return a round's update with its arguments; the numbers are random, of the right shape."""
    import jax

    rows, features = 1024, 44
    schema = Schema(tuple(map(str, range(features))), (SensitiveColumn("s", ("0", "1")),))
    constraint = ffml.constraints.decision_boundary_covariance()
    problem = ffml.fair_classification(schema, MODELS[model](), constraint)
    learner = ffml.methods.ffml(problem, num_outer_steps=iterations)
    rng = np.random.default_rng(0)
    memory = LabelledTask(
        x=rng.normal(size=(tasks, rows, features)).astype(np.float32),
        s=rng.integers(2, size=(tasks, rows, 1)).astype(np.float32),
        counts=np.full((tasks, 2), rows // 2, np.int32),
        totals=np.full((tasks, 2), rows // 2, np.int32),
    )
    newest = jax.tree.map(lambda leaf: leaf[0], memory)
    state = jax.device_get(learner.init(jax.random.key(0)))
    placed = shard_tasks(memory) if shard else jax.device_put(memory, jax.devices()[0])
    return jax.jit(learner.update), state, newest, placed


def outer_iteration(tasks: int, iterations: int, model: str) -> Measured:
    """Compile a round, play one that learns nothing, then take the CPU time of some that do."""
    import jax

    update, state, newest, memory = bank_shaped(tasks, iterations, model, shard=False)
    compiled = update.lower(jax.random.key(0), state, newest, memory).compile()
    state = jax.device_get(compiled(jax.random.key(0), state, newest, memory))[0]
    best = math.inf
    for repeat in range(3):
        start = time.process_time()
        jax.block_until_ready(compiled(jax.random.key(repeat), state, newest, memory))
        best = min(best, (time.process_time() - start) / iterations)
    used = compiled.memory_analysis()
    return Measured(tasks, best, used.temp_size_in_bytes + used.argument_size_in_bytes)


def summed_bytes(model: str) -> int:
    """Count the bytes of all sums over two devices, from the compiled program."""
    import jax

    update, state, newest, memory = bank_shaped(8, 1, model, shard=True)
    text = update.lower(jax.random.key(0), state, newest, memory).compile().as_text()
    total = 0
    for shapes in SUMS.findall(text):
        for kind, sizes in re.findall(r"(\w+)\[([\d,]*)\]", shapes):
            total += BYTES[kind] * math.prod(int(size) for size in sizes.split(",") if size)
    return total


def rows_per_second(rows: int) -> float:
    """Decide about a table from Parquet to Parquet with a linear model; the best of three."""
    table = random_table(rows)
    model = random_model("linear", Preprocessor.fit(table[:1000]))
    best, scorer = math.inf, prepare(model)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.parquet"
        parquet.write_table(table, path)
        for _ in range(3):
            start = time.process_time()
            batches = predict_table(scorer, open_table(path))
            write_decisions(batches, Path(folder) / "out.parquet")
            best = min(best, time.process_time() - start)
    return rows / best


def line(points: list[tuple[float, float]]) -> tuple[float, float]:
    """Fit a line by least squares: where it starts, never below 0, and its slope."""
    x, y = (np.array(values, float) for values in zip(*points, strict=True))
    slope, start = np.polyfit(x, y, 1)
    if start < 0:
        slope, start = x @ y / (x @ x), 0.0
    return float(start), float(slope)


def iteration_seconds(costs: Costs, tasks: int, hosts: int, network: "Network") -> float:
    """Seconds of an outer iteration: computing, then summing over hosts in a ring."""
    cores = hosts * network.cores
    computing = costs.fixed_seconds + costs.task_seconds * math.ceil(tasks / cores)
    if hosts == 1:
        return computing
    sent = 2 * (hosts - 1) / hosts * costs.summed_bytes / network.bytes_per_second
    return computing + sent + 2 * (hosts - 1) * network.latency


class Network(NamedTuple):
    """Assumed, not measured."""

    cores: int = 32  # of a host
    bytes_per_second: float = 1.25e9  # 10 Gbit/s
    latency: float = 50e-6  # of one step of the ring


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--hosts", type=int, nargs="+", default=[1, 4, 16, 64, 256])
    parser.add_argument("--cores", type=int, default=32, help="of a host")
    parser.add_argument("--iterations", type=int, default=10)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--small", action="store_true", help="to see that it works")
    options = parser.parse_args()
    ffml.configure(devices=2)
    model, counts, left_out = "mlp", (8, 16, 64), 32
    if options.small:
        model, counts, left_out = "linear", (2, 6), 4
        options.iterations, options.rows = 1, 20_000
    found = [outer_iteration(n, options.iterations, model) for n in counts]
    check = outer_iteration(left_out, options.iterations, model)
    costs = Costs(
        *line([(one.tasks, one.seconds) for one in found]),
        *line([(one.tasks, one.memory) for one in found]),
        summed_bytes(model),
        rows_per_second(options.rows),
    )
    show_measured(costs, found, check)
    show_plan(costs, options.hosts, Network(options.cores))


def show_measured(costs: Costs, found: list[Measured], check: Measured) -> None:
    print("| tasks | CPU ms an iteration | memory, MB | |\n| ---: | ---: | ---: | --- |")
    for one in sorted([*found, check]):
        how = "left out of the fit" if one is check else "fitted"
        print(f"| {one.tasks} | {one.seconds * 1e3:.2f} | {one.memory / 1e6:.1f} | {how} |")
    expected = costs.fixed_seconds + costs.task_seconds * check.tasks
    memory = costs.fixed_memory + costs.task_memory * check.tasks
    print(
        f"\nan iteration: {costs.fixed_seconds * 1e3:.2f} ms + {costs.task_seconds * 1e3:.3f} ms a "
        f"task (at {check.tasks} tasks the line is off by "
        f"{100 * (expected / check.seconds - 1):+.0f} % in time, "
        f"{100 * (memory / check.memory - 1):+.0f} % in memory)\n"
        f"memory: {costs.task_memory / 1e6:.2f} MB a task\n"
        f"summed over hosts: {costs.summed_bytes:,} bytes an iteration, however many tasks\n"
        f"decisions: {costs.rows_per_second / 1e6:.2f} million rows/s a core\n"
    )


def show_plan(costs: Costs, hosts: list[int], network: Network) -> None:
    tasks, iterations, rows = 10**6, 50, 10**10
    print(
        f"Hosts of {network.cores} cores; assumed: {network.bytes_per_second * 8 / 1e9:.0f} "
        f"Gbit/s, {network.latency * 1e6:.0f} µs a step of a ring, cores as fast as this one.\n\n"
        "| hosts | a round over 10⁶ tasks at once (50 iterations) | memory a host | "
        "10⁶ rounds of 32 tasks | 10¹⁰ decisions |\n| ---: | ---: | ---: | ---: | ---: |"
    )
    for n in hosts:
        at_once = iterations * iteration_seconds(costs, tasks, n, network)
        one_by_one = tasks * iterations * iteration_seconds(costs, 32, n, network)
        memory = (costs.fixed_memory + costs.task_memory * tasks) / n
        decisions = rows / (costs.rows_per_second * network.cores * n)
        print(
            f"| {n} | {words(at_once)} | {memory / 1e9:,.0f} GB | {words(one_by_one)} | "
            f"{words(decisions)} |"
        )


def words(seconds: float) -> str:
    """Write a time as people say it."""
    for size, unit in ((86_400, "days"), (3600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f"{seconds / size:,.1f} {unit}"
    return f"{seconds:.1f} s"


if __name__ == "__main__":
    main()
