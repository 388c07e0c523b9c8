"""Decisions on Spark and Ray against ``ffml predict``: the same bytes, and rows a second.

python benchmarks/engines.py [--rows N] [--engines spark ray] [--boosted]

A model is learned from a small table, then decides about a large one: by the command and by each
engine, all from Parquet to Parquet on this machine's cores.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.dataset as dataset
import pyarrow.parquet as parquet

from ffml import scoring
from ffml.runtime import available_cores

ROLES = "--label paid --positive yes --sensitive sex --task month --drop id"
CHUNK = 1_000_000


def people(first: int, rows: int, months: int) -> pa.Table:
    """Five numbers and two categories; the group shows in one number and in the label."""
    rng = np.random.default_rng(first)
    sex = rng.integers(2, size=rows)
    numbers = {f"number {i}": rng.normal(size=rows) for i in range(5)}
    numbers["number 0"] += 0.8 * sex
    paid = numbers["number 0"] + numbers["number 1"] + rng.normal(size=rows) > 0.5
    month = np.arange(rows) * months // rows
    return pa.table(
        {
            "id": np.arange(first, first + rows),
            **numbers,
            "job": np.array(["office", "shop", "farm", "none"])[rng.integers(4, size=rows)],
            "region": np.array(list("abcdefgh"))[rng.integers(8, size=rows)],
            "sex": np.array(["F", "M"])[sex],
            "month": np.array([f"2026-{m + 1:02d}" for m in range(months)])[month],
            "paid": np.array(["no", "yes"])[paid.astype(int)],
        }
    )


def write_people(path: Path, rows: int, months: int) -> None:
    with parquet.ParquetWriter(path, people(0, 1, months).schema) as writer:
        for first in range(0, rows, CHUNK):
            writer.write_table(people(first, min(CHUNK, rows - first), months))


def ffml(*words: object) -> None:
    command = [sys.executable, "-m", "ffml", *map(str, words)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def by_spark(run: Path, table: Path, out: Path) -> None:
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # where workers find ffml
    session = (
        SparkSession.builder.master(f"local[{available_cores()}]")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.sql.execution.arrow.maxRecordsPerBatch", 65_536)
        .config("spark.sql.warehouse.dir", str(out.parent / "warehouse"))
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("ERROR")
    try:
        scorer = scoring.prepare(run)  # after Spark: it starts JAX
        decided = scoring.on_spark(scorer, session.read.parquet(str(table)), keep=["id"])
        decided.write.parquet(str(out))
    finally:
        session.stop()


def by_ray(run: Path, table: Path, out: Path) -> None:
    import ray

    ray.init(
        num_cpus=available_cores(),
        include_dashboard=False,
        log_to_driver=False,
        logging_level="ERROR",
        object_store_memory=2**30,
    )
    ray.data.DataContext.get_current().enable_progress_bars = False
    try:
        scorer = scoring.prepare(run)
        decided = scoring.on_ray(scorer, ray.data.read_parquet(str(table)), keep=["id"])
        decided.write_parquet(str(out))
    finally:
        ray.shutdown()


def in_a_process(engine: str, *paths: Path) -> None:
    """Start an engine from a fresh process: none should be started after JAX."""
    command = [sys.executable, __file__, "--only", engine, *map(str, paths)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


ENGINES = {"spark": by_spark, "ray": by_ray}


def columns(path: Path) -> dict[str, bytes]:
    """Return the bytes of each column, the rows ordered by id."""
    table = dataset.dataset(path, format="parquet").to_table(["id", "probability", "decision"])
    order = np.argsort(table["id"].to_numpy(), kind="stable")
    return {name: table[name].to_numpy()[order].tobytes() for name in table.column_names}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--engines", nargs="*", choices=ENGINES, default=list(ENGINES))
    parser.add_argument("--boosted", action="store_true", help="the default recipe, 60 trees more")
    parser.add_argument("--only", nargs=4, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.only:
        engine, *paths = options.only
        ENGINES[engine](*map(Path, paths))
        return
    recipe = [] if options.boosted else ["--with", "none", "--with", "evened"]
    with tempfile.TemporaryDirectory(prefix="ffml-") as name:
        folder = Path(name)
        train, table, run = folder / "train.parquet", folder / "table.parquet", folder / "run"
        write_people(train, 3000, months=6)
        write_people(table, options.rows, months=1)
        ffml("run", train, *ROLES.split(), *recipe, "--set", "max_gap=0.02", "--out", run, "-q")
        start = time.perf_counter()
        ffml("predict", run, table, "--keep", "id", "--out", folder / "predict.parquet")
        expected = columns(folder / "predict.parquet")
        report("ffml predict", options.rows, time.perf_counter() - start, "one process")
        for engine in options.engines:
            start = time.perf_counter()
            in_a_process(engine, run, table, folder / engine)
            seconds = time.perf_counter() - start
            found = columns(folder / engine)
            assert found == expected, [name for name in expected if found[name] != expected[name]]
            report(engine, options.rows, seconds, f"{available_cores()} cores, same bytes")


def report(name: str, rows: int, seconds: float, how: str) -> None:
    print(
        f"{name}: {rows:,} rows in {seconds:.1f} s, {rows / seconds / 1e6:.3f} million rows/s, "
        f"starting included ({how})",
        flush=True,
    )


if __name__ == "__main__":
    main()
