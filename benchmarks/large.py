"""Wide and large: many features, many groups, a very large task, a table of several gigabytes.

    python benchmarks/large.py [--case NAME ...] [--scale 1.0]

Each case is learned with the default recipe in a process of its own. Printed are processor time and
wall-clock time of its last round, and the most memory that the process had. "first round" is a
table of 12 columns whose rows lie in no order: from the start of Python to the end of the first
round.
"""

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as parquet

from ffml.base import FFMLError
from ffml.online.loop import step
from ffml.recipe.build import build
from ffml.recipe.config import configure_run
from ffml.runtime import configure
from ffml.tables import open_table


class Case(NamedTuple):
    """A generated stream: its tasks, the rows, features and groups of each."""

    tasks: int
    rows: int
    features: int = 20
    groups: int = 2


CASES = {
    "5,000 features": Case(4, 2_000, features=5_000),
    "500 groups": Case(4, 20_000, groups=500),
    "2 million rows in a task": Case(2, 2_000_000),
}
READ_ROWS = 2_000_000
FIRST_ROUND = """
import resource, sys, time
from ffml.online.loop import step
from ffml.recipe.build import build
from ffml.recipe.config import configure_run
from ffml.recipe.sources import find_data
from ffml.runs.starting import noticed
from ffml.runtime import configure

configure()
roles = {"label": "approved", "sensitive": ("sex",), "time": "month", "by": "month"}
found = find_data(sys.argv[1], roles)
config = configure_run(found.data, {"max_gap": (0.05,), "data_options": found.options})
run = build(config, source=found.source)
noticed(found, run.stream, 0)
step(run.loop, run.state, next(iter(run.stream.tasks())))
memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
print(time.process_time(), memory)
"""
TABLE_ROWS = 8_000_000


def smaller(case: Case, scale: float) -> Case:
    """Return a case of fewer rows, features and groups."""
    return Case(
        case.tasks,
        max(int(case.rows * scale), 200),
        max(int(case.features * scale), 5),
        max(int(case.groups * scale), 2),
    )


def learned(case: Case) -> tuple[float, float, float]:
    """Play a case; return the seconds of its last round (processor, wall) and the most memory."""
    configure(devices=1)
    options = {
        "num_tasks": case.tasks,
        "rows_per_task": case.rows,
        "num_features": case.features,
        "num_groups": case.groups,
        "proxy": 1.0,
    }
    loop = build(configure_run("synthetic", {"max_gap": (0.05,), "data_options": options}))
    cpu = wall = 0.0
    state = loop.state
    for task in loop.stream.tasks():
        cpu, wall = time.process_time(), time.perf_counter()
        state, _ = step(loop.loop, state, task)
        cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    return cpu, wall, most_memory()


def most_memory() -> float:
    """Return the most megabytes that this process had."""
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most / (1e6 if sys.platform == "darwin" else 1e3)


def write_table(path: Path, rows: int, block: int = 200_000) -> None:
    """Write a table of 20 numbers in blocks, as Parquet or CSV."""
    rng, writer = np.random.default_rng(0), None
    for first in range(0, rows, block):
        size = min(block, rows - first)
        x = rng.normal(size=(size, 20))
        columns: dict[str, Any] = {f"x{i}": x[:, i] for i in range(20)}
        columns["sex"] = np.array(["F", "M"])[rng.integers(2, size=size)]
        columns["month"] = (np.arange(first, first + size) * 12) // rows + 1
        columns["approved"] = (x[:, 0] + rng.normal(size=size) > 0).astype(np.int8)
        table = pa.table(columns)
        kind = pyarrow.csv.CSVWriter if path.suffix == ".csv" else parquet.ParquetWriter
        writer = writer or kind(path, table.schema)
        writer.write_table(table)
    assert writer is not None
    writer.close()


