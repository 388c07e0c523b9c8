"""Write the golden checkpoint: ``python tests/golden/make_checkpoint.py`` (only for a new format).

Later versions must keep reading the one that is here, so it is never written again.
"""

import hashlib
import json
from pathlib import Path

import numpy as np

from ffml.base import Schema, SensitiveColumn, Stream, Task
from ffml.experiment import (
    Experiment,
    RunConfig,
    build_constraint,
    build_learner,
    build_loop,
    build_model,
)
from ffml.scaling import RunningScaler

GOLDEN = Path(__file__).parent / "checkpoint-1"
PREPROCESSING = {"columns": ["age", "income", "region"], "note": "as JSON, whatever it holds"}
SCHEMA = Schema(
    ("age", "income", "region=north"),
    (SensitiveColumn("sex", ("F", "M")), SensitiveColumn("race", ("a", "b", "c"))),
)
CONFIG = RunConfig(
    data="golden",
    method_settings={"num_outer_steps": 2, "num_inner_steps": 1, "optimizer": "adam"},
    model="mlp",
    model_settings={"hidden": (4, 3)},
    constraints=("demographic-parity", "equalized-odds"),
    bounds=(0.02, 0.05),
    tasks_per_round=2,
    rows_per_task=16,
    shots=4,
    memory_policy="recent",
    memory_capacity=2,
)


def golden_rows(start=0, rows=12):
    """Numbers that every machine and every version makes alike."""
    i, j = np.arange(start, start + rows)[:, None], np.arange(3)
    return (((7 * i + 3 * j + i * i * (j + 1)) % 11 - 5) / 4).astype(np.float32)


def golden_tasks():
    for t in range(4):
        x, i = golden_rows(100 * t, 24), np.arange(24)
        groups = np.stack([(i + t) % 2, (i * i + t) % 3], axis=1).astype(np.int32)
        yield Task(f"task {t + 1}", x, ((3 * i + t) % 5 < 2).astype(np.int32), groups)


def golden_experiment(config=CONFIG):
    stream = Stream("golden", SCHEMA, golden_tasks, 4)
    problem, learner = build_learner(config, SCHEMA, build_model(config), build_constraint(config))
    scaler = RunningScaler.empty(np.array([True, True, False]))
    loop = build_loop(config, SCHEMA, problem, learner, scaler)
    return Experiment(config, stream, problem, loop)


def main():
    import jax

    from ffml.runs.artifact import load_model
    from ffml.runs.directory import RunDirectory

    directory = RunDirectory(GOLDEN / "run", golden_experiment(), "golden", PREPROCESSING)
    directory.start()
    for task in directory.tasks():
        directory.add(directory.experiment.loop.step(task))
        if len(directory.rounds) == 3:
            break
    (GOLDEN / "run" / ".lock").unlink()
    model = load_model(GOLDEN / "run")
    data = b"".join(leaf.tobytes() for leaf in jax.tree.leaves(model.params))
    expected = {
        "params_sha256": hashlib.sha256(data).hexdigest(),
        "logits": model.logits(golden_rows()).tolist(),
        "preprocessing": PREPROCESSING,
    }
    (GOLDEN / "expected.json").write_text(json.dumps(expected, indent=1) + "\n")


if __name__ == "__main__":
    main()
