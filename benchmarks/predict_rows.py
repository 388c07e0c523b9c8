"""Rows a second that ``ffml predict`` decides about on one core: features alone, and file to file.

taskset -c 0 python benchmarks/predict_rows.py [--rows N]
"""

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet

import ffml
from ffml.base import Schema, SensitiveColumn
from ffml.scoring import prepare
from ffml.scoring.model import SavedModel
from ffml.scoring.table import predict_table, write_decisions
from ffml.tables import Preprocessor, open_table
from ffml.tables.scaling import RunningScaler


def random_table(rows: int) -> pa.Table:
    """Twelve numbers and two categories, as a loan table might have."""
    rng = np.random.default_rng(0)
    columns = {f"number {i}": rng.normal(size=rows) for i in range(12)}
    columns["job"] = np.array(["office", "shop", "farm", "none"])[rng.integers(4, size=rows)]
    columns["region"] = np.array(list("abcdefgh"))[rng.integers(8, size=rows)]
    return pa.table(columns)


def random_model(name: str, preprocessor: Preprocessor) -> SavedModel:
    """A model of the right shape; its numbers do not matter here."""
    rng, width = np.random.default_rng(0), len(preprocessor.features)
    if name == "linear":
        params = {"w": rng.normal(size=width).astype(np.float32), "b": np.zeros((), np.float32)}
    else:
        sizes = [(width, 40), (40, 40), (40, 1)]
        params = [
            {"w": rng.normal(size=s).astype(np.float32), "b": np.zeros(s[1], np.float32)}
            for s in sizes
        ]
    return SavedModel(
        model=name,
        model_settings={},
        params=params,
        multipliers=np.zeros(1),
        knowledge={},
        inputs={},
        constraint_names=("demographic-parity[sex=M]",),
        scaler=RunningScaler.empty(preprocessor.scaled).update(rng.normal(size=(100, width))),
        preprocessing=preprocessor.to_json(),
        schema=Schema(preprocessor.features, (SensitiveColumn("sex", ("F", "M")),)),
        round=1,
        version=1,
        recent=np.zeros((0, width)),
        config={"run": {}},
        status="complete",
    )


def learned_model() -> SavedModel:
    """Learn ten tasks of 1,000 labelled rows with the default recipe."""
    table, rng = random_table(10_000), np.random.default_rng(1)
    x = np.stack([table[f"number {i}"].to_numpy() for i in range(5)], axis=1)
    score = x[:, 0] + x[:, 1] + np.sin(2 * x[:, 2]) + x[:, 3] * x[:, 4]
    added = {
        "sex": np.where(x[:, 0] + rng.normal(size=len(x)) > 0, "M", "F"),
        "approved": np.where(score + rng.normal(size=len(x)) > 0.5, "yes", "no"),
        "month": np.arange(len(x)) // 1000,
    }
    for name, values in added.items():
        table = table.append_column(name, pa.array(values))
    roles = {"label": "approved", "positive": "yes", "sensitive": "sex", "task": "month"}
    with tempfile.TemporaryDirectory() as folder:
        run = ffml.run(table, **roles, max_gap=0.05, out=Path(folder) / "run")
        return run.model()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=1_000_000)
    rows = parser.parse_args().rows
    table = random_table(rows)
    with tempfile.TemporaryDirectory() as folder:  # imports and first calls are not what we time
        parquet.write_table(table[:100], Path(folder) / "table.parquet")
        list(open_table(Path(folder) / "table.parquet").batches(table.column_names))
    preprocessor = Preprocessor.fit(table)
    x = preprocessor.transform(table)
    for name in ("linear", "mlp", "default recipe"):
        is_default = name == "default recipe"
        model = learned_model() if is_default else random_model(name, preprocessor)
        scorer = prepare(model)
        start = time.process_time()
        scorer.decide(x)
        encoded = rows / (time.process_time() - start)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "table.parquet"
            parquet.write_table(table, path)
            start = time.process_time()
            batches = predict_table(scorer, open_table(path))
            write_decisions(batches, Path(folder) / "out.parquet")
            whole = rows / (time.process_time() - start)
        print(
            f"{name}: {encoded / 1e6:.1f} million rows/s from encoded features, "
            f"{whole / 1e6:.2f} million rows/s from Parquet to Parquet (CPU time, one core)"
        )


if __name__ == "__main__":
    main()