def write_loans(path: Path, rows: int) -> None:
    """Write a table of 12 columns, 24 months in no order, as Parquet or CSV."""
    rng = np.random.default_rng(0)
    columns: dict[str, Any] = {f"x{i}": rng.normal(size=rows).round(5) for i in range(6)}
    columns["age"] = rng.integers(18, 80, rows)
    columns["income"] = np.exp(rng.normal(10, 1, rows)).round(2)
    columns["job"] = np.array(["clerk", "cook", "driver", "nurse"])[rng.integers(4, size=rows)]
    columns["sex"] = np.array(["F", "M"])[rng.integers(2, size=rows)]
    months = [f"{2023 + i // 12}-{i % 12 + 1:02}" for i in range(24)]
    columns["month"] = np.array(months)[rng.integers(24, size=rows)]
    columns["approved"] = (columns["x0"] + rng.normal(size=rows) > 0).astype(np.int8)
    table = pa.table(columns)
    (pyarrow.csv.write_csv if path.suffix == ".csv" else parquet.write_table)(table, path)


def first_round(path: Path) -> tuple[float, float, float]:
    """Start Python, read a table and play its first round."""
    start = time.perf_counter()
    command = [sys.executable, "-c", FIRST_ROUND, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    cpu, memory = map(float, done.stdout.split())
    return cpu, time.perf_counter() - start, memory


def bare_read(path: Path) -> float:
    """Return the processor seconds in which pyarrow reads a file."""
    start = time.process_time()
    if path.suffix == ".csv":
        for _ in pyarrow.csv.open_csv(path):
            pass
    else:
        for _ in parquet.ParquetFile(path).iter_batches():
            pass
    return time.process_time() - start


def read_and_prepared(path: Path) -> tuple[float, float, float]:
    """Open a table as a stream and go through its tasks."""
    configure(devices=1)
    cpu, wall = time.process_time(), time.perf_counter()
    roles = {"label": "approved", "positive": "1", "sensitive": ("sex",), "task": "month"}
    stream = build(configure_run(str(path), {"max_gap": (0.05,), "data_options": roles})).stream
    rows = sum(len(task.y) for task in stream.tasks())
    assert rows == sum(len(batch) for batch in open_table(path).batches(["month"]))
    return time.process_time() - cpu, time.perf_counter() - wall, most_memory()


def alone(function: Any, *given: Any) -> Any:
    """Call a function in a process of its own; say what gave way where it fails."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        try:
            return pool.submit(function, *given).result()
        except (MemoryError, FFMLError, pa.ArrowException, OSError, RuntimeError) as error:
            return f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"


def main() -> None:
    names = [*CASES, "first round", "reading", "several gigabytes"]
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--case", action="append", choices=names, help="(repeatable)")
    parser.add_argument("--scale", type=float, default=1.0, help="of rows, features and groups")
    arguments = parser.parse_args()
    asked = arguments.case or names
    for name, case in CASES.items():
        if name in asked:
            show(name, alone(learned, smaller(case, arguments.scale)))
    with tempfile.TemporaryDirectory() as folder:
        for suffix in ("csv", "parquet") if "first round" in asked else ():
            path = Path(folder) / f"loans.{suffix}"
            rows = int(READ_ROWS * arguments.scale)
            write_loans(path, rows)
            show(f"{rows:,} rows of .{suffix} to the end of the first round", first_round(path))
            path.unlink()
        for suffix in ("csv", "parquet") if "reading" in asked else ():
            path = Path(folder) / f"table.{suffix}"
            rows = int(READ_ROWS * arguments.scale)
            write_table(path, rows)
            bare = alone(bare_read, path)
            show(f"{rows:,} rows of .{suffix}", alone(read_and_prepared, path))
            print(f"  pyarrow alone reads it in {bare:.1f} s of processor time", flush=True)
            path.unlink()
        if "several gigabytes" in asked:
            path = Path(folder) / "table.csv"
            write_table(path, int(TABLE_ROWS * arguments.scale))
            size = path.stat().st_size / 1e9
            show(f"a table of {size:.1f} GB", alone(read_and_prepared, path))


def show(name: str, found: tuple[float, float, float] | str) -> None:
    """Print a line."""
    if isinstance(found, str):
        print(f"{name}: {found}", flush=True)
        return
    cpu, wall, memory = found
    print(f"{name}: {cpu:.1f} s of processor time ({wall:.1f} s), {memory:,.0f} MB", flush=True)


if __name__ == "__main__":
    main()
