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
from ffml.runs.directory import RunDirectory

from ffml.base import Schema, SensitiveColumn
from ffml.recipe.build import build
from ffml.recipe.config import configure_run
from ffml.scoring.model import SavedModel, load_model
from ffml.scoring.rules import rule_of, settle
from ffml.scoring.table import decide, predict_table, write_decisions
from ffml.tables import Preprocessor, TableStream, open_table
from ffml.tables.scaling import RunningScaler
from ffml.tables.sources._typed import FrameSource


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
        labels=0,
        config={},
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
    roles = {"label": "approved", "positive": "yes", "sensitive": ("sex",), "task": "month"}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "loans.parquet"
        parquet.write_table(table, path)
        experiment = build(configure_run(str(path), {"max_gap": (0.05,), "data_options": roles}))
        assert isinstance(experiment.stream, TableStream)
        encoded = experiment.stream.preprocessor.to_json()
        run = RunDirectory(Path(folder) / "run", experiment, preprocessing=encoded)
        run.start()
        for task in run.tasks():
            run.add(run.play(task))
        return load_model(run.folder)


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
        rule = None
        if name == "default recipe":
            model = learned_model()
            rule = rule_of(settle(model, None, FrameSource(table[:10_000], "people")))
        else:
            model = random_model(name, preprocessor)
        start = time.process_time()
        decide(model, x, rule)
        encoded = rows / (time.process_time() - start)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "table.parquet"
            parquet.write_table(table, path)
            start = time.process_time()
            batches = predict_table(model, open_table(path), (), rule)
            write_decisions(batches, Path(folder) / "out.parquet")
            whole = rows / (time.process_time() - start)
        print(
            f"{name}: {encoded / 1e6:.1f} million rows/s from encoded features, "
            f"{whole / 1e6:.2f} million rows/s from Parquet to Parquet (CPU time, one core)"
        )


if __name__ == "__main__":
    main()
