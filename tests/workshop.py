"""A tiny run whose functions are compiled once, however often it is run, killed and resumed."""

import json
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
from ffml.runs.directory import RunDirectory
from ffml.runs.generations import newest_generation

import ffml.report
from ffml import metrics
from ffml.base import Stream
from ffml.datasets import load
from ffml.online.loop import start
from ffml.recipe.build import Built, Experiment, build, build_loop
from ffml.recipe.config import RunConfig
from ffml.recipe.recipes import Recipe
from ffml.store.container import read
from ffml.tables.scaling import RunningScaler

ROUNDS = 4
CONFIG = RunConfig(
    data="synthetic",
    data_options={"num_tasks": ROUNDS, "rows_per_task": (20, 40)},
    notions=("demographic-parity", "equal-opportunity"),
    recipe=Recipe(
        wrappers=("corrected",),
        settings={"num_outer_steps": 2, "inner.num_steps": 1, "outer": "pooled"},
    ),
    tasks_per_round=2,
    rows_per_task=32,
    shots=4,
    memory_policy="recent",
    memory_capacity=2,
)


class Workshop:
    """Makes fresh experiments and run directories, as a new process would."""

    def __init__(self):
        self.built = build(CONFIG)

    def experiment(self, seed=0, change=None, config=CONFIG, scaled=True):
        config = replace(config, seed=seed)
        stream = load(config.data, seed=seed, **config.data_options)
        if change:
            tasks = change(list(stream.tasks()))
            stream = Stream(stream.name, stream.schema, lambda: iter(tasks), len(tasks))
        scaler = RunningScaler.empty(np.ones(5, bool)) if scaled else None
        own = self.built.loop
        built = Built(own.problem, own.learner, own.features)
        loop = build_loop(config, built, stream.schema)
        return Experiment(config, stream, loop, start(loop, scaler))

    def run(self, folder, rounds=ROUNDS, **more):
        directory = RunDirectory(Path(folder), self.experiment(**more))
        directory.start()
        play(directory, rounds)
        return directory

    def resumed(self, folder, **more):
        directory = RunDirectory(Path(folder), self.experiment(**more))
        directory.notes = directory.resume()
        directory.resumed_at = len(directory.rounds)
        assert rows_shown(folder) == directory.resumed_at
        return directory

    def go_on(self, folder, **more):
        """Resume a run that was killed, or start it if it had not begun, and finish it."""
        if (Path(folder) / "config.json").exists():
            directory = self.resumed(folder, **more)
            play(directory)
            return directory
        directory = self.run(folder, **more)
        directory.resumed_at = 0
        return directory


def play(directory, rounds=ROUNDS):
    """Play up to a round, and finish if it is the last."""
    for task in directory.tasks():
        directory.add(directory.play(task))
        if len(directory.rounds) == rounds:
            break
    if len(directory.rounds) == ROUNDS:
        directory.finish("complete", ffml.report.write_pages)


def hurry(monkeypatch):
    """Leave out the charts and most draws of the intervals, which take longer than all else."""
    monkeypatch.setattr(ffml.report, "_write_report", lambda run, folder: folder / "report.html")
    for name in ("bootstrap_intervals", "noise_ceilings"):
        monkeypatch.setattr(metrics, name, partial(getattr(metrics, name), num_draws=10))


def outcome(folder):
    """All that must be the same after any interruption; times are left out."""
    folder = Path(folder)
    document, arrays = newest_generation(folder).contents
    summary = json.loads((folder / "summary.json").read_text())
    del summary["seconds"]
    return {
        "files": sorted(str(path.relative_to(folder)) for path in folder.rglob("*")),
        "rounds.csv": (folder / "rounds.csv").read_bytes(),
        "groups.csv": (folder / "groups.csv").read_bytes(),
        "arrays": exact(arrays),
        "model": exact(read(folder / "model.safetensors").arrays),
        "memory": document["memory"],
        "tasks": [exact(read(path).arrays) for path in sorted(folder.rglob("task-*"))],
        "stream": document["stream"],
        "summary": summary,
    }


def exact(arrays):
    return {name: (a.dtype.str, a.shape, a.tobytes()) for name, a in arrays.items()}


def rows_shown(folder):
    """Count the whole lines of rounds.csv."""
    table = Path(folder) / "rounds.csv"
    return max(table.read_text().count("\n") - 1, 0) if table.exists() else 0
